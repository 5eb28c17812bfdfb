/**
 * What this process remembers, bounded in number; the least recently used goes first. Rows are dropped by our own
 * events: in the process that wrote, after the commit and before the answer leaves; in the others as soon as they hear.
 */
import type { Bus } from '../../kernel/bus.ts'
import {
  CredentialDeleted,
  type CredentialEvent,
  CredentialPasswordChanged,
  CredentialStateChanged,
  TenantCredentialsDeleted,
} from './events.ts'
import type { Login } from './store/basic.ts'
import type { KnownCertificate } from './store/certificates.ts'

export interface Cache<V> {
  /** Never what was true only before a drop: a read that was overtaken by one is repeated. Nothing is not remembered. */
  read(key: string, load: () => Promise<V | undefined>): Promise<V | undefined>
  drop(key: string): void
  clear(): void
}

export function createCache<V>(max: number): Cache<V> {
  const kept = new Map<string, V>()
  const loading = new Map<string, Promise<V | undefined>>()

  async function begin(key: string, load: () => Promise<V | undefined>): Promise<V | undefined> {
    const promise = load()
    loading.set(key, promise)
    try {
      const value = await promise
      if (loading.get(key) !== promise) return await (loading.get(key) ?? begin(key, load))
      if (value !== undefined) keep(key, value)
      return value
    } finally {
      if (loading.get(key) === promise) loading.delete(key)
    }
  }

  function keep(key: string, value: V) {
    kept.set(key, value)
    // A Map keeps the order of insertion, and every hit inserts anew.
    if (kept.size > max) kept.delete(kept.keys().next().value!)
  }

  return {
    async read(key, load) {
      const known = kept.get(key)
      if (known === undefined) return loading.get(key) ?? begin(key, load)
      kept.delete(key)
      kept.set(key, known)
      return known
    },
    drop(key) {
      loading.delete(key)
      kept.delete(key)
    },
    clear() {
      loading.clear()
      kept.clear()
    },
  }
}

export interface Memory {
  /** By tenant and username. */
  logins: Cache<Login>
  /** By tenant and serial number. */
  certificates: Cache<KnownCertificate>
}

/** Neither part can hold a line break. */
export const placeOf = (tenantId: string, name: string) => `${tenantId}\n${name}`

/** About 25 MB when full. */
const rowsMax = 50_000

export function createMemory(bus: Bus): Memory {
  const memory: Memory = { logins: createCache(rowsMax), certificates: createCache(rowsMax) }
  const drop = (event: CredentialEvent) =>
    event.kind === 'basic'
      ? memory.logins.drop(placeOf(event.tenantId, event.username))
      : memory.certificates.drop(placeOf(event.tenantId, event.serialNumber))
  const clear = () => {
    memory.logins.clear()
    memory.certificates.clear()
  }
  for (const event of [CredentialPasswordChanged, CredentialDeleted]) bus.hear(event, drop)
  bus.hear(CredentialStateChanged, drop)
  bus.hear(TenantCredentialsDeleted, clear)
  bus.onGap(clear)
  return memory
}

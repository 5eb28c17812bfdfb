/**
 * API keys (document 4, section 1): a subset of the owner's permissions, measured at every use against what the
 * owner holds now. Grants to the key itself count as far as the owner holds the same, on the same resource or on the
 * tenant: a key never does what its owner cannot.
 */
import { hash } from 'node:crypto'
import { createCache } from '../kernel/cache.ts'
import type { Caller } from '../kernel/contract.ts'
import type { Kit } from '../kernel/define-service.ts'
import {
  everyScope,
  holds,
  onPlatform,
  onResource,
  onTenant,
  type Permission,
  platformSystem,
  tenantSystem,
} from '../kernel/permissions.ts'
import { type Access, keptMs, permissionsOf, type Subject } from './access.ts'
import { AccessChanged, RealmChanged, RealmStatusChanged } from './events.ts'
import { refused } from './refused.ts'
import { heldScopes } from './scopes.ts'
import * as store from './store/access.ts'

/** Says what it is, so that a leaked one is found by those who look for such things. */
export const keyPrefix = 'wpk_'
export const hashOfKey = (key: string) => hash('sha256', key, 'buffer')

const keysMax = 10_000
const usedEveryMs = 60_000

interface KnownKey {
  tenantId: string
  row: store.KeyRow
  owner: Subject
  until: number
  usedAt: number
  ready: Promise<Caller> | undefined
  /** What `ready` was made of: the owner as it was, and how much it held. */
  madeOf: Promise<Caller> | undefined
  ownerHolds: Permission[] | undefined
  count: number
}

export interface KeyAccess {
  callerOf(key: string): Promise<Caller>
  /** Waits for what is still to be written. */
  stop(): Promise<void>
}

/** What is left of the owner's permissions. */
export function permissionsOfKey(owner: Caller, row: Pick<store.KeyRow, 'scopes' | 'grants'>): readonly Permission[] {
  const granted = permissionsOf(owner.tenantId, [], row.grants).flatMap(({ resource, scopes }) => {
    const where =
      resource === platformSystem
        ? onPlatform
        : resource === tenantSystem
          ? onTenant(owner.tenantId)
          : onResource(owner.tenantId, resource)
    const held = [...scopes].filter((scope) => holds(owner, scope, where))
    return held.length > 0 ? [{ resource, scopes: new Set(held) }] : []
  })
  if (row.scopes === null) return granted.length > 0 ? [...owner.permissions, ...granted] : owner.permissions
  const wanted = heldScopes(row.scopes)
  const part = owner.permissions.flatMap(({ resource, scopes }) => {
    const both = scopes.has(everyScope) ? wanted : new Set([...wanted].filter((scope) => scopes.has(scope)))
    return both.size > 0 ? [{ resource, scopes: both }] : []
  })
  return [...part, ...granted]
}

export function createKeyAccess(kit: Pick<Kit, 'db' | 'bus' | 'now' | 'log'>, access: Access): KeyAccess {
  const { db, bus, now, log } = kit
  const keys = createCache<KnownKey>({
    max: keysMax,
    groupOf: ({ tenantId }) => tenantId,
    isExpired: ({ until }) => until <= now().getTime(),
    bus,
  })
  const writing = new Set<Promise<void>>()

  const forgetTenant = ({ tenantId }: { tenantId: string }) => keys.dropGroup(tenantId)
  bus.hear(RealmChanged, forgetTenant)
  bus.hear(RealmStatusChanged, forgetTenant)
  bus.hear(AccessChanged, ({ tenantId, subject }) => {
    if (subject === undefined) forgetTenant({ tenantId })
    else if (subject.type === 'api-key') keys.dropGroup(tenantId, ({ row }) => row.id === subject.id)
  })

  /** At most once a minute, and nobody waits for it. */
  function use(known: KnownKey, at: number) {
    if (at - known.usedAt < usedEveryMs) return
    known.usedAt = at
    const { tenantId, id } = known.row
    const written = store
      .touchKey(db.sql, tenantId, id, new Date(at))
      .catch((error) => log.warn({ err: error, tenantId, apiKey: id }, 'the last use of an API key was not noted'))
      .finally(() => writing.delete(written))
    writing.add(written)
  }

  async function find(text: string, at: number): Promise<KnownKey> {
    const row = await store.findKey(db.sql, hashOfKey(text))
    if (!row || (row.expiresAt !== null && row.expiresAt.getTime() <= at)) throw refused()
    return {
      tenantId: row.tenantId,
      row,
      owner: access.subjectOf({ tenantId: row.tenantId, type: row.ownerType, id: row.ownerId }),
      until: Math.min(at + keptMs, row.expiresAt?.getTime() ?? Number.POSITIVE_INFINITY),
      usedAt: row.lastUsedAt?.getTime() ?? 0,
      ready: undefined,
      madeOf: undefined,
      ownerHolds: undefined,
      count: 0,
    }
  }

  async function make(text: string, name: string, at: number): Promise<Caller> {
    const known = (await keys.read(name, () => find(text, at)))!
    known.owner = access.subjectOf(known.owner.key)
    const owner = await access.callerOf(known.owner)
    const { row } = known
    const caller: Caller = {
      tenantId: owner.tenantId,
      subject: { type: 'api-key', id: row.id },
      ...(owner.username !== undefined && { username: owner.username }),
      ...(owner.email !== undefined && { email: owner.email }),
      // Where only a part of the permissions counts, a role would say too much.
      roles: row.scopes === null ? owner.roles : [],
      permissions: permissionsOfKey(owner, row),
    }
    // The owner may have changed while we waited: then this answer serves the one who waited, and nobody else.
    const held = known.owner.permissions
    if (known.owner.ready !== undefined && held === owner.permissions) {
      known.ready = Promise.resolve(caller)
      known.madeOf = known.owner.ready
      known.ownerHolds = held
      known.count = owner.permissions.length
    }
    use(known, at)
    return caller
  }

  return {
    callerOf(text) {
      // What has not our prefix is none of ours; the length bounds what is hashed for nothing.
      if (!text.startsWith(keyPrefix) || text.length > 128) return Promise.reject(refused())
      const name = hash('sha256', text, 'base64')
      const at = now().getTime()
      const known = keys.get(name)
      if (
        known?.ready !== undefined &&
        known.until > at &&
        known.madeOf === known.owner.ready &&
        known.owner.until > at &&
        known.ownerHolds?.length === known.count
      ) {
        use(known, at)
        return known.ready
      }
      return make(text, name, at)
    },
    async stop() {
      await Promise.all(writing)
    },
  }
}

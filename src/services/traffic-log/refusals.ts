/**
 * Refusals wait here for a second at most, those of the same kind as one with a count. A flood takes a bounded number of rows a
 * second: what is beyond is counted for its tenant and reason alone.
 */
import type { Clock } from '../../kernel/clock.ts'
import type { Log } from '../../kernel/log.ts'
import type { Refusal } from './contract.ts'

export type CountedRefusal = Refusal & { createdAt: Date; count: number }

export interface Refusals {
  add(refusal: Refusal): void
  /** Everything that waits, now. */
  flush(): Promise<void>
  /** Once more everything that waits; what comes or fails from now on is lost. */
  stop(): Promise<void>
}

const kindsPerTenant = 50
const kindsMax = 200
/** Beyond these, tenant and reason are no longer told apart either. */
const summariesMax = 200
const everyMs = 1000

export function createRefusals(options: {
  now: Clock
  log: Log
  write(rows: CountedRefusal[]): Promise<void>
}): Refusals {
  const { now, log } = options
  let waiting = new Map<string, CountedRefusal>()
  let kinds = new Map<string, number>()
  let timer: NodeJS.Timeout | undefined
  let writing: Promise<void> = Promise.resolve()
  let stopped = false

  function count(key: string, refusal: Refusal, by: number, createdAt: Date): boolean {
    const known = waiting.get(key)
    if (known) known.count += by
    else waiting.set(key, { ...bounded(refusal), createdAt, count: by })
    return !known
  }

  function add(refusal: Refusal, by = 1, createdAt = now()) {
    if (stopped) return
    const { tenantId = '', reason, transport } = refusal
    const key = JSON.stringify([tenantId, reason, refusal.address, refusal.endpointId])
    const kindsOfTenant = kinds.get(tenantId) ?? 0
    if (waiting.has(key) || (kindsOfTenant < kindsPerTenant && waiting.size < kindsMax)) {
      if (count(key, refusal, by, createdAt)) kinds.set(tenantId, kindsOfTenant + 1)
    } else {
      const several = { ...(tenantId && { tenantId }), reason, transport, address: '', detail: manyMore }
      const summary = JSON.stringify([tenantId, reason])
      if (waiting.has(summary) || waiting.size < kindsMax + summariesMax) count(summary, several, by, createdAt)
      else count('', { ...several, tenantId: '', reason: 'various' }, by, createdAt)
    }
    timer ??= setTimeout(() => void flush(), everyMs).unref()
  }

  async function flush() {
    clearTimeout(timer)
    timer = undefined
    const rows = [...waiting.values()]
    waiting = new Map()
    kinds = new Map()
    if (rows.length === 0) return writing
    writing = writing
      .then(() => options.write(rows))
      .catch((error) => {
        const then = stopped ? 'the platform is stopping' : 'trying again'
        log.error({ err: error, refusals: rows.length }, `refusals could not be stored; ${then}`)
        for (const { createdAt, count: by, ...refusal } of rows) add(refusal, by, createdAt)
      })
    await writing
  }

  return {
    add: (refusal) => add(refusal),
    flush,
    async stop() {
      stopped = true
      await flush()
    },
  }
}

const manyMore = 'Many more of the same kind in this second, from several addresses'

const cut = (text: string, most: number) => text.replaceAll('\0', '\ufffd').slice(0, most).toWellFormed()

/** What a stranger sends is not kept at any length. */
function bounded(refusal: Refusal): Refusal {
  const { tenantId, clientId, username, versionName, endpointId, detail } = refusal
  return {
    transport: cut(refusal.transport, 32),
    address: cut(refusal.address, 64),
    reason: cut(refusal.reason, 64),
    ...(tenantId && { tenantId: cut(tenantId, 255) }),
    ...(clientId && { clientId: cut(clientId, 255) }),
    ...(username && { username: cut(username, 255) }),
    ...(versionName && { versionName: cut(versionName, 255) }),
    ...(endpointId && { endpointId: cut(endpointId, 255) }),
    ...(detail && { detail: cut(detail, 500) }),
  }
}

/**
 * Buffers refusals for at most a second, and combines refusals of the same kind into one row with a count. The number of rows per second is
 * limited. Further refusals are only counted by tenant and reason.
 */
import type { Clock } from '../../kernel/clock.ts'
import type { Log } from '../../kernel/log.ts'
import type { Refusal } from './contract.ts'
import { refusalsFailed, refusalsLost } from './log-messages.ts'

export type CountedRefusal = Refusal & { createdAt: Date; count: number }

export interface Refusals {
  add(refusal: Refusal): void
  /** Writes all pending refusals immediately. */
  flush(): Promise<void>
  /** Writes all pending refusals. If this write fails, these refusals are lost. Refusals after this call are lost too. */
  stop(): Promise<void>
}

const rowsPerTenantMax = 50
const rowsMax = 200
/** Maximum number of rows by tenant and reason. Further refusals are counted in one common row. */
const summariesMax = 200
const everyMs = 1000

export function createRefusals(options: {
  now: Clock
  log: Log
  write(rows: CountedRefusal[]): Promise<void>
}): Refusals {
  const { now, log } = options
  let pending = new Map<string, CountedRefusal>()
  let rowsByTenant = new Map<string, number>()
  let timer: NodeJS.Timeout | undefined
  let writing: Promise<void> = Promise.resolve()
  let stopped = false

  function addToRow(key: string, refusal: Refusal, by: number, createdAt: Date): boolean {
    const row = pending.get(key)
    if (row) row.count += by
    else pending.set(key, { ...withBoundedTexts(refusal), createdAt, count: by })
    return !row
  }

  function enqueue(refusal: Refusal, by = 1, createdAt = now()) {
    if (stopped) return
    const { tenantId = '', reason, transport } = refusal
    const key = JSON.stringify([tenantId, reason, refusal.address, refusal.endpointId])
    const rowsOfTenant = rowsByTenant.get(tenantId) ?? 0
    if (pending.has(key) || (rowsOfTenant < rowsPerTenantMax && pending.size < rowsMax)) {
      if (addToRow(key, refusal, by, createdAt)) rowsByTenant.set(tenantId, rowsOfTenant + 1)
    } else {
      const summarized = { ...(tenantId && { tenantId }), reason, transport, address: '', detail: summaryDetail }
      const summary = JSON.stringify([tenantId, reason])
      if (pending.has(summary) || pending.size < rowsMax + summariesMax) addToRow(summary, summarized, by, createdAt)
      else addToRow('', { ...summarized, tenantId: '', reason: 'various' }, by, createdAt)
    }
    timer ??= setTimeout(() => void flush(), everyMs).unref()
  }

  async function flush() {
    clearTimeout(timer)
    timer = undefined
    const rows = [...pending.values()]
    pending = new Map()
    rowsByTenant = new Map()
    if (rows.length === 0) return writing
    writing = writing
      .then(() => options.write(rows))
      .catch((error) => {
        const failed = stopped ? refusalsLost : refusalsFailed
        failed(log, { err: error, refusals: rows.length })
        for (const { createdAt, count: by, ...refusal } of rows) enqueue(refusal, by, createdAt)
      })
    await writing
  }

  return {
    add: (refusal) => enqueue(refusal),
    flush,
    async stop() {
      stopped = true
      await flush()
    },
  }
}

const summaryDetail = 'Many more refusals with the same reason in this second'

const truncate = (text: string, lengthMax: number) => text.replaceAll('\0', '\ufffd').slice(0, lengthMax).toWellFormed()

/** Truncates all texts, because unauthenticated clients can choose their length. */
function withBoundedTexts(refusal: Refusal): Refusal {
  const { tenantId, clientId, username, versionName, endpointId, detail } = refusal
  return {
    transport: truncate(refusal.transport, 32),
    address: truncate(refusal.address, 64),
    reason: truncate(refusal.reason, 64),
    ...(tenantId && { tenantId: truncate(tenantId, 255) }),
    ...(clientId && { clientId: truncate(clientId, 255) }),
    ...(username && { username: truncate(username, 255) }),
    ...(versionName && { versionName: truncate(versionName, 255) }),
    ...(endpointId && { endpointId: truncate(endpointId, 255) }),
    ...(detail && { detail: truncate(detail, 500) }),
  }
}

/** An entry of the queue. Tenants take turns in the queue, and each tenant can have a limited number of entries and bytes. */
export interface Queueable {
  tenantId: string
  bytes: number
}

export interface QueueLimits {
  perTenant: number
  bytesPerTenant: number
  bytesTotal: number
}

export interface FairQueue<T extends Queueable> {
  /** Adds an entry. Returns false if the entry would exceed a limit of its tenant or of all tenants together. */
  add(entry: T): boolean
  /** Puts an entry that `take` returned back into the queue. The entry becomes the next of its tenant, and limits do not apply. */
  putBack(entry: T): void
  /** Returns the first tenant in turn that may run, and moves it to the end. */
  nextTenant(mayRun: (tenantId: string) => boolean): string | undefined
  take(tenantId: string): T | undefined
  removeAll(): T[]
  readonly size: number
}

/** Creates a queue. `keyOf` returns the key by which entries take turns. Default: the tenant. */
export function createFairQueue<T extends Queueable>(
  limits: QueueLimits,
  keyOf: (entry: T) => string = ({ tenantId }) => tenantId,
): FairQueue<T> {
  const tenants = new Map<string, { entries: T[]; bytes: number }>()
  let bytesTotal = 0
  let size = 0

  const count = (entry: T, sign: 1 | -1) => {
    tenants.get(keyOf(entry))!.bytes += sign * entry.bytes
    bytesTotal += sign * entry.bytes
    size += sign
  }
  const queueOf = (tenantId: string) => {
    let queue = tenants.get(tenantId)
    if (!queue) {
      queue = { entries: [], bytes: 0 }
      tenants.set(tenantId, queue)
    }
    return queue
  }

  return {
    add(entry) {
      const queued = tenants.get(keyOf(entry))
      if (queued && queued.entries.length >= limits.perTenant) return false
      if ((queued?.bytes ?? 0) + entry.bytes > limits.bytesPerTenant) return false
      if (bytesTotal + entry.bytes > limits.bytesTotal) return false
      queueOf(keyOf(entry)).entries.push(entry)
      count(entry, 1)
      return true
    },
    putBack(entry) {
      queueOf(keyOf(entry)).entries.unshift(entry)
      count(entry, 1)
    },
    nextTenant(mayRun) {
      for (const [tenantId, queue] of tenants) {
        if (!mayRun(tenantId)) continue
        tenants.delete(tenantId)
        tenants.set(tenantId, queue)
        return tenantId
      }
      return undefined
    },
    take(tenantId) {
      const queue = tenants.get(tenantId)
      const entry = queue?.entries.shift()
      if (!queue || !entry) return undefined
      count(entry, -1)
      if (queue.entries.length === 0) tenants.delete(tenantId)
      return entry
    },
    removeAll() {
      const all = [...tenants.values()].flatMap(({ entries }) => entries)
      tenants.clear()
      bytesTotal = 0
      size = 0
      return all
    },
    get size() {
      return size
    },
  }
}

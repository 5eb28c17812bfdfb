/**
 * Decides which delivery starts next. Deliveries of one tenant to one host start in the order in which they were pushed. Limits apply to
 * the deliveries that run at the same time. Hosts and tenants that have reached a limit do not hold back deliveries of other hosts and
 * tenants.
 */

export interface QueueLimits {
  /** Maximum number of concurrent deliveries of one tenant to one host. */
  perHost(): number
  /** Maximum number of concurrent deliveries of one tenant. */
  perTenant: number
  /** Maximum number of concurrent deliveries of this node. */
  total: number
}

export interface Queued {
  tenantId: string
  host: string
}

export interface DeliveryQueue<T extends Queued> {
  push(item: T): void
  /** Removes and returns the waiting items that match. */
  remove(matches: (item: T) => boolean): T[]
  /** Prevents further starts. */
  stop(): void
  readonly underWay: number
  readonly waiting: number
}

/** The deliveries of one tenant to one host. */
interface Lane<T> {
  tenantId: string
  waiting: T[]
  underWay: number
}

/** Creates a queue. `start` sends an item and never rejects. */
export function createDeliveryQueue<T extends Queued>(
  limits: QueueLimits,
  start: (item: T) => Promise<void>,
): DeliveryQueue<T> {
  const lanes = new Map<string, Lane<T>>()
  /** Lanes that wait because the tenant or the node has reached its limit. They take turns: a lane that starts an item moves to the end. */
  const limitedLanes = new Set<Lane<T>>()
  const byTenant = new Map<string, number>()
  let [underWay, waiting, stopped] = [0, 0, false]

  const keyOf = ({ tenantId, host }: Queued) => `${tenantId} ${host}`
  const hasRoom = ({ tenantId }: Lane<T>) => underWay < limits.total && (byTenant.get(tenantId) ?? 0) < limits.perTenant

  function startNext(lane: Lane<T>): boolean {
    if (stopped || lane.waiting.length === 0 || lane.underWay >= limits.perHost()) return false
    if (!hasRoom(lane)) {
      limitedLanes.add(lane)
      return false
    }
    const item = lane.waiting.shift()!
    waiting--
    lane.underWay++
    underWay++
    byTenant.set(lane.tenantId, (byTenant.get(lane.tenantId) ?? 0) + 1)
    void start(item).finally(() => ended(lane, item))
    return true
  }

  function ended(lane: Lane<T>, item: T) {
    lane.underWay--
    underWay--
    const ofTenant = byTenant.get(lane.tenantId)! - 1
    if (ofTenant > 0) byTenant.set(lane.tenantId, ofTenant)
    else byTenant.delete(lane.tenantId)
    if (lane.underWay === 0 && lane.waiting.length === 0) lanes.delete(keyOf(item))
    // Lanes that wait for the tenant or the node start before the next delivery of this lane, so that tenants take turns.
    for (const other of [...limitedLanes]) {
      if (!hasRoom(other)) continue
      limitedLanes.delete(other)
      if (startNext(other) && other.waiting.length > 0) limitedLanes.add(other)
      if (underWay >= limits.total) break
    }
    while (startNext(lane));
  }

  return {
    push(item) {
      const key = keyOf(item)
      const lane = lanes.get(key) ?? { tenantId: item.tenantId, waiting: [], underWay: 0 }
      lanes.set(key, lane)
      lane.waiting.push(item)
      waiting++
      while (startNext(lane));
    },
    remove(matches) {
      const removed: T[] = []
      for (const [key, lane] of lanes) {
        const removedItems = lane.waiting.filter(matches)
        if (removedItems.length === 0) continue
        lane.waiting = lane.waiting.filter((item) => !matches(item))
        removed.push(...removedItems)
        if (lane.waiting.length === 0) limitedLanes.delete(lane)
        if (lane.waiting.length === 0 && lane.underWay === 0) lanes.delete(key)
      }
      waiting -= removed.length
      return removed
    },
    stop() {
      stopped = true
    },
    get underWay() {
      return underWay
    },
    get waiting() {
      return waiting
    },
  }
}

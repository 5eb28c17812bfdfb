/** Lets callers wait until events are delivered. Workers of this node report each delivery and each event that has to wait for a retry. */

export interface DeliveryWait {
  /**
   * Sets the newest event that each subscription still has to deliver. A subscription that is not in the map has delivered all its events.
   */
  expect(newestIds: Map<string, number>): void
  isOver(): boolean
  /** Resolves when all expected events are delivered or wait for a retry. */
  over: Promise<void>
  /** Ends the wait, so that it uses no more memory. */
  end(): void
}

export interface DeliveryWaits {
  begin(subscriptions: string[], key: string): DeliveryWait
  delivered(subscription: string, events: { id: number; key: string }[]): void
  postponed(subscription: string, key: string): void
}

interface Wait {
  subscriptions: string[]
  /** The newest delivered event of each subscription since the wait began. Infinity if an event waits for a retry. */
  deliveredIds: Map<string, number>
  /** Undefined until the waiting events have been read. */
  newestIds: Map<string, number> | undefined
  resolve(): void
}

export function createDeliveryWaits(): DeliveryWaits {
  const waitsByKey = new Map<string, Set<Wait>>()

  function report(subscription: string, key: string, id: number) {
    for (const wait of waitsByKey.get(key) ?? []) {
      if (!wait.subscriptions.includes(subscription)) continue
      wait.deliveredIds.set(subscription, Math.max(id, wait.deliveredIds.get(subscription) ?? 0))
      if (isOver(wait)) wait.resolve()
    }
  }

  return {
    begin(subscriptions, key) {
      const { promise, resolve } = Promise.withResolvers<void>()
      const wait: Wait = { subscriptions, deliveredIds: new Map(), newestIds: undefined, resolve }
      const waits = waitsByKey.get(key) ?? new Set()
      waitsByKey.set(key, waits.add(wait))
      return {
        expect(newestIds) {
          wait.newestIds = newestIds
          if (isOver(wait)) resolve()
        },
        isOver: () => isOver(wait),
        over: promise,
        end() {
          waits.delete(wait)
          if (waits.size === 0 && waitsByKey.get(key) === waits) waitsByKey.delete(key)
        },
      }
    },
    delivered(subscription, events) {
      if (waitsByKey.size === 0) return
      const newest = new Map<string, number>()
      for (const { key, id } of events) newest.set(key, Math.max(id, newest.get(key) ?? 0))
      for (const [key, id] of newest) report(subscription, key, id)
    },
    postponed: (subscription, key) => report(subscription, key, Number.POSITIVE_INFINITY),
  }
}

const isOver = ({ newestIds, deliveredIds }: Wait) =>
  newestIds?.entries().every(([name, id]) => (deliveredIds.get(name) ?? 0) >= id) ?? false

/** The live streams that are open on this node, and the memory that their queues use. */
import type { Caller, Ctx } from '../../../kernel/contract.ts'
import type { LivePoint } from './live-point.ts'
import type { Interest } from './signals.ts'
import type { Subscription } from './subscription.ts'

export interface Watcher {
  subscription: Subscription
  ctx: Ctx
  caller: Caller
  /** Number of permissions that the caller had at the last check. */
  permissions: number
  callerNow(): Promise<Caller>
}

interface Application {
  tenantId: string
  applicationName: string
}

export interface Watchers {
  readonly count: number
  all(): Watcher[]
  watching(application: Application): Watcher[]
  countOfTenant(tenantId: string): number
  add(watcher: Watcher): void
  /** Removes a watcher. Returns false if it was already removed. */
  remove(watcher: Watcher): boolean
  /** Returns true if a stream on this node includes the endpoint. */
  includes(endpoint: Application & { endpointId: string }): boolean
  deliver(application: Application, points: LivePoint[]): void
  /** Adds to the number of bytes that are queued for all streams. Negative numbers subtract bytes that are no longer queued. */
  countQueued(bytes: number): void
  interestIn(application: Application): Interest
  interests(): Interest[]
}

/** Maximum size of all queues together. Above it, the slowest stream is ended. */
const queuedBytesMax = 64 * 1024 * 1024

export function createWatchers(): Watchers {
  const byApplication = new Map<string, Set<Watcher>>()
  let [count, queuedBytes] = [0, 0]

  const all = () => [...byApplication.values()].flatMap((watchersOfApplication) => [...watchersOfApplication])
  const watching = ({ tenantId, applicationName }: Application) =>
    [...(byApplication.get(applicationName) ?? [])].filter(({ ctx }) => ctx.tenantId === tenantId)

  function interestIn({ tenantId, applicationName }: Application): Interest {
    const endpointIds = new Set<string>()
    for (const { subscription } of watching({ tenantId, applicationName })) {
      if (!subscription.endpointIds) return { tenantId, applicationName }
      for (const endpointId of subscription.endpointIds) endpointIds.add(endpointId)
    }
    return { tenantId, applicationName, endpointIds: [...endpointIds] }
  }

  return {
    get count() {
      return count
    },
    all,
    watching,
    countOfTenant: (tenantId) => all().filter(({ ctx }) => ctx.tenantId === tenantId).length,
    add(watcher) {
      const { applicationName } = watcher.subscription
      byApplication.set(applicationName, (byApplication.get(applicationName) ?? new Set()).add(watcher))
      count++
    },
    remove(watcher) {
      const { applicationName } = watcher.subscription
      const watchers = byApplication.get(applicationName)
      if (!watchers?.delete(watcher)) return false
      if (watchers.size === 0) byApplication.delete(applicationName)
      count--
      return true
    },
    includes({ tenantId, applicationName, endpointId }) {
      // The function runs for every stored row, so it builds no list.
      for (const { subscription } of byApplication.get(applicationName) ?? [])
        if (subscription.tenantId === tenantId && subscription.isVisible(endpointId)) return true
      return false
    },
    deliver(application, points) {
      for (const { subscription } of watching(application))
        for (const point of points) if (subscription.isVisible(point.endpointId)) subscription.add(point)
      while (queuedBytes > queuedBytesMax) slowestOf(all())?.end('too_slow')
    },
    countQueued(bytes) {
      queuedBytes += bytes
    },
    interestIn,
    interests: () => [...byApplication.values()].map(([...some]) => interestIn(some[0]!.subscription)),
  }
}

function slowestOf(watchers: Watcher[]): Subscription | undefined {
  let slowest: Subscription | undefined
  for (const { subscription } of watchers)
    if (!slowest || subscription.queuedBytes > slowest.queuedBytes) slowest = subscription
  return slowest
}

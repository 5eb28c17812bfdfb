/** The watchers of this node: who they are, what they watch, and what waits for all of them. */
import type { Caller, Ctx } from '../../../kernel/contract.ts'
import type { LivePoint } from './live-point.ts'
import type { Interest } from './signals.ts'
import type { Subscription } from './subscription.ts'

export interface Watcher {
  subscription: Subscription
  ctx: Ctx
  caller: Caller
  /** How many permissions the caller had when they were checked last. */
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
  of(application: Application): Watcher[]
  ofTenant(tenantId: string): number
  add(watcher: Watcher): void
  /** False where it was removed before. */
  remove(watcher: Watcher): boolean
  /** Whether anybody sees points of this endpoint. */
  see(of: Application & { endpointId: string }): boolean
  deliver(application: Application, points: LivePoint[]): void
  /** Counts bytes that wait for a watcher, or, below zero, that do not any more. */
  waiting(bytes: number): void
  interestIn(application: Application): Interest
  interests(): Interest[]
}

/** Beyond it, the slowest watcher is ended. */
const waitingBytesMax = 64 * 1024 * 1024

export function createWatchers(): Watchers {
  const byApplication = new Map<string, Set<Watcher>>()
  let [count, waitingBytes] = [0, 0]

  const all = () => [...byApplication.values()].flatMap((some) => [...some])
  const of = ({ tenantId, applicationName }: Application) =>
    [...(byApplication.get(applicationName) ?? [])].filter(({ ctx }) => ctx.tenantId === tenantId)

  function interestIn({ tenantId, applicationName }: Application): Interest {
    const endpointIds = new Set<string>()
    for (const { subscription } of of({ tenantId, applicationName })) {
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
    of,
    ofTenant: (tenantId) => all().filter(({ ctx }) => ctx.tenantId === tenantId).length,
    add(watcher) {
      const { applicationName } = watcher.subscription
      byApplication.set(applicationName, (byApplication.get(applicationName) ?? new Set()).add(watcher))
      count++
    },
    remove(watcher) {
      const { applicationName } = watcher.subscription
      const some = byApplication.get(applicationName)
      if (!some?.delete(watcher)) return false
      if (some.size === 0) byApplication.delete(applicationName)
      count--
      return true
    },
    see({ tenantId, applicationName, endpointId }) {
      // Of thousands of rows a second hardly any is watched: no list is made here.
      for (const { subscription } of byApplication.get(applicationName) ?? [])
        if (subscription.tenantId === tenantId && subscription.sees(endpointId)) return true
      return false
    },
    deliver(application, points) {
      for (const { subscription } of of(application))
        for (const point of points) if (subscription.sees(point.endpointId)) subscription.add(point)
      while (waitingBytes > waitingBytesMax) slowestOf(all())?.end('too_slow')
    },
    waiting(bytes) {
      waitingBytes += bytes
    },
    interestIn,
    interests: () => [...byApplication.values()].map(([...some]) => interestIn(some[0]!.subscription)),
  }
}

function slowestOf(watchers: Watcher[]): Subscription | undefined {
  let found: Subscription | undefined
  for (const { subscription } of watchers)
    if (!found || subscription.waitingBytes > found.waitingBytes) found = subscription
  return found
}

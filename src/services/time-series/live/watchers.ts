/** Who watches which points as they are stored. */
import type { Caller, Ctx } from '../../../kernel/contract.ts'
import type { Kit } from '../../../kernel/define-service.ts'
import { invalidField, PlatformError } from '../../../kernel/errors.ts'
import { LiveIsFull, TooManySubscriptions } from '../errors.ts'
import type { Numbers } from '../numbers/numbers.ts'
import type { Sights } from '../read/visible-series.ts'
import { pointsOf } from '../write/publish-samples.ts'
import type { Rows } from '../write/rows.ts'
import { type LivePoint, livePoint } from './live-point.ts'
import { createPeers, type Wanted } from './peers.ts'
import { endpointsMax, type Replay } from './replay.ts'
import { createSubscription, type Outlet, type Subscription } from './subscription.ts'

export interface LiveQuestion {
  applicationName: string
  endpointIds: string[] | undefined
  seriesNames: string[] | undefined
  /** Begins with the newest points. */
  initial: boolean
  lastEventId: string | undefined
}

export interface Live {
  /** `open` is called when the caller may watch; what is wrong before is an error as any other. */
  watch(ctx: Ctx, question: LiveQuestion, callerNow: () => Promise<Caller>, open: () => Outlet): Promise<void>
  /** They are durable. */
  stored(rows: Rows): void
  start(): Promise<void>
  stop(): Promise<void>
}

export interface LiveLimits {
  inAll: number
  perTenant: number
}

const recheckMs = 1000
/** Of what waits for all who watch here: beyond it, the slowest goes. */
const waitingBytesMax = 64 * 1024 * 1024

interface Watcher {
  subscription: Subscription
  ctx: Ctx
  caller: Caller
  permissions: number
  callerNow(): Promise<Caller>
}

export function createLive(
  kit: Pick<Kit, 'db' | 'bus' | 'log' | 'metrics' | 'newId'>,
  deps: { numbers: Numbers; sights: Sights; replay: Replay; limits: LiveLimits },
): Live {
  const { log } = kit
  const { numbers, sights, replay, limits } = deps
  const byApplication = new Map<string, Set<Watcher>>()
  let [count, waitingBytes] = [0, 0]
  let timer: NodeJS.Timeout | undefined
  kit.metrics.gauge('waypost_time_series_live_subscriptions', 'Who watches points here', [], (gauge) =>
    gauge.set(count),
  )

  const all = () => [...byApplication.values()].flatMap((some) => [...some])
  const of = ({ tenantId, applicationName }: { tenantId: string; applicationName: string }) =>
    [...(byApplication.get(applicationName) ?? [])].filter(({ ctx }) => ctx.tenantId === tenantId)

  const peers = createPeers(kit, kit.newId(), {
    wanted(place) {
      const some = place ? of(place) : all()
      const wanted = new Map<string, Wanted>()
      for (const { subscription } of some) {
        const { tenantId, applicationName, endpointIds } = subscription
        const known = wanted.get(applicationName)
        const both = known?.endpointIds && endpointIds ? [...known.endpointIds, ...endpointIds] : undefined
        const ids = known ? both : endpointIds && [...endpointIds]
        wanted.set(applicationName, { tenantId, applicationName, endpointIds: ids && [...new Set(ids)] })
      }
      return [...wanted.values()]
    },
    deliver: (place, points) => deliver(of(place), points),
    missed: (place) => {
      for (const { subscription } of place ? of(place) : all()) subscription.gap('missed')
    },
  })

  function deliver(watchers: Watcher[], points: LivePoint[]) {
    for (const { subscription } of watchers)
      for (const point of points) if (subscription.sees(point.endpointId)) subscription.add(point)
    while (waitingBytes > waitingBytesMax) slowest()?.end('too_slow')
  }

  function slowest(): Subscription | undefined {
    let found: Subscription | undefined
    for (const { subscription } of all())
      if (!found || subscription.waitingBytes > found.waitingBytes) found = subscription
    return found
  }

  /** What was shown may have expired, and what it allows may be less. */
  async function recheck(watcher: Watcher) {
    const { subscription, ctx } = watcher
    try {
      const caller = await watcher.callerNow()
      if (caller === watcher.caller && caller.permissions.length === watcher.permissions) return
      await sights.readable({ ...ctx, caller }, subscription.applicationName)
      watcher.caller = caller
      watcher.permissions = caller.permissions.length
      subscription.caller(caller)
    } catch (error) {
      if (!(error instanceof PlatformError) || error.status >= 500)
        log.warn({ err: error }, 'whether somebody may still watch could not be asked; trying again')
      else subscription.end(error.status === 401 ? 'unauthenticated' : 'forbidden')
    }
  }

  /** True when the other processes know of it too. */
  function add(watcher: Watcher): Promise<boolean> {
    const { applicationName } = watcher.subscription
    const some = byApplication.get(applicationName) ?? new Set()
    byApplication.set(applicationName, some.add(watcher))
    count++
    timer ??= setInterval(() => {
      for (const one of all()) void recheck(one)
    }, recheckMs).unref()
    return peers.more(watcher.subscription)
  }

  function remove(watcher: Watcher) {
    const { applicationName } = watcher.subscription
    const some = byApplication.get(applicationName)
    if (!some?.delete(watcher)) return
    if (some.size === 0) byApplication.delete(applicationName)
    if (--count === 0) {
      clearInterval(timer)
      timer = undefined
    }
    peers.less(watcher.subscription)
  }

  function checkLimits({ tenantId }: Ctx) {
    const later = { headers: { 'retry-after': '10' } }
    const own = all().filter(({ ctx }) => ctx.tenantId === tenantId).length
    if (own >= limits.perTenant) throw TooManySubscriptions({ limit: limits.perTenant }, later)
    if (count >= limits.inAll) throw LiveIsFull({ limit: limits.inAll }, later)
  }

  return {
    async watch(ctx, question, callerNow, open) {
      const { applicationName, endpointIds, seriesNames, initial, lastEventId } = question
      if (endpointIds && endpointIds.length > endpointsMax)
        throw invalidField('endpointId', `expected at most ${endpointsMax} of them`)
      await sights.readable(ctx, applicationName)
      checkLimits(ctx)
      const watched = {
        tenantId: ctx.tenantId,
        applicationName,
        endpointIds: endpointIds && new Set(endpointIds),
        seriesNames: seriesNames && new Set(seriesNames),
      }
      const outlet = lateOutlet()
      const subscription = createSubscription(ctx, watched, outlet, (bytes) => {
        waitingBytes += bytes
      })
      const { caller } = ctx
      const watcher = { subscription, ctx, caller, permissions: caller.permissions.length, callerNow }
      // From here on everything waits for it, so that nothing is missed while older points are looked for.
      const added = add(watcher)
      outlet.onClose(() => remove(watcher))
      try {
        const since = await replay.position()
        const before = lastEventId === undefined ? [] : await replay.since(subscription, lastEventId)
        const newest = initial ? await replay.newest(subscription) : []
        const isKnown = await added
        outlet.becomes(open())
        subscription.begin(since, [...newest, ...(typeof before === 'string' ? [] : before)])
        if (typeof before === 'string') subscription.gap(before)
        if (!isKnown) subscription.gap('missed')
      } catch (error) {
        outlet.end('')
        throw error
      }
    },

    stored(rows) {
      if (count === 0 && !peers.isBusy()) return
      for (let row = 0; row < rows.count; row++) {
        const origin = rows.origins[row]!
        const isRemote = peers.isBusy() && peers.wants(origin)
        const watchers = byApplication.get(origin.applicationName)
        if (!isRemote && (!watchers || !isSeen(watchers, origin))) continue
        const points = pointsOf(rows, row, numbers).map((point) => livePoint(point, rows.writtens[row]!))
        if (watchers) deliver(of(origin), points)
        if (isRemote) peers.forward(origin, points)
      }
    },
    start: peers.start,
    async stop() {
      clearInterval(timer)
      await peers.stop()
    },
  }
}

/** Of thousands of rows a second hardly any may be watched. */
function isSeen(watchers: Set<Watcher>, { tenantId, endpointId }: { tenantId: string; endpointId: string }) {
  for (const { subscription } of watchers)
    if (subscription.tenantId === tenantId && subscription.sees(endpointId)) return true
  return false
}

/** Keeps the listeners until there is a connection to listen to; ended before, it only tells them. */
function lateOutlet(): Outlet & { becomes(outlet: Outlet): void } {
  let [real, over]: [Outlet | undefined, string | undefined] = [undefined, undefined]
  const [drained, closed]: [(() => void)[], (() => void)[]] = [[], []]
  return {
    say: (event, data, id) => real?.say(event, data, id) ?? true,
    onDrain: (listener) => void drained.push(listener),
    onClose: (listener) => void closed.push(listener),
    end(reason) {
      if (real) return real.end(reason)
      over = reason
      for (const listener of closed.splice(0)) listener()
    },
    becomes(outlet) {
      real = outlet
      if (over !== undefined) return outlet.end(over)
      outlet.onDrain(() => {
        for (const listener of drained) listener()
      })
      outlet.onClose(() => {
        for (const listener of closed.splice(0)) listener()
      })
    },
  }
}

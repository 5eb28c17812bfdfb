/** Live streams: points are sent to callers as soon as this node or another node has stored them. */
import type { Caller, Ctx } from '../../../kernel/contract.ts'
import type { Kit } from '../../../kernel/define-service.ts'
import { invalidField } from '../../../kernel/errors.ts'
import { LiveIsFull, TooManySubscriptions } from '../errors.ts'
import type { Numbers } from '../numbers/numbers.ts'
import type { VisibleSeries } from '../read/visible-series.ts'
import { pointsOf } from '../write/publish-points.ts'
import type { Rows } from '../write/rows.ts'
import { createDeferredOutlet } from './deferred-outlet.ts'
import { createForwardPoints } from './forward-points.ts'
import { createInterests, type Interests } from './interests.ts'
import { livePoint } from './live-point.ts'
import { createPermissionRecheck } from './recheck.ts'
import { endpointsMax, type Replay } from './replay.ts'
import { LivePointsStored } from './signals.ts'
import { createSubscription, type Outlet } from './subscription.ts'
import { createWatchers, type Watcher, type Watchers } from './watchers.ts'

export interface LiveRequest {
  applicationName: string
  endpointIds: string[] | undefined
  seriesNames: string[] | undefined
  /** If true, the stream begins with the newest point of each series. */
  initial: boolean
  lastEventId: string | undefined
}

export interface Live {
  /**
   * Opens a stream. Calls `open` after the caller's permissions are checked; errors before `open` become HTTP errors. `callerNow` returns
   * the caller with the permissions that it has at present.
   */
  watch(ctx: Ctx, request: LiveRequest, callerNow: () => Promise<Caller>, open: () => Outlet): Promise<void>
  /** Called with rows that this node has just committed. */
  stored(rows: Rows): void
  start(): Promise<void>
  stop(): Promise<void>
}

export interface LiveLimits {
  total: number
  perTenant: number
}

interface Parts {
  watchers: Watchers
  interests: Interests
  visible: VisibleSeries
  replay: Replay
  limits: LiveLimits
  recheck: ReturnType<typeof createPermissionRecheck>
}

export function createLive(
  kit: Pick<Kit, 'signals' | 'members' | 'log' | 'metrics'>,
  deps: { numbers: Numbers; visible: VisibleSeries; replay: Replay; limits: LiveLimits },
): Live {
  const { signals, members, log } = kit
  const watchers = createWatchers()
  const interests = createInterests({
    signals,
    members,
    log,
    ownInterests: watchers.interests,
    onUnacknowledged: () => reportMissed(watchers.all()),
  })
  const forwarding = createForwardPoints(signals)
  const recheck = createPermissionRecheck({ watchers, visible: deps.visible, log })
  const parts: Parts = { ...deps, watchers, interests, recheck }
  kit.metrics.gauge(
    'waypost_time_series_live_subscriptions',
    'Number of open live streams of points on this node.',
    [],
    (gauge) => gauge.set(watchers.count),
  )
  signals.on(LivePointsStored, (stored) => {
    for (const { points, lost, ...application } of stored) {
      if (lost) reportMissed(watchers.watching(application))
      watchers.deliver(application, points)
    }
  })
  signals.onReset(async () => {
    const affected = watchers.all()
    // Streams get their `gap` event only after the exchange, because from then on other nodes forward points to this node again.
    await interests.exchange()
    reportMissed(affected)
  })
  return {
    watch: (...args) => watch(parts, ...args),
    stored(rows) {
      if (watchers.count === 0 && interests.isEmpty()) return
      for (let row = 0; row < rows.count; row++) {
        const origin = rows.origins[row]!
        const isWatched = watchers.includes(origin)
        const nodeIds = interests.nodesFor(origin)
        if (!isWatched && nodeIds.length === 0) continue
        const points = pointsOf(rows, row, deps.numbers).map((point) => livePoint(point, rows.writtenTimes[row]!))
        if (isWatched) watchers.deliver(origin, points)
        forwarding.add(nodeIds, origin, points)
      }
    },
    start: interests.exchange,
    async stop() {
      recheck.stop()
      await forwarding.stop()
    },
  }
}

/** Sends a `gap` event. The event means that points may be missing and that the caller must read them with a query. */
function reportMissed(watchers: Watcher[]) {
  for (const { subscription } of watchers) subscription.gap('missed')
}

async function watch(
  parts: Parts,
  ctx: Ctx,
  request: LiveRequest,
  callerNow: () => Promise<Caller>,
  open: () => Outlet,
) {
  const { watchers, visible, replay } = parts
  const { applicationName, endpointIds, seriesNames, initial, lastEventId } = request
  if (endpointIds && endpointIds.length > endpointsMax)
    throw invalidField('endpointId', `expected at most ${endpointsMax} of them`)
  await visible.readableEndpoints(ctx, applicationName)
  rejectAboveLimits(parts, ctx)
  const watched = {
    tenantId: ctx.tenantId,
    applicationName,
    endpointIds: endpointIds && new Set(endpointIds),
    seriesNames: seriesNames && new Set(seriesNames),
  }
  const outlet = createDeferredOutlet()
  const subscription = createSubscription(ctx, watched, outlet, watchers.countQueued)
  const { caller } = ctx
  // From here on, new points are queued for the stream, so that no point is missed while older points are read.
  const acknowledged = add(
    parts,
    { subscription, ctx, caller, permissions: caller.permissions.length, callerNow },
    outlet,
  )
  try {
    const since = await replay.position()
    const replayed = lastEventId === undefined ? [] : await replay.since(subscription, lastEventId)
    const newest = initial ? await replay.newest(subscription) : []
    const isAcknowledged = await acknowledged
    outlet.connect(open())
    subscription.start(since, [...newest, ...(typeof replayed === 'string' ? [] : replayed)])
    if (typeof replayed === 'string') subscription.gap(replayed)
    if (!isAcknowledged) subscription.gap('missed')
  } catch (error) {
    outlet.end('')
    throw error
  }
}

/** Adds the watcher. Resolves to true if all other nodes have acknowledged the interest. */
function add({ watchers, interests, recheck }: Parts, watcher: Watcher, outlet: Outlet): Promise<boolean> {
  const { subscription } = watcher
  const announce = () => interests.announce(() => watchers.interestIn(subscription))
  watchers.add(watcher)
  recheck.start()
  outlet.onClose(() => {
    if (!watchers.remove(watcher)) return
    if (watchers.count === 0) recheck.stop()
    void announce()
  })
  return announce()
}

function rejectAboveLimits({ watchers, limits }: Parts, { tenantId }: Ctx) {
  const retryLater = { headers: { 'retry-after': '10' } }
  if (watchers.countOfTenant(tenantId) >= limits.perTenant)
    throw TooManySubscriptions({ limit: limits.perTenant }, retryLater)
  if (watchers.count >= limits.total) throw LiveIsFull({ limit: limits.total }, retryLater)
}

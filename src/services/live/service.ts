import { createConcurrencyLimit } from '../../kernel/concurrency-limit.ts'
import type { Caller, Ctx } from '../../kernel/contract.ts'
import type { Kit } from '../../kernel/define-service.ts'
import type { Applications } from '../applications/contract.ts'
import type { Register } from '../register/contract.ts'
import { checkSubscriptions, filtersOf } from './admission.ts'
import { NodeFull, NodeSilent, NoStream, TooManyStreams } from './errors.ts'
import { createPace } from './pace.ts'
import type { Outlet } from './queue.ts'
import { createRecheck } from './recheck.ts'
import type { SubscriptionRequest } from './schemas.ts'
import type { LiveSettings } from './settings.ts'
import { ChangeStream } from './signals.ts'
import { createStream, type StreamDeps } from './stream.ts'
import { createStreams, type OpenStream, type Streams } from './streams.ts'
import { createValues } from './values.ts'

export interface OpenRequest {
  subscriptions: SubscriptionRequest[]
  lastEventId: string | undefined
}

export interface LiveService {
  /**
   * Checks the request, then calls `open` and serves the stream. Errors before `open` become HTTP errors. `callerNow` returns the caller
   * with the permissions that it has at present.
   */
  watch(ctx: Ctx, request: OpenRequest, callerNow: () => Promise<Caller>, open: () => Outlet): void
  /** Replaces the subscriptions of a stream, which may be on any node. */
  update(ctx: Ctx, streamId: string, subscriptions: SubscriptionRequest[]): Promise<void>
  topics(): { topic: string; description: string; scopes: string[]; filters: string[]; hasHistory: boolean }[]
  stop(): Promise<void>
}

interface Services {
  applications: Pick<Applications, 'exists'>
  register: Pick<Register, 'findAll'>
}

interface Deps extends StreamDeps {
  kit: Kit<LiveSettings>
  streams: Streams
  recheck: ReturnType<typeof createRecheck>
}

/** Limits concurrent reads of histories. When a node ends, all its clients resume their streams on other nodes at the same time. */
const historyLimits = { perTenant: 2, total: 4, waitingPerTenant: Infinity, waitMs: Infinity }
const changeTimeoutMs = 3000
/** Positions older than this count as this old, because no history reaches back that far. */
const positionMaxMs = 7 * 86_400_000

export function createLiveService(kit: Kit<LiveSettings>, services: Services): LiveService {
  const { live, signals, metrics } = kit
  const streams = createStreams(metrics)
  const sent = metrics.counter('waypost_live_events_sent_total', 'Number of events sent on live streams, by topic.', [
    'topic',
  ])
  const gaps = metrics.counter(
    'waypost_live_gaps_total',
    'Number of gaps in subscriptions of live streams, by reason.',
    ['reason'],
  )
  const deps: Deps = {
    ...services,
    kit,
    live,
    now: kit.now,
    streams,
    recheck: createRecheck(streams, kit.log),
    historyLimit: createConcurrencyLimit(historyLimits),
    pace: createPace(),
    values: createValues(kit.log),
    countQueued: streams.countQueued,
    countSent: (topic, events) => sent.inc({ topic }, events),
    countGap: (reason) => gaps.inc({ reason }),
  }
  signals.answer(ChangeStream, ({ streamId, tenantId, subject, subscriptions }) =>
    change(deps, streamId, { tenantId, subject }, subscriptions),
  )
  return {
    watch: (...args) => watch(deps, ...args),
    update: (...args) => update(deps, ...args),
    topics: () =>
      [...live.topics.values()].map((topic) => ({
        topic: topic.name,
        description: topic.description,
        scopes: [...topic.scopes],
        filters: filtersOf(topic),
        hasHistory: topic.history !== undefined || topic.value !== undefined,
      })),
    async stop() {
      deps.recheck.stop()
    },
  }
}

const subjectOf = ({ subject: { type, id } }: Caller) => `${type}\n${id}`

function watch(
  deps: Deps,
  ctx: Ctx,
  { subscriptions, lastEventId }: OpenRequest,
  callerNow: () => Promise<Caller>,
  open: () => Outlet,
) {
  const { kit, streams, recheck } = deps
  checkSubscriptions(kit.live.topics, subscriptions)
  rejectAboveLimits(deps, ctx)
  const streamId = `${kit.members.nodeId}-${kit.newId()}`
  const outlet = open()
  // The stream outlives its request, so its context must not depend on the request.
  const { tenantId, caller, correlationId, log } = ctx
  const stream = createStream(deps, streamId, { tenantId, caller, correlationId, log, signal: kit.stopping }, outlet)
  const openStream: OpenStream = {
    stream,
    tenantId,
    subject: subjectOf(caller),
    callerNow,
    caller,
    permissions: caller.permissions.length,
  }
  streams.add(openStream)
  recheck.start()
  outlet.onClose(() => {
    streams.remove(openStream)
    if (streams.count === 0) recheck.stop()
  })
  stream.subscribe(subscriptions, positionOf(deps, lastEventId))
}

/**
 * Parses the position in Last-Event-ID. A text that is not a position counts as the oldest position, so that the client gets `gap` events.
 */
function positionOf({ now }: Deps, lastEventId: string | undefined): number | undefined {
  if (lastEventId === undefined || lastEventId === '') return undefined
  const oldest = (now().getTime() - positionMaxMs) * 1000
  return /^\d{1,16}$/.test(lastEventId) ? Math.max(Number(lastEventId), oldest) : oldest
}

function rejectAboveLimits({ kit, streams }: Deps, { tenantId, caller }: Ctx) {
  const { total, perTenant, perCaller } = kit.settings
  if (streams.ofCaller(tenantId, subjectOf(caller)) >= perCaller)
    throw TooManyStreams({ whose: 'The caller', limit: perCaller })
  if (streams.ofTenant(tenantId) >= perTenant) throw TooManyStreams({ whose: 'The tenant', limit: perTenant })
  if (streams.count >= total) throw NodeFull({ limit: total })
}

async function update(deps: Deps, { tenantId, caller }: Ctx, streamId: string, subscriptions: SubscriptionRequest[]) {
  const { live, members, signals } = deps.kit
  checkSubscriptions(live.topics, subscriptions)
  // The id of a stream is the id of its node, a separator and another id of the same length.
  const nodeId = streamId.slice(0, (streamId.length - 1) / 2)
  const owner = { tenantId, subject: subjectOf(caller) }
  if (nodeId === members.nodeId) {
    if (!change(deps, streamId, owner, subscriptions)) throw NoStream({ streamId })
    return
  }
  if (!members.isAlive(nodeId)) throw NoStream({ streamId })
  const isChanged = await signals
    .request(nodeId, ChangeStream, { streamId, ...owner, subscriptions }, { timeoutMs: changeTimeoutMs })
    .catch(() => {
      throw NodeSilent()
    })
  if (!isChanged) throw NoStream({ streamId })
}

/** Replaces the subscriptions of a stream on this node. Returns false if this node has no such stream of the caller. */
function change(
  { streams }: Deps,
  streamId: string,
  owner: { tenantId: string; subject: string },
  subscriptions: SubscriptionRequest[],
): boolean {
  const found = streams.find(streamId)
  if (found?.tenantId !== owner.tenantId || found.subject !== owner.subject) return false
  found.stream.subscribe(subscriptions)
  return true
}

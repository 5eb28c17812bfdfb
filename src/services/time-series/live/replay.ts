/** Reads points that were stored before a stream opened: the points since its last event, or the newest point of each series. */
import type { Clock } from '../../../kernel/clock.ts'
import type { Db } from '../../../kernel/db.ts'
import { invalidField } from '../../../kernel/errors.ts'
import type { Value } from '../contract.ts'
import type { Retention } from '../delete/retention.ts'
import type { KeptSince } from '../delete/retention-limits.ts'
import type { Numbers } from '../numbers/numbers.ts'
import { findEndpointsByIds, findEndpointsOf, type NumberedEndpoint } from '../store/numbers.ts'
import { findSamplesSince } from '../store/samples.ts'
import { findSlots } from '../store/slots.ts'
import type { LatestValues } from '../write/latest-values.ts'
import { valuesOf } from '../write/rows.ts'
import { type LivePoint, livePoint } from './live-point.ts'
import type { Subscription, Watched } from './subscription.ts'

/** Maximum number of endpoints that a stream can name, and that an application may have if points of all its endpoints are replayed. */
export const endpointsMax = 1000
const samplesMax = 10_000
const replayMaxMs = 15 * 60_000
/** A sample gets its number in the order of writes before it is stored. A slow node may store it this much later. */
const slackMs = 5_000

export interface Replay {
  /** Returns a number in the order of writes that is less than the numbers of all later writes. */
  position(): Promise<number>
  /** Returns all points since the event `lastEventId`, and possibly some earlier points. If that is impossible, returns the reason. */
  since(subscription: Subscription, lastEventId: string): Promise<LivePoint[] | 'too_old' | 'too_many'>
  /**
   * Returns all points since the number `written` in the order of writes, and possibly some earlier points. If that is impossible, returns
   * the reason.
   */
  points(replayed: Replayed, written: number): Promise<LivePoint[] | 'too_old' | 'too_many'>
  /** Returns the newest point of each series. */
  newest(subscription: Subscription): Promise<LivePoint[]>
}

/** Determines which points a stream includes. */
export type Replayed = Watched & Pick<Subscription, 'isVisible'>

interface SingleValue {
  endpointId: string
  seriesId: number
  timestamp: number
  written: number
  value: Value
}

export function createReplay(deps: {
  db: Db
  numbers: Numbers
  latest: Pick<LatestValues, 'read'>
  retention: Pick<Retention, 'keptSince'>
  now: Clock
  position(): Promise<number>
}): Replay {
  const { db, numbers, latest, retention, now, position } = deps

  async function endpointsOf(watched: Watched): Promise<NumberedEndpoint[]> {
    const { tenantId, applicationName, endpointIds } = watched
    const application = { tenantId, applicationName }
    return endpointIds
      ? await findEndpointsByIds(db.sql, { ...application, endpointIds: [...endpointIds] })
      : await findEndpointsOf(db.sql, { ...application, after: '', limit: endpointsMax + 1 })
  }

  /** Returns single values in the order of writes, or undefined if there are too many. */
  async function samplesSince(endpoints: NumberedEndpoint[], written: number): Promise<SingleValue[] | undefined> {
    const idOf = new Map(endpoints.map(({ endpointNo, endpointId }) => [endpointNo, endpointId]))
    const rows = await findSamplesSince(db.sql, [...idOf.keys()], written, samplesMax + 1)
    if (rows.length > samplesMax) return undefined
    const seriesOf = await numbers.seriesIdsOf(rows.map(({ setId }) => setId))
    return rows.flatMap(({ endpointNo, ts, setId, written: sampleNumber, v, x }) => {
      const values = valuesOf(v, x)
      return (seriesOf.get(setId) ?? []).map((seriesId, index) => ({
        endpointId: idOf.get(endpointNo)!,
        seriesId,
        timestamp: ts,
        written: sampleNumber,
        value: values[index]!,
      }))
    })
  }

  /** Combines values with the same series, time and number into one point. */
  async function pointsOf(watched: Watched, values: SingleValue[], keptSince?: KeptSince): Promise<LivePoint[]> {
    const series = new Map((await numbers.seriesOf(watched)).map((one) => [one.seriesId, one]))
    const points = new Map<string, { first: SingleValue; seriesName: string; values: Map<string, Value> }>()
    for (const single of values) {
      const selected = series.get(single.seriesId)
      if (!selected || (keptSince && single.timestamp < keptSince(selected.name))) continue
      const key = `${single.endpointId}\n${selected.name}\n${single.timestamp}\n${single.written}`
      const point = points.get(key) ?? { first: single, seriesName: selected.name, values: new Map() }
      point.values.set(selected.valueName, single.value)
      points.set(key, point)
    }
    return [...points.values()].map(({ first: { endpointId, timestamp, written }, seriesName, values }) =>
      livePoint(
        { endpointId, seriesName, timestamp: new Date(timestamp).toISOString(), values: Object.fromEntries(values) },
        written,
      ),
    )
  }

  async function pointsSince(replayed: Replayed, written: number): Promise<LivePoint[] | 'too_old' | 'too_many'> {
    if (written < (now().getTime() - replayMaxMs) * 1000) return 'too_old'
    // Only slots that are not packed keep the order of writes.
    const slots = (await findSlots(db.sql)).filter(({ state }) => state === 'open' || state === 'closed')
    const oldest = Math.min(...slots.map(({ openedWritten }) => openedWritten ?? Number.POSITIVE_INFINITY))
    if (written < oldest) return 'too_old'
    const endpoints = await endpointsOf(replayed)
    if (endpoints.length > endpointsMax) return 'too_many'
    const visible = endpoints.filter(({ endpointId }) => replayed.isVisible(endpointId))
    const samples = await samplesSince(visible, written - slackMs * 1000)
    return samples ? await pointsOf(replayed, samples) : 'too_many'
  }

  return {
    position,
    points: pointsSince,
    since: (subscription, lastEventId) =>
      pointsSince(subscription, /^\d{1,16}$/.test(lastEventId) ? Number(lastEventId) : 0),

    async newest(subscription) {
      const endpoints = await endpointsOf(subscription)
      if (endpoints.length > endpointsMax)
        throw invalidField('initial', `the application has more than ${endpointsMax} endpoints: name the endpoints`)
      const visible = endpoints.filter(({ endpointId }) => subscription.isVisible(endpointId))
      const latestByEndpoint = await latest.read(visible.map(({ endpointNo }) => endpointNo))
      const newest = visible.flatMap(({ endpointId, endpointNo }) =>
        (latestByEndpoint.get(endpointNo) ?? []).map((one) => ({ ...one, endpointId, written: 0 })),
      )
      // The newest time among the values of a series is the time of its newest point.
      const keptSince = await retention.keptSince(subscription)
      return newestOfSeries(await pointsOf(subscription, newest, keptSince))
    },
  }
}

function newestOfSeries(points: LivePoint[]): LivePoint[] {
  const best = new Map<string, LivePoint>()
  for (const point of points) {
    const key = `${point.endpointId}\n${point.seriesName}`
    const newest = best.get(key)
    // Both JSON texts begin with the time in ISO 8601.
    if (!newest || point.text > newest.text) best.set(key, point)
  }
  return [...best.values()]
}

/** The topic `series` of live streams: one event for each stored point. */
import type { Live, LiveEvent } from '../../../kernel/live/live.ts'
import type { Numbers } from '../numbers/numbers.ts'
import { readScopes } from '../read/visible-series.ts'
import { pointsOf } from '../write/publish-points.ts'
import type { Rows } from '../write/rows.ts'
import type { Replay } from './replay.ts'

interface PointContent {
  endpointId: string
  seriesName: string
  timestamp: string
  values: Record<string, unknown>
}

/** Returns a function that is called with rows that this node has just committed. */
export function defineTopic(
  live: Pick<Live, 'define'>,
  { numbers, replay }: { numbers: Numbers; replay: Pick<Replay, 'points'> },
): (rows: Rows) => void {
  const topic = live.define({
    name: 'series',
    description: 'points of time series as they are stored.',
    scopes: readScopes,
    on: 'endpoint',
    facets: ['seriesNames'],
    needsApplication: true,
    async history({ tenantIds, applicationName, endpointIds, facets, since }) {
      const application = { tenantId: tenantIds[0]!, applicationName: applicationName! }
      const points = await replay.points(
        {
          ...application,
          endpointIds: endpointIds && new Set(endpointIds),
          seriesNames: facets.get('seriesNames'),
          isVisible: () => true,
        },
        since,
      )
      if (typeof points === 'string') return points
      return points.map(({ endpointId, seriesName, text }) => eventOf({ ...application, endpointId }, seriesName, text))
    },
  })
  return (rows) => {
    if (!topic.isActive()) return
    for (let row = 0; row < rows.count; row++) {
      const origin = rows.origins[row]!
      if (topic.isWanted(origin)) topic.publish(pointsOf(rows, row, numbers).map((point) => pointEvent(origin, point)))
    }
  }
}

type Origin = { tenantId: string; applicationName: string; endpointId: string }

const pointEvent = (origin: Origin, { seriesName, timestamp, values }: PointContent): LiveEvent =>
  eventOf(origin, seriesName, JSON.stringify({ timestamp, values }))

/** `text` is `{"timestamp": …, "values": …}`. */
const eventOf = ({ tenantId, applicationName, endpointId }: Origin, seriesName: string, text: string): LiveEvent => ({
  tenantId,
  applicationName,
  endpointId,
  facets: { seriesNames: seriesName },
  text: `{"endpointId":${JSON.stringify(endpointId)},"seriesName":${JSON.stringify(seriesName)},${text.slice(1)}`,
})

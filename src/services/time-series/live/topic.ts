/** The topic `series` of live streams: one event for each stored point. */
import type { Live, LiveEvent } from '../../../kernel/live/live.ts'
import { namesOf } from '../numbers/field.ts'
import type { Numbers } from '../numbers/numbers.ts'
import { readScopes } from '../read/visible-series.ts'
import type { SeriesSet } from '../store/numbers.ts'
import type { Rows } from '../write/rows.ts'
import type { Replay } from './replay.ts'

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
      return points.map(({ endpointId, seriesName, text }) => ({
        ...{ ...application, endpointId, facets: { seriesNames: seriesName } },
        text: itemOf(endpointId, seriesName, text),
      }))
    },
  })
  const layoutOf = createLayouts(numbers)
  return (rows) => {
    if (!topic.isActive()) return
    for (let row = 0; row < rows.count; row++) {
      const origin = rows.origins[row]!
      if (topic.isWanted(origin)) topic.publish(eventsOf(rows, row, layoutOf(rows.sets[row]!)))
    }
  }
}

/** The series of a set: for each, the indexes of its values in a row, and the names of the values as JSON. */
type Layout = {
  seriesName: string
  facets: Readonly<Record<string, string>>
  values: [index: number, name: string][]
}[]

/** Returns the layout of a set. Names are parsed once for each set of series, not for each row. */
function createLayouts(numbers: Pick<Numbers, 'fieldsOf'>): (set: SeriesSet) => Layout {
  const layouts = new WeakMap<SeriesSet, Layout>()
  return (set) => {
    const known = layouts.get(set)
    if (known) return known
    const bySeries = new Map<string, Layout[number]>()
    for (const [index, field] of numbers.fieldsOf(set).entries()) {
      const [seriesName, valueName] = namesOf(field)
      const series = bySeries.get(seriesName) ?? { seriesName, facets: { seriesNames: seriesName }, values: [] }
      bySeries.set(seriesName, series)
      series.values.push([index, JSON.stringify(valueName)])
    }
    const layout = [...bySeries.values()]
    layouts.set(set, layout)
    return layout
  }
}

/** Returns one event for each series of a row. The text of an event is built when the event is sent. */
function eventsOf(rows: Rows, row: number, layout: Layout): LiveEvent[] {
  const [time, values, { tenantId, applicationName, endpointId }] = [
    rows.times[row]!,
    rows.values[row]!,
    rows.origins[row]!,
  ]
  return layout.map(({ seriesName, facets, values: names }) => ({
    ...{ tenantId, applicationName, endpointId, facets },
    text() {
      const members = names.map(([index, name]) => `${name}:${JSON.stringify(values[index])}`)
      const text = `{"timestamp":"${new Date(time).toISOString()}","values":{${members.join(',')}}}`
      return itemOf(endpointId, seriesName, text)
    },
  }))
}

/** Returns an item of the topic. `text` is `{"timestamp": …, "values": …}`. */
const itemOf = (endpointId: string, seriesName: string, text: string) =>
  `{"endpointId":${JSON.stringify(endpointId)},"seriesName":${JSON.stringify(seriesName)},${text.slice(1)}`

/** Endpoints on a map, coloured by their connection or another field, or the same endpoints in a table. */
import { useMemo, useState } from 'react'
import { useLocation } from 'wouter'
import { useList } from '../../api/query.ts'
import { Loading } from '../../parts/card.tsx'
import { colourOf } from '../../parts/colours.ts'
import { connectionTexts, isConnectionState } from '../../parts/connection.tsx'
import { Link } from '../../parts/link.tsx'
import { WorldMap } from '../../parts/map.tsx'
import { ErrorNote } from '../../parts/notes.tsx'
import { cut, Text, withoutInvisible } from '../../parts/text.tsx'
import { count } from '../../parts/texts.ts'
import type { MapArea, MapPlace, MapView } from '../../parts/world-map.tsx'
import { useDashboard } from './context.tsx'
import { titleOf, type WidgetOf } from './definition.ts'
import { type Endpoint, type NewestValues, useEndpoints, useNewestValues, valueOfField } from './endpoint-fields.tsx'
import { placeInMetadata, viewOf } from './map-places.ts'
import { WidgetNote } from './widget-notes.tsx'
import { widgetTexts as texts } from './widget-texts.ts'

type Props = { widget: WidgetOf<'map'>; isTable: boolean }

const world: MapArea = { south: -90, west: -180, north: 90, east: 180 }
const clustersMax = 300
/** Maximum number of endpoints whose colours and labels are read. */
const describedMax = 1_000
const coloursMax = 6
const connectionColours = { connected: 'green', disconnected: 'red', never: 'grey' }

export function MapWidget({ widget, isTable }: Props) {
  const { application, filter, label, colourBy = 'connection' } = widget
  const dashboard = useDashboard()
  const applicationName = dashboard.chosen('application', application)
  const isFiltered = filter !== undefined && dashboard.chosen('filter', filter) !== undefined
  const described = useEndpoints({ application, filter, limit: describedMax })
  const { newest } = useNewestValues(described.items, [colourBy, label ?? ''])
  const [area, setArea] = useState<MapArea>()
  // The operation that returns clusters does not support filters. For a widget with a filter, the places are read from the metadata of the
  // endpoints.
  const clusters = useList(
    'endpoints.places.list',
    { ...(area ?? world), limit: clustersMax, ...(applicationName !== undefined && { applicationName }) },
    { enabled: !isFiltered, ...(dashboard.refreshMs !== undefined && { refreshMs: dashboard.refreshMs }) },
  )
  const looks = appearancesOf(described.items, colourBy, label, newest)
  const inMetadata = described.items.flatMap(({ endpointId, metadata }) => {
    const place = placeInMetadata(metadata)
    return place ? [{ ...place, count: 1, id: endpointId, name: endpointId }] : []
  })
  const found: MapPlace[] = isFiltered
    ? inMetadata
    : clusters.items.map(({ endpointId, ...place }) => ({ ...place, id: endpointId }))
  const key = JSON.stringify([found, [...looks.byId]])
  // biome-ignore lint/correctness/useExhaustiveDependencies: `key` stands for the places and their looks
  const places = useMemo(() => found.map((place) => ({ ...place, ...looks.byId.get(place.id ?? '') })), [key])
  const problem = described.problem ?? clusters.problem
  if (problem) return <ErrorNote problem={problem} onRetry={described.problem ? described.reload : clusters.reload} />
  if (clusters.isLoading || described.isLoading) return <Loading label={texts.loading} lines={6} />
  return (
    <>
      {isFiltered && described.hasMore && <WidgetNote tone="warn">{texts.firstOnly(describedMax)}</WidgetNote>}
      {places.length === 0 && area === undefined ? (
        <WidgetNote icon="map">{texts.noPlaces}</WidgetNote>
      ) : isTable ? (
        <PlaceTable title={titleOf(widget)} places={places} />
      ) : (
        <PlaceMap
          title={titleOf(widget)}
          places={places}
          first={described.hasMore || inMetadata.length === 0 ? places : inMetadata}
          onArea={setArea}
        />
      )}
      {!isTable && looks.legend.length > 0 && (
        <ul className="map-legend">
          {looks.legend.map(({ name, colour }) => (
            <li key={name}>
              <span className="map-legend-dot" style={{ background: colour }} aria-hidden="true" />
              <Text value={name} max={30} />
            </li>
          ))}
        </ul>
      )}
    </>
  )
}

interface PlaceMapProps {
  title: string
  places: MapPlace[]
  /** Places that are visible when the map opens. */
  first: MapPlace[]
  onArea(area: MapArea): void
}

function PlaceMap({ title, places, first, onArea }: PlaceMapProps) {
  const [view] = useState<MapView>(() => viewOf(first))
  const [, navigate] = useLocation()
  return (
    <WorldMap
      label={withoutInvisible(cut(title, 80).shown)}
      places={places}
      view={view}
      onView={(_, area) => onArea(area)}
      onOpen={({ id }) => id !== undefined && navigate(`/endpoints/${encodeURIComponent(id)}`)}
    />
  )
}

const PlaceTable = ({ title, places }: { title: string; places: MapPlace[] }) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls needs the keyboard
  <section className="widget-scroll" tabIndex={0} aria-label={withoutInvisible(cut(title, 80).shown)}>
    <table className="plain-table widget-table">
      <thead>
        <tr>
          <th scope="col">{texts.columns.endpointId}</th>
          <th scope="col">{texts.columns.latitude}</th>
          <th scope="col">{texts.columns.longitude}</th>
        </tr>
      </thead>
      <tbody>
        {places.map(({ id, name, latitude, longitude, count: number }) => (
          <tr key={`${latitude} ${longitude} ${id}`}>
            <th scope="row">
              {id === undefined ? (
                texts.cluster(number)
              ) : (
                <Link to={`/endpoints/${encodeURIComponent(id)}`}>
                  <Text value={name ?? id} max={80} />
                </Link>
              )}
            </th>
            <td className="number-cell">{count(latitude)}</td>
            <td className="number-cell">{count(longitude)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  </section>
)

interface Look {
  colour: string
  name?: string
}

/** Returns the colour and name of each endpoint, and the meaning of the colours. */
function appearancesOf(endpoints: Endpoint[], colourBy: string, label: string | undefined, newest: NewestValues) {
  const wordOf = (endpoint: Endpoint) => {
    const value = valueOfField(endpoint, colourBy, newest)
    if (isConnectionState(value)) return { word: connectionTexts[value], colour: colourOf(connectionColours[value]) }
    return { word: value === undefined || value === null ? texts.other : cut(String(value), 60).shown }
  }
  const legend = new Map<string, string>()
  const byId = new Map<string, Look>()
  for (const endpoint of endpoints) {
    const { word, colour } = wordOf(endpoint)
    const isOther = word === texts.other || (legend.size >= coloursMax && !legend.has(word))
    const shown = isOther ? texts.other : word
    const chosen = legend.get(shown) ?? colour ?? (isOther ? colourOf('grey') : colourOf(undefined, legend.size))
    legend.set(shown, chosen)
    const name = label === undefined ? undefined : valueOfField(endpoint, label, newest)
    const hasName = typeof name === 'string' || typeof name === 'number'
    byId.set(endpoint.endpointId, { colour: chosen, ...(hasName && { name: cut(String(name), 120).shown }) })
  }
  return { byId, legend: [...legend].map(([name, colour]) => ({ name, colour })) }
}

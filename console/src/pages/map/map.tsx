/** Endpoints on a map, in clusters that the platform computes, or in a table. */

import { useMemo, useState } from 'react'
import { useLocation } from 'wouter'
import { useApplications } from '../../api/applications.ts'
import type { ItemOf } from '../../api/operation-types.ts'
import { useList } from '../../api/query.ts'
import { type Codec, oneOf, text, useAddressState } from '../../parts/address-state.ts'
import { AsCommand } from '../../parts/as-command.tsx'
import { Button } from '../../parts/button.tsx'
import { Loading } from '../../parts/card.tsx'
import { SelectField } from '../../parts/fields.tsx'
import { FilterBar } from '../../parts/filter-bar.tsx'
import { Link } from '../../parts/link.tsx'
import { WorldMap } from '../../parts/map.tsx'
import { ErrorNote, Note } from '../../parts/notes.tsx'
import { PageHeader } from '../../parts/page-header.tsx'
import { Segments } from '../../parts/segments.tsx'
import { Text } from '../../parts/text.tsx'
import { count } from '../../parts/texts.ts'
import type { MapArea } from '../../parts/world-map.tsx'
import { texts } from './texts.ts'

type Place = ItemOf<'endpoints.places.list'>

/** Reads and writes a number in the address: `lat=48.2`. */
const decimal = (byDefault: number, min: number, max: number): Codec<number> => ({
  default: byDefault,
  read: (value) =>
    /^-?\d{1,3}(\.\d{1,6})?$/.test(value) && Number(value) >= min && Number(value) <= max ? Number(value) : undefined,
  write: String,
})

const world: MapArea = { south: -90, west: -180, north: 90, east: 180 }
const clustersMax = 300
const refreshMs = 15_000

export default function MapPage() {
  const address = useAddressState({
    ...{ lat: decimal(25, -85, 85), lon: decimal(10, -200, 200), zoom: decimal(2, 1, 16) },
    ...{ application: text(), view: oneOf(['map', 'table'], 'map') },
  })
  const { lat, lon, zoom, application, view } = address.values
  const [area, setArea] = useState<MapArea>()
  // Key of the map. When it changes, React creates the map again, and the new map begins at the position in the address.
  const [generation, setGeneration] = useState(0)
  const [, navigate] = useLocation()
  const applications = useApplications()
  const args = {
    ...(area ?? world),
    ...(application !== '' && { applicationName: application }),
    limit: clustersMax,
  }
  const places = useList('endpoints.places.list', args, { refreshMs })
  const shown = useMemo(
    () => places.items.map(({ endpointId, ...place }) => ({ ...place, id: endpointId })),
    [places.items],
  )
  const total = places.items.reduce((sum, place) => sum + place.count, 0)
  const open = (endpointId: string) => navigate(`/endpoints/${encodeURIComponent(endpointId)}`)
  const showWorld = () => {
    setArea(undefined)
    address.set({ lat: 25, lon: 10, zoom: 2 })
    setGeneration((now) => now + 1)
  }
  const zoomTo = ({ latitude, longitude }: Place) => {
    address.set({ lat: round(latitude), lon: round(longitude), zoom: Math.min(16, zoom + 3), view: 'map' })
    setGeneration((now) => now + 1)
  }
  return (
    <>
      <PageHeader
        title={texts.title}
        lead={texts.lead}
        actions={<AsCommand operation="endpoints.places.list" args={args} />}
      />
      <FilterBar address={{ ...address, isChanged: false }}>
        <SelectField
          label={texts.application}
          value={application === '' ? '*' : application}
          onChange={(name) => address.set({ application: name === '*' ? '' : name })}
          options={[
            { value: '*', label: texts.allApplications },
            ...applications.items.map(({ name, displayName }) => ({ value: name, label: displayName ?? name })),
          ]}
          isCompact
        />
        <Segments
          label={texts.view}
          value={view}
          onChange={(view) => address.set({ view })}
          options={[
            { value: 'map', label: texts.asMap },
            { value: 'table', label: texts.asTable },
          ]}
        />
        <Button icon="globe" onPress={showWorld}>
          {texts.showWorld}
        </Button>
        <span className="quiet" role="status">
          {texts.shown(total)}
        </span>
      </FilterBar>
      {places.problem && <ErrorNote problem={places.problem} onRetry={places.reload} />}
      {!places.isLoading && !places.problem && total === 0 && (
        <Note>
          {texts.emptyArea} {texts.emptyHow}
        </Note>
      )}
      {view === 'map' ? (
        <WorldMap
          key={generation}
          label={texts.map}
          places={shown}
          view={{ latitude: lat, longitude: lon, zoom }}
          onView={({ latitude, longitude, zoom }, next) => {
            setArea(next)
            address.set({ lat: latitude, lon: longitude, zoom })
          }}
          onOpen={({ id }) => id !== undefined && open(id)}
        />
      ) : places.isLoading ? (
        <Loading label={texts.loading} />
      ) : (
        <PlaceTable places={places.items} onZoom={zoomTo} />
      )}
    </>
  )
}

const round = (degrees: number) => Number(degrees.toFixed(3))

function PlaceTable({ places, onZoom }: { places: Place[]; onZoom(place: Place): void }) {
  return (
    <div className="scroll-x card">
      <table className="plain-table">
        <thead>
          <tr>
            <th scope="col">{texts.columns.endpoint}</th>
            <th scope="col">{texts.columns.count}</th>
            <th scope="col">{texts.columns.latitude}</th>
            <th scope="col">{texts.columns.longitude}</th>
          </tr>
        </thead>
        <tbody>
          {places.map((place) => (
            <tr key={`${place.latitude} ${place.longitude}`}>
              <th scope="row">
                {place.endpointId === undefined ? (
                  <>
                    {texts.cluster(place.count)}{' '}
                    <Button size="small" look="quiet" onPress={() => onZoom(place)}>
                      {texts.zoom}
                    </Button>
                  </>
                ) : (
                  <Link to={`/endpoints/${encodeURIComponent(place.endpointId)}`}>
                    <Text value={place.name ?? place.endpointId} max={80} />
                  </Link>
                )}
              </th>
              <td>{count(place.count)}</td>
              <td>{count(place.latitude)}</td>
              <td>{count(place.longitude)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

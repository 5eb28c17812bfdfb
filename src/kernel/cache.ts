/**
 * Cache of rows. It is bounded and evicts the least recently used entry. Concurrent reads of a key share one load, and events
 * drop entries. If an entry is dropped during its load, the load is repeated, so that no caller gets an outdated value.
 */
import { LRUCache } from 'lru-cache'
import type { Bus, EventType } from './bus.ts'

export interface Cache<V> {
  /** Returns the value if it is cached. The call counts as a use of the entry. */
  get(key: string): V | undefined
  /** Returns the cached value, or loads it. Failures and `undefined` are not cached, because unknown names must not evict known names. */
  read(key: string, load: () => Promise<V | undefined>): Promise<V | undefined>
  set(key: string, value: V): void
  drop(key: string): void
  /** Returns the values of a group. Requires `groupOf`. */
  ofGroup(group: string): V[]
  /** Drops all entries of a group, or only the entries for which the function returns true. Requires `groupOf`. */
  dropGroup(group: string, matches?: (value: V) => boolean): void
  clear(): void
  /** Drops the entries whose keys an event contains. */
  dropOn<P>(event: EventType<P>, keysOf: (payload: P) => string | readonly string[]): void
  readonly size: number
}

export interface CacheOptions<V> {
  /** Maximum size: a number of bytes if `sizeOf` is given, otherwise a number of entries. */
  max: number
  /** Bytes of a value, without its key. A value larger than an eighth of `max` is returned but not cached. */
  sizeOf?(value: V): number
  /** Group of a value, such as its tenant. The entries of a group can be dropped without visiting other entries. */
  groupOf?(value: V): string
  /** Returns whether a value has expired. An expired value counts as not cached. */
  isExpired?(value: V): boolean
  /** Called with every value that leaves the cache, whatever the reason. */
  onDrop?(value: V): void
  /** Required for `dropOn`. If events may have been lost, the whole cache is cleared. */
  bus?: Pick<Bus, 'subscribe' | 'onReset'>
}

const entryShareMax = 1 / 8
/** Estimated bytes of an entry in addition to its key and value. */
const entryBytes = 200

/** A running load. All callers that read the key until it ends share it. */
interface Load<V> {
  loading: Promise<V | undefined>
  isOutdated: boolean
  /** Groups that were dropped during the load. Only the loaded value shows whether it belongs to one of these groups. */
  dropped: { group: string; matches: ((value: V) => boolean) | undefined }[] | undefined
}

export function createCache<V extends {}>(options: CacheOptions<V>): Cache<V> {
  const { groupOf, isExpired, bus } = options
  const loads = new Map<string, Load<V>>()
  const groups = new Map<string, Set<string>>()
  const entries = createEntries(options, groups)

  function get(key: string): V | undefined {
    const value = entries.get(key)
    if (value === undefined || !isExpired?.(value)) return value
    entries.delete(key)
    return undefined
  }

  function set(key: string, value: V) {
    entries.set(key, value)
    if (!groupOf || !entries.has(key)) return
    const group = groupOf(value)
    const keys = groups.get(group)
    if (keys) keys.add(key)
    else groups.set(group, new Set([key]))
  }

  function startLoad(key: string, load: () => Promise<V | undefined>): Load<V> {
    const current: Load<V> = { loading: load(), isOutdated: false, dropped: undefined }
    const removeLoad = () => {
      if (loads.get(key) === current) loads.delete(key)
    }
    loads.set(key, current)
    current.loading.then((value) => {
      removeLoad()
      if (wasDropped(current, value, groupOf)) current.isOutdated = true
      if (value !== undefined && !current.isOutdated) set(key, value)
    }, removeLoad)
    return current
  }

  function invalidateLoad(key: string) {
    const current = loads.get(key)
    if (!current) return
    current.isOutdated = true
    loads.delete(key)
  }

  async function load(key: string, loadOne: () => Promise<V | undefined>): Promise<V | undefined> {
    for (;;) {
      const current = loads.get(key) ?? startLoad(key, loadOne)
      const value = await current.loading
      if (!current.isOutdated) return value
      const newer = get(key)
      if (newer !== undefined) return newer
    }
  }

  const cache: Cache<V> = {
    get,
    async read(key, loadOne) {
      return get(key) ?? load(key, loadOne)
    },
    set(key, value) {
      invalidateLoad(key)
      set(key, value)
    },
    drop(key) {
      invalidateLoad(key)
      entries.delete(key)
    },
    ofGroup: (group) => [...(groups.get(group) ?? [])].map((key) => entries.peek(key)!),
    dropGroup(group, matches) {
      if (!groupOf) throw new Error('a cache without groupOf has no groups')
      for (const current of loads.values()) {
        current.dropped ??= []
        current.dropped.push({ group, matches })
      }
      for (const key of [...(groups.get(group) ?? [])]) if (!matches || matches(entries.peek(key)!)) entries.delete(key)
    },
    clear() {
      for (const key of [...loads.keys()]) invalidateLoad(key)
      entries.clear()
    },
    dropOn(event, keysOf) {
      if (!bus) throw new Error('a cache without a bus cannot be dropped by events')
      bus.subscribe(event, (payload) => {
        const keys = keysOf(payload)
        if (typeof keys === 'string') cache.drop(keys)
        else for (const key of keys) cache.drop(key)
      })
    },
    get size() {
      return entries.size
    },
  }
  bus?.onReset(cache.clear)
  return cache
}

/**
 * Returns whether the value's group was dropped during its load. If any group was dropped and there is no value, it returns true, because
 * the group is unknown.
 */
const wasDropped = <V>({ dropped }: Load<V>, value: V | undefined, groupOf: ((value: V) => string) | undefined) =>
  dropped !== undefined &&
  (value === undefined ||
    dropped.some(({ group, matches }) => group === groupOf!(value) && (!matches || matches(value))))

function createEntries<V extends {}>(options: CacheOptions<V>, groups: Map<string, Set<string>>): LRUCache<string, V> {
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
  // `maxSize` is set even if entries are counted (each then has the size 1), because with the option `max`, lru-cache would allocate memory
  // for all entries in advance.
  return new LRUCache<string, V>({
    maxSize: max,
    maxEntrySize: sizeOf ? max * entryShareMax : max,
    sizeCalculation: sizeOf ? (value, key) => Math.max(1, sizeOf(value)) + 2 * key.length + entryBytes : () => 1,
    ...((groupOf || onDrop) && { dispose }),
  })
}

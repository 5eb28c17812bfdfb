/**
 * What this process remembers of the database, bounded in bytes; the least recently used goes first. A change drops
 * its key, and a read that began before the drop cannot bring the old value back: only the newest read of a key keeps
 * what it found.
 */
export interface Cache<V> {
  /** Nothing found is not remembered: names that nobody has must not push out the others. */
  read(key: string, load: () => Promise<V | undefined>): Promise<V | undefined>
  drop(key: string): void
  clear(): void
}

/** A value larger than this part of the whole is given, but not kept. */
const largestPart = 1 / 8

export function createCache<V>({ bytesMax, sizeOf }: { bytesMax: number; sizeOf(value: V): number }): Cache<V> {
  const kept = new Map<string, { value: V; size: number }>()
  const loading = new Map<string, Promise<V | undefined>>()
  let bytes = 0

  function forget(key: string) {
    bytes -= kept.get(key)?.size ?? 0
    kept.delete(key)
  }

  function keep(key: string, value: V) {
    const size = sizeOf(value) + 2 * key.length + 200
    if (size > bytesMax * largestPart) return
    kept.set(key, { value, size })
    bytes += size
    // A Map keeps the order of insertion, and every hit inserts anew.
    while (bytes > bytesMax) forget(kept.keys().next().value!)
  }

  async function begin(key: string, load: () => Promise<V | undefined>) {
    const promise = load()
    loading.set(key, promise)
    try {
      const value = await promise
      if (value !== undefined && loading.get(key) === promise) keep(key, value)
      return value
    } finally {
      if (loading.get(key) === promise) loading.delete(key)
    }
  }

  return {
    async read(key, load) {
      const known = kept.get(key)
      if (!known) return loading.get(key) ?? begin(key, load)
      kept.delete(key)
      kept.set(key, known)
      return known.value
    },
    drop(key) {
      loading.delete(key)
      forget(key)
    },
    clear() {
      loading.clear()
      kept.clear()
      bytes = 0
    },
  }
}

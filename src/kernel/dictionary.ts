/**
 * A map with string keys for entries that are added and deleted all the time. When a Map grows, its discarded table still refers to the
 * new one. Once V8 has moved it to the old generation, only a full garbage collection frees it and the deleted entries of later tables.
 * Plain objects have no such tables.
 */
export interface Dictionary<T> {
  readonly size: number
  get(key: string): T | undefined
  has(key: string): boolean
  set(key: string, value: T): void
  /** Returns false if there was no such entry. */
  delete(key: string): boolean
  keys(): string[]
  /** Returns the values in the order in which they were added. Values whose keys are array indexes, such as `7`, come first. */
  values(): T[]
}

export function createDictionary<T>(): Dictionary<T> {
  const entries: Record<string, T> = Object.create(null)
  let size = 0
  const has = (key: string) => key in entries
  return {
    get size() {
      return size
    },
    get: (key) => entries[key],
    has,
    set(key, value) {
      if (!has(key)) size++
      entries[key] = value
    },
    delete(key) {
      if (!has(key)) return false
      delete entries[key]
      size--
      return true
    },
    keys: () => Object.keys(entries),
    values: () => Object.values(entries),
  }
}

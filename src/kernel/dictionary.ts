/**
 * A map with string keys for entries that are added and deleted all the time. When a Map grows, its old table refers to the new table; V8
 * then keeps the entries of later tables in memory until the next full garbage collection. The tables of plain objects do not do this.
 */
export interface Dictionary<T> {
  readonly size: number
  get(key: string): T | undefined
  has(key: string): boolean
  set(key: string, value: T): void
  /** Returns false if there was no such entry. */
  delete(key: string): boolean
  keys(): string[]
  /** Returns the values in the order in which they were added, unless keys are small numbers. */
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

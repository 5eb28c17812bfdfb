/**
 * A collection of running operations: writes, requests, workers. It is an array and not a Set. A Set that changes all the time leaves old
 * hash tables, and V8 keeps the entries of these old tables in memory until the next full garbage collection.
 */
export interface OpenItems<T> extends Iterable<T> {
  readonly size: number
  /** Returns the function that removes the item. */
  add(item: T): () => void
}

export function createOpenItems<T>(): OpenItems<T> {
  const entries: { item: T; index: number }[] = []

  return {
    get size() {
      return entries.length
    },
    add(item) {
      const entry = { item, index: entries.length }
      entries.push(entry)
      return () => {
        if (entries[entry.index] !== entry) return
        const last = entries.pop()!
        if (last === entry) return
        entries[entry.index] = last
        last.index = entry.index
      }
    },
    [Symbol.iterator]: () => entries.map(({ item }) => item)[Symbol.iterator](),
  }
}

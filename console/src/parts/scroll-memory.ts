/** Remembers the first visible row of each table by its address, so that the back button shows the table at the same row. */
import { useEffect, useState } from 'react'

const rowsByTable = new Map<string, number>()
/** Number of tables whose rows are remembered. */
const tablesMax = 50
/** Maximum number of rows that are read again for the back button. A longer list begins at its first row. */
const rowsMax = 5_000

let isByHistory = false
if (typeof addEventListener === 'function') {
  addEventListener('popstate', () => {
    isByHistory = true
  })
  addEventListener('pushState', () => {
    isByHistory = false
  })
}

const keyOf = (label: string) => `${location.pathname}${location.search} ${label}`

function remember(label: string, row: number) {
  const key = keyOf(label)
  rowsByTable.delete(key)
  if (row > 0) rowsByTable.set(key, row)
  const [oldest] = rowsByTable.keys()
  if (rowsByTable.size > tablesMax && oldest !== undefined) rowsByTable.delete(oldest)
}

interface ScrolledTable {
  label: string
  /** Index of the first visible row. */
  first: number
  /** Number of visible rows. */
  visible: number
  /** Number of rows that are loaded. */
  loaded: number
  isLoading: boolean
  hasMore: boolean
  isLoadingMore: boolean
  loadMore(): void
  scrollTo(row: number): void
}

/**
 * After the back or forward button, reads the rows up to the row that was the first visible row, and scrolls to it. It stops when the user
 * scrolls. Returns a function to call when the user scrolls.
 */
export function useScrollMemory({ label, first, visible, loaded, isLoading, ...table }: ScrolledTable): () => void {
  const [wanted, setWanted] = useState(() => {
    const row = isByHistory ? (rowsByTable.get(keyOf(label)) ?? 0) : 0
    return row <= rowsMax ? row : 0
  })
  const { hasMore, isLoadingMore, loadMore, scrollTo } = table
  // biome-ignore lint/correctness/useExhaustiveDependencies: each render creates new functions
  useEffect(() => {
    if (isLoading || loaded === 0) return
    if (wanted === 0) return remember(label, first)
    if (loaded < wanted + visible && hasMore) {
      if (!isLoadingMore) loadMore()
      return
    }
    scrollTo(Math.min(wanted, loaded - 1))
    setWanted(0)
  }, [wanted, first, visible, loaded, isLoading, hasMore, isLoadingMore, label])
  return () => setWanted(0)
}

import type { ReactNode } from 'react'
import type { Problem } from './problem.ts'
import type { Selection } from './selection.ts'

export interface Column<T> {
  /** Identifies the column; `sort` names the column by this id. */
  id: string
  title: string
  cell(row: T): ReactNode
  /** Width as in CSS grid: `minmax(8rem, 2fr)`. Default: `minmax(8.5rem, 1fr)`. */
  width?: string
  isSortable?: boolean
  align?: 'end'
}

/** The part of the result of `useList` that a table needs. */
export interface TableList<T> {
  items: T[]
  total: number | undefined
  isLoading: boolean
  isOld: boolean
  problem: Problem | undefined
  hasMore: boolean
  isLoadingMore: boolean
  loadMore(): void
  reload(): void
  showRange?(first: number, last: number): void
  isReduced?(index: number): boolean
}

export interface DataTableProps<T> {
  label: string
  list: TableList<T>
  columns: Column<T>[]
  rowId(row: T): string
  /** Name of a row for screen readers. Default: its id. */
  rowName?(row: T): string
  /** Opens the page of a row. The first cell of the row is the link. */
  onOpen?(row: T): void
  /** Id of the sorted column, with `-` in front for descending order. */
  sort?: string
  onSort?(sort: string): void
  selection?: Selection
  onSelect?(selection: Selection): void
  /** True if the user can select all matching rows, including rows that are not loaded. Default: true. */
  allowsAll?: boolean
  /** Actions on the selected rows. */
  bulkActions?: ReactNode
  /** Contents that are shown instead of the table if there are no rows. */
  empty: ReactNode
}

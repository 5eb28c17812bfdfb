/** Rows of the data table. */
import { memo, type ReactNode } from 'react'
import { Button } from './button.tsx'
import type { Column, DataTableProps } from './data-table-types.ts'
import { Icon } from './icons.tsx'
import { nothingSelected, type Selection, selectedCount } from './selection.ts'
import { texts } from './texts.ts'

/** Functions of the table. They stay the same objects while the table is shown, so that they do not cause rows to be rendered again. */
export interface RowHandlers {
  select(row: number, isRange: boolean): void
}

/**
 * Returns the tab index of a cell. Tab reaches only the active cell of the grid, and the arrow keys move to the other cells. `active` is
 * the column of the active cell; undefined if the active cell is in another row.
 */
const tabIndexOf = (active: number | undefined, column: number) => (active === column ? 0 : -1)

interface Shared {
  handlers: RowHandlers
  /** Column of the active cell, which is the cell that Tab reaches. Undefined if the active cell is in another row. */
  active: number | undefined
}

export function HeadRow<T>({
  columns,
  sort,
  onSort,
  selection,
  onSelect,
  active,
  ids,
}: DataTableProps<T> & Pick<Shared, 'active'> & { selection: Selection; ids: string[] }) {
  const areAll = selection.kind === 'all' || (ids.length > 0 && ids.every((id) => selection.ids.has(id)))
  return (
    <div role="rowgroup" className="table-head">
      <div role="row" aria-rowindex={1} className="table-row">
        {onSelect && (
          <div role="columnheader" className="table-cell table-check" tabIndex={tabIndexOf(active, 0)}>
            <input
              type="checkbox"
              tabIndex={-1}
              aria-label={texts.selectShown}
              checked={areAll}
              onChange={() => onSelect(areAll ? nothingSelected : { kind: 'some', ids: new Set(ids) })}
            />
          </div>
        )}
        {columns.map((column, index) => (
          <HeadCell
            key={column.id}
            column={column}
            sort={sort}
            onSort={onSort}
            tabIndex={tabIndexOf(active, index + (onSelect ? 1 : 0))}
          />
        ))}
      </div>
    </div>
  )
}

function HeadCell<T>({
  column: { id, title, isSortable, align },
  sort,
  onSort,
  tabIndex,
}: {
  column: Column<T>
  sort: string | undefined
  onSort: ((sort: string) => void) | undefined
  tabIndex: number
}) {
  const direction = sort === id ? 'ascending' : sort === `-${id}` ? 'descending' : undefined
  const canSort = isSortable && onSort
  return (
    <div
      role="columnheader"
      className={`table-cell${align ? ' table-end' : ''}`}
      aria-sort={canSort ? (direction ?? 'none') : undefined}
      tabIndex={tabIndex}
    >
      {canSort ? (
        <button
          type="button"
          tabIndex={-1}
          className="table-sort"
          onClick={() => onSort(direction === 'ascending' ? `-${id}` : id)}
        >
          {title}
          <span className={direction ? 'sort-icon sort-on' : 'sort-icon'}>
            <Icon name={direction === 'descending' ? 'arrowDown' : 'arrowUp'} size={13} />
          </span>
        </button>
      ) : (
        title
      )}
    </div>
  )
}

interface RowProps<T> extends Shared {
  row: T
  /** True while the row has only its identifying fields. Then only the first cell is shown. */
  isReduced: boolean
  /** Name for screen readers. */
  name: string
  index: number
  start: number
  columns: Column<T>[]
  /** True if the row is selected; undefined if rows cannot be selected. */
  isOn: boolean | undefined
  measure(element: Element | null): void
}

function Row<T>({ row, isReduced, name, index, start, measure, columns, isOn, handlers, active }: RowProps<T>) {
  const hasCheck = isOn !== undefined
  return (
    <div
      ref={measure}
      data-index={index}
      role="row"
      aria-rowindex={index + 2}
      aria-selected={isOn}
      className={`table-row${isOn ? ' table-selected' : ''}`}
      style={{ transform: `translateY(${start}px)` }}
    >
      {hasCheck && (
        <div role="gridcell" className="table-cell table-check" tabIndex={tabIndexOf(active, 0)}>
          <input
            type="checkbox"
            tabIndex={-1}
            aria-label={texts.selectRow(name)}
            checked={isOn}
            onChange={(event) => handlers.select(index, (event.nativeEvent as MouseEvent).shiftKey === true)}
          />
        </div>
      )}
      {columns.map((column, columnIndex) => (
        <div
          key={column.id}
          role="gridcell"
          className={`table-cell${column.align ? ' table-end' : ''}`}
          data-title={column.title}
          tabIndex={tabIndexOf(active, columnIndex + (hasCheck ? 1 : 0))}
        >
          {isReduced && columnIndex > 0 ? <span className="text-none">{texts.pending}</span> : column.cell(row)}
        </div>
      ))}
    </div>
  )
}

/** A row that is rendered again only if its properties have changed, so that scrolling renders only new rows. */
export const TableRow = memo(Row) as typeof Row

export function SelectionBar({
  selection,
  loaded,
  total,
  allowsAll,
  onSelect,
  actions,
}: {
  selection: Selection
  loaded: number
  total: number | undefined
  allowsAll: boolean
  onSelect(selection: Selection): void
  actions: ReactNode
}) {
  if (selection.kind === 'some' && selection.ids.size === 0) return null
  const hasUnloaded = total === undefined || total > loaded
  const isReduced = selection.kind === 'some' && selection.isReduced === true && hasUnloaded
  const canSelectAll =
    allowsAll && selection.kind === 'some' && (isReduced || selection.ids.size >= loaded) && hasUnloaded
  return (
    <div className="selection-bar" role="status">
      <strong>
        {selection.kind === 'all' ? texts.allSelected(total) : texts.selected(selectedCount(selection, total))}
      </strong>
      {isReduced && <span>{texts.reducedSelection}</span>}
      {canSelectAll && (
        <Button size="small" look="quiet" onPress={() => onSelect({ kind: 'all' })}>
          {texts.selectAll(total)}
        </Button>
      )}
      <Button size="small" look="quiet" onPress={() => onSelect(nothingSelected)}>
        {texts.clearSelection}
      </Button>
      <span className="selection-actions">{actions}</span>
    </div>
  )
}

/**
 * A table of any length: only the visible rows are in the document. Arrow keys move between cells, Space selects a row, Enter opens it.
 *
 *     <DataTable label="Endpoints" list={list} columns={columns} rowId={(row) => row.endpointId} onOpen={(row) => …} />
 */
import { type KeyboardEvent, type RefObject, useEffect, useRef, useState } from 'react'
import { Loading } from './card.tsx'
import { HeadRow, type RowHandlers, SelectionBar, TableRow } from './data-table-rows.tsx'
import type { DataTableProps, TableList } from './data-table-types.ts'
import { overscan, useVisibleRows } from './data-table-virtual.ts'
import { ErrorNote } from './notes.tsx'
import { useScrollMemory } from './scroll-memory.ts'
import { extend, isSelected, nothingSelected, toggle } from './selection.ts'
import { texts } from './texts.ts'

export function DataTable<T>(props: DataTableProps<T>) {
  const { label, list, columns, rowId, selection = nothingSelected, onSelect } = props
  const scroller = useRef<HTMLDivElement>(null)
  const [active, setActive] = useState({ row: -1, column: 0 })
  const lastToggled = useRef(0)
  const selectNow = useRef<RowHandlers['select']>(undefined)
  const [handlers] = useState<RowHandlers>(() => ({
    select: (row, isRange) => selectNow.current?.(row, isRange),
  }))
  const { items, hasMore } = list
  const rows = useVisibleRows(scroller, items.length, (index) => rowId(items[index]!))
  const visible = rows.getVirtualItems()
  useReading(list, visible[0]?.index ?? 0, visible.at(-1)?.index ?? -1)
  useOneTabStop(scroller)
  const interruptions = usePosition(label, list, rows)

  // A page of the list can be empty although further pages follow, so the table is then still loading. The head is rendered during the
  // loading, so that only rows are left to render.
  const isLoading = list.isLoading || (items.length === 0 && hasMore)
  if (!isLoading && items.length === 0)
    return list.problem ? <ErrorNote problem={list.problem} onRetry={list.reload} /> : props.empty

  const ids = items.map(rowId)
  const columnCount = columns.length + (onSelect ? 1 : 0)
  const select = (row: number, isRange: boolean) => {
    if (!onSelect) return
    onSelect(isRange ? extend(selection, lastToggled.current, row, ids) : toggle(selection, ids[row]!, ids))
    lastToggled.current = row
  }
  const moveTo = (row: number, column: number) => {
    const next = {
      row: Math.max(-1, Math.min(items.length - 1, row)),
      column: Math.max(0, Math.min(columnCount - 1, column)),
    }
    setActive(next)
    if (next.row >= 0) rows.scrollToIndex(next.row)
    focusCell(scroller.current, next)
  }
  selectNow.current = select
  const activeIn = (row: number) => (active.row === row ? active.column : undefined)
  const template = [
    ...(onSelect ? ['2.5rem'] : []),
    ...columns.map(({ width }) => width ?? 'minmax(8.5rem, 1fr)'),
  ].join(' ')
  return (
    <div className="table-frame">
      {onSelect && (
        <SelectionBar
          selection={selection}
          loaded={items.length}
          total={list.total}
          allowsAll={props.allowsAll ?? true}
          onSelect={onSelect}
          actions={props.bulkActions}
        />
      )}
      {list.problem && <ErrorNote problem={list.problem} onRetry={list.reload} />}
      <div ref={scroller} {...interruptions} {...frameOf(list.isOld, isLoading ? loadingHeight : rows.getTotalSize())}>
        <div
          role="grid"
          className="table"
          aria-label={label}
          aria-rowcount={(list.total ?? items.length) + 1}
          aria-colcount={columnCount}
          aria-multiselectable={onSelect ? true : undefined}
          aria-busy={list.isOld || isLoading}
          style={{ ['--columns' as string]: template }}
          onFocus={({ target }) => {
            const cell = cellOf(target)
            if (cell && (cell.row !== active.row || cell.column !== active.column)) setActive(cell)
          }}
          onKeyDown={(event) => handleKey(event, props, { active, moveTo, select }, columnCount)}
        >
          <HeadRow {...props} selection={selection} active={activeIn(-1)} ids={ids} />
          {!isLoading && (
            <div role="rowgroup" className="table-body" style={{ height: rows.getTotalSize() }}>
              {visible.map(({ index, key, start }) => (
                <TableRow
                  key={key}
                  columns={columns}
                  name={(props.rowName ?? rowId)(items[index]!)}
                  isOn={onSelect && isSelected(selection, ids[index]!)}
                  handlers={handlers}
                  active={activeIn(index)}
                  row={items[index]!}
                  isReduced={list.isReduced?.(index) ?? false}
                  index={index}
                  start={start}
                  measure={rows.measureElement}
                />
              ))}
            </div>
          )}
        </div>
        {isLoading && <LoadingRows />}
      </div>
      {!isLoading && <Foot {...list} />}
    </div>
  )
}

const LoadingRows = () => (
  <div className="table-loading">
    <Loading label={texts.loading} lines={8} />
  </div>
)

const Foot = ({ items, total, isLoadingMore }: TableList<unknown>) => (
  <p className="table-foot" role="status">
    {texts.rows(items.length, total)}
    {isLoadingMore && ` · ${texts.loadingMore}`}
  </p>
)

/** Reads the next page before its rows are visible, and reports the visible rows to the list. */
function useReading(
  { items, hasMore, isLoadingMore, loadMore, showRange }: TableList<unknown>,
  first: number,
  last: number,
) {
  useEffect(() => {
    if (hasMore && !isLoadingMore && last >= items.length - 2 * overscan) loadMore()
  }, [hasMore, isLoadingMore, last, items.length, loadMore])
  // biome-ignore lint/correctness/useExhaustiveDependencies: each render creates a new function
  useEffect(() => showRange?.(first, Math.max(first, last)), [first, last, items])
}

/** Restores the position of the table after the back button. Returns handlers of events with which the user scrolls. */
function usePosition(
  label: string,
  { items, isLoading, isOld, hasMore, isLoadingMore, loadMore }: TableList<unknown>,
  rows: ReturnType<typeof useVisibleRows>,
) {
  const { startIndex = 0, endIndex = 0 } = rows.range ?? {}
  const interrupt = useScrollMemory({
    ...{ label, loaded: items.length, isLoading: isLoading || isOld, hasMore, isLoadingMore, loadMore },
    first: startIndex,
    visible: endIndex - startIndex + 1,
    scrollTo: (row) => rows.scrollToIndex(row, { align: 'start' }),
  })
  return { onWheel: interrupt, onPointerDown: interrupt, onKeyDownCapture: interrupt }
}

/** Makes the table one tab stop: Tab enters it once, and the arrow keys move between its cells. */
function useOneTabStop(scroller: RefObject<HTMLDivElement | null>) {
  useEffect(() => {
    for (const control of scroller.current?.querySelectorAll<HTMLElement>('.table-body a, .table-body button') ?? [])
      control.tabIndex = -1
  })
}

/** Returns the attributes of the frame of the table. If all rows fit on the screen, the frame ends with the last row. */
const frameOf = (isOld: boolean, rowsHeight: number) => ({
  className: isOld ? 'table-scroll is-old' : 'table-scroll',
  style: { ['--rows' as string]: `${rowsHeight}px` },
})

/** Returns the cell that contains the focused element. Row −1 is the header. */
function cellOf(focused: Element): { row: number; column: number } | undefined {
  const cell = focused.closest('[role=gridcell], [role=columnheader]')
  const row = cell?.parentElement
  if (!cell || !row) return undefined
  return { row: Number(row.dataset.index ?? -1), column: [...row.children].indexOf(cell) }
}

/** Moves the focus to a cell. The cells of a row that scrolls into view exist only some frames later, so several attempts are made. */
function focusCell(scroller: HTMLElement | null, { row, column }: { row: number; column: number }, attempts = 5) {
  requestAnimationFrame(() => {
    const selector = row < 0 ? '.table-head .table-row' : `.table-row[data-index="${row}"]`
    const cell = scroller?.querySelector(selector)?.children[column] as HTMLElement | undefined
    if (!cell) {
      if (attempts > 0) focusCell(scroller, { row, column }, attempts - 1)
      return
    }
    const control = cell.querySelector<HTMLElement>('a, button, input')
    ;(control ?? cell).focus({ preventScroll: true })
  })
}

/** Height of the grey lines that are shown while the first rows are read. */
const loadingHeight = 360

const pageRows = 12

interface Navigation extends Pick<RowHandlers, 'select'> {
  active: { row: number; column: number }
  moveTo(row: number, column: number): void
}

function handleKey<T>(
  event: KeyboardEvent,
  { onOpen, list }: DataTableProps<T>,
  { active, moveTo, select }: Navigation,
  columnCount: number,
) {
  const { row, column } = active
  const end = list.items.length - 1
  const moves: Record<string, () => void> = {
    ArrowDown: () => moveTo(row + 1, column),
    ArrowUp: () => moveTo(row - 1, column),
    ArrowRight: () => moveTo(row, column + 1),
    ArrowLeft: () => moveTo(row, column - 1),
    PageDown: () => moveTo(row + pageRows, column),
    PageUp: () => moveTo(Math.max(0, row - pageRows), column),
    Home: () => moveTo(event.ctrlKey ? 0 : row, 0),
    End: () => moveTo(event.ctrlKey ? end : row, columnCount - 1),
  }
  const isControl = (event.target as HTMLElement).matches('input, button, a')
  const isButton = (event.target as HTMLElement).matches('button')
  // Space selects the active row even if a checkbox has the focus: after an arrow key, the focus may still be on the previous checkbox.
  if (event.key === ' ' && row >= 0 && !isButton) select(row, event.shiftKey)
  else if (event.key === 'Enter' && row >= 0 && !isControl && onOpen) onOpen(list.items[row]!)
  else if (moves[event.key] && !event.altKey && !event.metaKey) moves[event.key]!()
  else return
  event.preventDefault()
}

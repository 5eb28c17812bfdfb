/** The selected rows of a table: some rows, or all rows that match the conditions, including rows that are not loaded. */
export type Selection = SomeRows | { kind: 'all' }

interface SomeRows {
  kind: 'some'
  ids: ReadonlySet<string>
  /** True if all matching rows were selected, and a change of single rows has reduced the selection to rows that are loaded. */
  isReduced?: boolean
}

export const nothingSelected: Selection = { kind: 'some', ids: new Set() }

export const isSelected = (selection: Selection, id: string) => selection.kind === 'all' || selection.ids.has(id)

/** Returns the number of selected rows. `total` is the number of all matching rows. */
export const selectedCount = (selection: Selection, total: number | undefined) =>
  selection.kind === 'all' ? (total ?? Number.NaN) : selection.ids.size

export function toggle(selection: Selection, id: string, loaded: string[]): Selection {
  const { ids, ...reduced } = selectedOf(selection, loaded)
  if (ids.has(id)) ids.delete(id)
  else ids.add(id)
  return { kind: 'some', ids, ...reduced }
}

/** Adds the rows from one row to another, including both, to the selection, as a click with Shift does in a list of files. */
export function extend(selection: Selection, from: number, to: number, loaded: string[]): Selection {
  const { ids, ...reduced } = selectedOf(selection, loaded)
  for (const id of loaded.slice(Math.min(from, to), Math.max(from, to) + 1)) ids.add(id)
  return { kind: 'some', ids, ...reduced }
}

/** Returns the selected rows that can be changed one by one. The ids of rows that are not loaded are not known. */
function selectedOf(selection: Selection, loaded: string[]): { ids: Set<string>; isReduced?: boolean } {
  if (selection.kind === 'all') return { ids: new Set(loaded), isReduced: true }
  return { ids: new Set(selection.ids), ...(selection.isReduced && { isReduced: true }) }
}

/** The selected rows of a table: some rows, or all rows that match the conditions, including rows that are not loaded. */
export type Selection = { kind: 'some'; ids: ReadonlySet<string> } | { kind: 'all' }

export const nothingSelected: Selection = { kind: 'some', ids: new Set() }

export const isSelected = (selection: Selection, id: string) => selection.kind === 'all' || selection.ids.has(id)

/** Returns the number of selected rows. `total` is the number of all matching rows. */
export const selectedCount = (selection: Selection, total: number | undefined) =>
  selection.kind === 'all' ? (total ?? Number.NaN) : selection.ids.size

export function toggle(selection: Selection, id: string, loaded: string[]): Selection {
  const ids = new Set(selection.kind === 'all' ? loaded : selection.ids)
  if (ids.has(id)) ids.delete(id)
  else ids.add(id)
  return { kind: 'some', ids }
}

/** Adds the rows from one row to another, including both, to the selection, as a click with Shift does in a list of files. */
export function extend(selection: Selection, from: number, to: number, loaded: string[]): Selection {
  const ids = new Set(selection.kind === 'all' ? loaded : selection.ids)
  for (const id of loaded.slice(Math.min(from, to), Math.max(from, to) + 1)) ids.add(id)
  return { kind: 'some', ids }
}

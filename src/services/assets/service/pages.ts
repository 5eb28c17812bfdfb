/** Reads pages of objects that can be large. */
import type { Window } from '../../../kernel/paging.ts'

/** Maximum number of rows in memory at once. An object can have a quarter of a megabyte. */
const rowsPerRead = 100

export interface PageReader<T> {
  rows(window: Window): Promise<T[]>
  ids(window: Window): Promise<string[]>
  byIds(ids: string[]): Promise<T[]>
}

/** Yields the rows of a page. A long page is read in parts, so that only one part is in memory. */
export async function* rowsOfPage<T>(window: Window, { rows, ids, byIds }: PageReader<T>): AsyncGenerator<T> {
  if (window.limit !== null && window.limit <= rowsPerRead) {
    yield* await rows(window)
    return
  }
  yield* rowsOfIds(await ids(window), byIds)
}

/** Yields the rows with these ids, read in parts. */
export async function* rowsOfIds<T>(ids: string[], byIds: PageReader<T>['byIds']): AsyncGenerator<T> {
  for (let at = 0; at < ids.length; at += rowsPerRead) yield* await byIds(ids.slice(at, at + rowsPerRead))
}

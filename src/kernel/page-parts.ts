/** Reads pages of objects that can be large, in parts, so that only one part of a page is in memory. */
import type { Window } from './paging.ts'

/** Default of `rowsPerPart`. It is small, because a row can have a megabyte. */
const rowsPerPartDefault = 100

export interface PageReader<T> {
  /** Maximum number of rows in memory at a time. Default: 100. */
  rowsPerPart?: number
  rows(window: Window): Promise<T[]>
  ids(window: Window): Promise<string[]>
  /** Returns the rows in the order of the ids. A row that was deleted meanwhile is left out. */
  byIds(ids: string[]): Promise<T[]>
}

/** Yields the parts of a page. A short page has one part. */
export async function* partsOfPage<T>(
  window: Window,
  { rowsPerPart = rowsPerPartDefault, rows, ids, byIds }: PageReader<T>,
): AsyncGenerator<T[]> {
  if (window.limit !== null && window.limit <= rowsPerPart) return yield await rows(window)
  yield* partsOfIds(await ids(window), byIds, rowsPerPart)
}

/** Yields the rows of a page. */
export const rowsOfPage = <T>(window: Window, reader: PageReader<T>) => rowsOfParts(partsOfPage(window, reader))

/** Yields the rows with these ids. */
export const rowsOfIds = <T>(ids: string[], byIds: PageReader<T>['byIds']) => rowsOfParts(partsOfIds(ids, byIds))

async function* partsOfIds<T>(
  ids: string[],
  byIds: PageReader<T>['byIds'],
  rowsPerPart = rowsPerPartDefault,
): AsyncGenerator<T[]> {
  for (let at = 0; at < ids.length; at += rowsPerPart) yield await byIds(ids.slice(at, at + rowsPerPart))
}

async function* rowsOfParts<T>(parts: AsyncIterable<T[]>): AsyncGenerator<T> {
  for await (const part of parts) yield* part
}

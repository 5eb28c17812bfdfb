/**
 * Pages of a long list that are far from the visible rows keep only the ids of their items, so that a list of many thousand rows does not
 * fill the memory. They are read again when the user scrolls near them.
 */
interface Listed<T> {
  items: T[]
  /** True if the items have only their ids. */
  isReduced?: boolean
}

/** Number of pages before and after the visible pages that are kept whole. */
const keptBeside = 3
/** Number of pages before and after the visible pages that are read again. */
const readBeside = 1

/** Returns the indexes of the first and the last visible page. */
function visiblePages(pages: Listed<unknown>[], first: number, last: number): [number, number] {
  let [begin, from, to] = [0, 0, 0]
  for (const [index, { items }] of pages.entries()) {
    if (begin <= first) from = index
    if (begin <= last) to = index
    begin += items.length
  }
  return [from, to]
}

/** Reduces the pages that are far from the rows `first` to `last`. Returns the same array if nothing changes. */
export function withoutDistant<T, P extends Listed<T>>(
  pages: P[],
  [first, last]: [number, number],
  reduce: (item: T) => T,
): P[] {
  const [from, to] = visiblePages(pages, first, last)
  const isDistant = (index: number) => index < from - keptBeside || index > to + keptBeside
  if (!pages.some(({ isReduced, items }, index) => !isReduced && items.length > 0 && isDistant(index))) return pages
  return pages.map((page, index) =>
    page.isReduced || !isDistant(index) ? page : { ...page, items: page.items.map(reduce), isReduced: true },
  )
}

/** Returns the indexes of reduced pages that are visible or near the visible pages. */
export function pagesToRead(pages: Listed<unknown>[], [first, last]: [number, number]): number[] {
  const [from, to] = visiblePages(pages, first, last)
  return pages.flatMap(({ isReduced }, index) =>
    isReduced && index >= from - readBeside && index <= to + readBeside ? [index] : [],
  )
}

/** Returns whether the item with this index, counted over all pages, is reduced. */
export function isReducedAt(pages: Listed<unknown>[], index: number): boolean {
  let begin = 0
  for (const { items, isReduced = false } of pages) {
    if (index < begin + items.length) return isReduced
    begin += items.length
  }
  return false
}

/**
 * Returns the items of a page that was read again, without items that the next page already has. If items were deleted meanwhile, the same
 * request also returns items of the next page.
 */
export function withoutNext<T>(items: T[], next: T[], reduce: (item: T) => T): T[] {
  const known = new Set(next.map((item) => JSON.stringify(reduce(item))))
  return known.size === 0 ? items : items.filter((item) => !known.has(JSON.stringify(reduce(item))))
}

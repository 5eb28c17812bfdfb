/** Lists as async iterators, the same over all styles of paging. */
import { WaypostError } from './errors.ts'
import type { Answer, Arguments, List, ListOptions, NotModified, Operation, Page, Paging } from './types.ts'

type Send = (operation: Operation, args: Arguments, options: Record<string, unknown>) => Promise<Answer>

/** The place of a page in its list. */
interface Place {
  position: number | string | undefined
  size: number | undefined
}

const fieldOf = (body: unknown, field: string) =>
  field === '' ? body : (body as Record<string, unknown> | null | undefined)?.[field]

const withPlace = (args: Arguments, { in: where, position, size, style }: Paging, place: Place): Arguments => {
  if (style === 'none') return args
  const values = {
    ...(place.position !== undefined && { [position]: place.position }),
    ...(place.size !== undefined && size !== '' && { [size]: place.size }),
  }
  return where === 'query' ? { ...args, ...values } : { ...args, body: { ...(args.body as object), ...values } }
}

/** Returns the number of all items, from the body or the header `X-Total-Count`. */
function totalOf(paging: Paging, { body, headers }: Answer, items: unknown[]): number | undefined {
  const counted = paging.total === '' ? headers.get('x-total-count') : fieldOf(body, paging.total)
  if (typeof counted === 'number') return counted
  if (typeof counted === 'string' && /^\d+$/.test(counted)) return Number(counted)
  return paging.style === 'none' ? items.length : undefined
}

/** Returns the place after a page; undefined after the last one. */
function placeAfter(
  paging: Paging,
  place: Place,
  count: number,
  total: number | undefined,
  body: unknown,
): Place | undefined {
  const { style, first } = paging
  if (style === 'none') return undefined
  // A page may be empty although others follow: the server stops searching after a while.
  if (style === 'cursor') {
    const next = fieldOf(body, paging.next)
    return typeof next === 'string' && next !== '' ? { position: next, size: place.size } : undefined
  }
  const size = place.size ?? paging.defaultSize
  if (count === 0 || size === 0) return undefined
  const at = Number(place.position ?? first)
  const read = style === 'offset' ? at + count : (at - first) * size + count
  if (total === undefined ? count < size : read >= total) return undefined
  return { position: style === 'offset' ? read : at + 1, size: place.size }
}

export function createList<T>(send: Send, operation: Operation, args: Arguments, options: ListOptions = {}): List<T> {
  const paging = operation.paging!
  const given = (paging.in === 'query' ? args : (args.body ?? {})) as Arguments
  const start: Place = {
    position: given[paging.position] as Place['position'],
    size: given[paging.size] as number | undefined,
  }
  let knownTotal: Promise<number | undefined> | undefined

  async function read(place: Place, more: { ifNoneMatch?: string } = {}) {
    const answer = await send(operation, withPlace(args, paging, place), { ...options, ...more })
    if (answer.status === 304) return { page: answer as NotModified, after: undefined }
    const { body, etag, correlationId } = answer
    const items = fieldOf(body, paging.items)
    if (!Array.isArray(items)) throw unreadable(answer, `The answer to ${operation.name} has no items`)
    const total = totalOf(paging, answer, items)
    knownTotal = Promise.resolve(total)
    const after = placeAfter(paging, place, items.length, total, body)
    if (after !== undefined && after.position === place.position)
      throw unreadable(answer, `${operation.name} returned the position of the same page again`)
    const next = () => (after === undefined ? Promise.resolve(undefined) : readPage(after))
    const page: Page<T> = { status: 200, items, total, etag, correlationId, hasNext: after !== undefined, next }
    return { page, after }
  }

  const unreadable = ({ status, correlationId }: Answer, text: string) =>
    new WaypostError(text, { code: 'unreadable', status, operation: operation.name, correlationId })

  const readPage = async (place: Place) => (await read(place)).page as Page<T>

  async function* pages(): AsyncGenerator<Page<T>, void, undefined> {
    let page: Page<T> | undefined = await readPage(start)
    while (page !== undefined) {
      yield page
      page = await page.next()
    }
  }

  async function* take(count: number): AsyncGenerator<T, void, undefined> {
    let left = count
    const size = start.size ?? paging.defaultSize
    let place: Place | undefined = { ...start, size: size === 0 ? count : Math.min(size, count) }
    while (place !== undefined && left > 0) {
      const { page, after }: { page: Page<T> | NotModified; after: Place | undefined } = await read(place)
      const { items } = page as Page<T>
      yield* items.slice(0, left)
      left -= items.length
      // A page of another size would begin elsewhere, so only offsets end with a smaller one.
      place = after && paging.style === 'offset' ? { ...after, size: Math.min(after.size ?? left, left) } : after
    }
  }

  const countAll = async () => {
    try {
      return (await readPage({ ...start, size: 1 })).total
    } catch (error) {
      knownTotal = undefined
      throw error
    }
  }

  return {
    page: (async (more?: { ifNoneMatch: string }) => (await read(start, more)).page) as List<T>['page'],
    get total() {
      knownTotal ??= countAll()
      return knownTotal
    },
    take,
    pages,
    async *[Symbol.asyncIterator]() {
      for await (const page of pages()) yield* page.items
    },
  }
}

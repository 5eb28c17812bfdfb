/** Lists as async iterators, with the same interface for all styles of paging. */
import { WaypostError } from './errors.ts'
import type { Answer, Arguments, List, ListOptions, NotModified, Operation, Page, Paging } from './types.ts'

type Send = (operation: Operation, args: Arguments, options: Record<string, unknown>) => Promise<Answer>

/** Position and size of a page to read. */
interface PageRequest {
  position: number | string | undefined
  size: number | undefined
}

const fieldOf = (body: unknown, field: string) =>
  field === '' ? body : (body as Record<string, unknown> | null | undefined)?.[field]

const withRequest = (
  args: Arguments,
  { in: where, position, size, style }: Paging,
  request: PageRequest,
): Arguments => {
  if (style === 'none') return args
  const values = {
    ...(request.position !== undefined && { [position]: request.position }),
    ...(request.size !== undefined && size !== '' && { [size]: request.size }),
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

/** Returns the request for the next page, or undefined after the last page. */
function requestAfter(
  paging: Paging,
  request: PageRequest,
  count: number,
  total: number | undefined,
  body: unknown,
): PageRequest | undefined {
  const { style, first } = paging
  if (style === 'none') return undefined
  // A page may be empty although further pages follow, because the server interrupts long searches.
  if (style === 'cursor') {
    const next = fieldOf(body, paging.next)
    return typeof next === 'string' && next !== '' ? { position: next, size: request.size } : undefined
  }
  const size = request.size ?? paging.defaultSize
  if (count === 0 || size === 0) return undefined
  const at = Number(request.position ?? first)
  const read = style === 'offset' ? at + count : (at - first) * size + count
  if (total === undefined ? count < size : read >= total) return undefined
  return { position: style === 'offset' ? read : at + 1, size: request.size }
}

/** Maximum page size: while a list is read, its pages grow to this number of items. */
const largestPage = 1000

const maxSizeOf = ({ maxSize }: Paging) => (maxSize === 0 ? largestPage : Math.min(maxSize, largestPage))

/** Returns the request for the first page of a list of which `count` items are wanted. */
function firstRequest(paging: Paging, { position, size }: PageRequest, count: number): PageRequest {
  // A size of 0 would return all items in one page. The default size is used instead, so that the list is read in parts.
  const usual = size || paging.defaultSize || maxSizeOf(paging)
  return { position, size: Math.min(usual, count) }
}

/**
 * Returns the request for the next page with twice the size: a long list takes few requests, and a caller that stops early has read little
 * more than it used. The size is at most the number of wanted items. A numbered page begins at a multiple of its size, so it only grows if
 * the next item is at such a multiple.
 */
function larger(paging: Paging, request: PageRequest, itemsLeft: number, mayGrow: boolean): PageRequest {
  const { position } = request
  const size = request.size ?? paging.defaultSize
  if (size === 0) return request
  const grown = mayGrow ? Math.max(size, Math.min(size * 2, maxSizeOf(paging))) : size
  if (paging.style !== 'page') return { position, size: Math.min(grown, itemsLeft) }
  const before = (Number(position) - paging.first) * size
  if (grown > itemsLeft || before % grown !== 0) return { position, size: request.size }
  return { position: before / grown + paging.first, size: grown }
}

export function createList<T>(send: Send, operation: Operation, args: Arguments, options: ListOptions = {}): List<T> {
  const paging = operation.paging!
  const parameters = (paging.in === 'query' ? args : (args.body ?? {})) as Arguments
  const start: PageRequest = {
    // With an empty cursor, the server returns the first page and also the cursor of the second page.
    position: (parameters[paging.position] ?? (paging.style === 'cursor' ? '' : undefined)) as PageRequest['position'],
    size: parameters[paging.size] as number | undefined,
  }
  let knownTotal: Promise<number | undefined> | undefined

  async function read(request: PageRequest, more: { ifNoneMatch?: string } = {}) {
    const answer = await send(operation, withRequest(args, paging, request), { ...options, ...more })
    if (answer.status === 304) return { page: answer as NotModified, after: undefined }
    const { body, etag, correlationId } = answer
    const items = fieldOf(body, paging.items)
    if (!Array.isArray(items)) throw unreadable(answer, `The answer to ${operation.name} has no items`)
    const total = totalOf(paging, answer, items)
    knownTotal = Promise.resolve(total)
    const after = requestAfter(paging, request, items.length, total, body)
    if (after !== undefined && after.position === request.position)
      throw unreadable(answer, `${operation.name} returned the position of the same page again`)
    const next = () => (after === undefined ? Promise.resolve(undefined) : readPage(after))
    const page: Page<T> = { status: 200, items, total, etag, correlationId, hasNext: after !== undefined, next }
    return { page, after }
  }

  const unreadable = ({ status, correlationId }: Answer, text: string) =>
    new WaypostError(text, { code: 'unreadable', status, operation: operation.name, correlationId })

  const readPage = async (request: PageRequest) => (await read(request)).page as Page<T>

  async function* pages(): AsyncGenerator<Page<T>, void, undefined> {
    let page: Page<T> | undefined = await readPage(start)
    while (page !== undefined) {
      yield page
      page = await page.next()
    }
  }

  /** Requests a page only when its items are used. Pages grow, unless the caller chose their size. */
  async function* take(count: number): AsyncGenerator<T, void, undefined> {
    let left = count
    let request: PageRequest | undefined = firstRequest(paging, start, count)
    while (request !== undefined && left > 0) {
      const { page, after }: { page: Page<T> | NotModified; after: PageRequest | undefined } = await read(request)
      const { items } = page as Page<T>
      yield* left < items.length ? items.slice(0, left) : items
      left -= items.length
      request = after && larger(paging, after, left, start.size === undefined)
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
    [Symbol.asyncIterator]: () => take(Number.POSITIVE_INFINITY),
  }
}

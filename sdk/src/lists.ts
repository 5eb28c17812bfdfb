/** Lists as async iterators, the same over all styles of paging. */
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

/** Returns the request for the page after this one; undefined after the last page. */
function requestAfter(
  paging: Paging,
  request: PageRequest,
  count: number,
  total: number | undefined,
  body: unknown,
): PageRequest | undefined {
  const { style, first } = paging
  if (style === 'none') return undefined
  // A page may be empty although others follow: the server stops searching after a while.
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

export function createList<T>(send: Send, operation: Operation, args: Arguments, options: ListOptions = {}): List<T> {
  const paging = operation.paging!
  const given = (paging.in === 'query' ? args : (args.body ?? {})) as Arguments
  const start: PageRequest = {
    position: given[paging.position] as PageRequest['position'],
    size: given[paging.size] as number | undefined,
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

  async function* take(count: number): AsyncGenerator<T, void, undefined> {
    let left = count
    const size = start.size ?? paging.defaultSize
    let request: PageRequest | undefined = { ...start, size: size === 0 ? count : Math.min(size, count) }
    while (request !== undefined && left > 0) {
      const { page, after }: { page: Page<T> | NotModified; after: PageRequest | undefined } = await read(request)
      const { items } = page as Page<T>
      yield* items.slice(0, left)
      left -= items.length
      // A page of another size would begin elsewhere, so only offsets end with a smaller one.
      request = after && paging.style === 'offset' ? { ...after, size: Math.min(after.size ?? left, left) } : after
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

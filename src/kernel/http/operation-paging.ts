/** Describes how an operation pages its list, for clients that read all pages in the same way (`x-paging` in the API reference). */
import type { OperationSchema } from '../schema.ts'

export interface Paging {
  /** `none` means that the response has all items. */
  style: 'offset' | 'page' | 'cursor' | 'none'
  /** The part of the request that contains the parameters. */
  in?: 'query' | 'body'
  /** Names of the parameters: the position, and the number of items. */
  parameters?: [position: string, size?: string]
  /** Position of the first page. */
  first?: number
  /** Number of items on a page if the caller does not choose it. */
  size?: number
  /** Maximum number of items on a page; absent if there is no maximum. */
  max?: number
  /** Field of the response with the items; empty if the response itself is the array. */
  items: string
  /** Field of the response with the number of all items. */
  total?: string
  /** Field of the response with the position of the next page. */
  next?: string
}

interface Shape {
  type?: string
  properties?: Record<string, Shape>
  default?: unknown
  minimum?: number
  maximum?: number
  const?: unknown
}

const itemFields = ['content', 'results', 'data', 'items']
const totalFields = ['totalElements', 'count']
const nextField = 'nextCursor'
const pairs: ['offset' | 'page', string, string][] = [
  ['offset', 'offset', 'limit'],
  ['page', 'page', 'size'],
  ['page', 'page', 'pageSize'],
]

const propertiesOf = (shape: unknown) => (shape as Shape | undefined)?.properties ?? {}

/** Derives the paging from the shapes of an operation. Returns undefined if its response is not a list. */
export function pagingOf({ name, query, body, response }: OperationSchema): Paging | undefined {
  const answer = response[200] as Shape | undefined
  const items = itemsOf(answer)
  if (items === undefined) return undefined
  const fields = propertiesOf(answer)
  const totalField = totalFields.find((field) => fields[field]?.type === 'integer')
  const found = { items, ...(totalField !== undefined && { total: totalField }) }
  for (const [where, shapes] of [['query', propertiesOf(query)] as const, ['body', propertiesOf(body)] as const]) {
    if (shapes.cursor && fields[nextField])
      return {
        style: 'cursor',
        in: where,
        parameters: shapes.limit ? ['cursor', 'limit'] : ['cursor'],
        ...sizesOf(shapes.limit),
        ...found,
        next: nextField,
      }
    const pair = pairs.find(([, position, size]) => shapes[position] && shapes[size])
    if (!pair) continue
    const [style, position, size] = pair
    return {
      style,
      in: where,
      parameters: [position, size],
      first: shapes[position]?.minimum ?? 0,
      ...sizesOf(shapes[size]),
      ...found,
    }
  }
  return name.endsWith('.list') ? { style: 'none', ...found } : undefined
}

/** A schema maximum with this value, the largest integer of PostgreSQL, counts as no maximum. */
const noMaximum = 2_147_483_647

function sizesOf({ default: size, maximum = noMaximum }: Shape = {}): Pick<Paging, 'size' | 'max'> {
  return { ...(typeof size === 'number' && { size }), ...(maximum < noMaximum && { max: maximum }) }
}

function itemsOf(answer: Shape | undefined): string | undefined {
  if (answer?.type === 'array') return ''
  const fields = propertiesOf(answer)
  return itemFields.find((field) => fields[field]?.type === 'array')
}

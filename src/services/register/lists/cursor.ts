/** Positions in lists of endpoints, and the cursors by which callers name a position. */
import { invalidField } from '../../../kernel/errors.ts'

/** A position in a list, directly after an endpoint. */
export interface Position {
  /** Number (`seq`) of the endpoint, if the list is in the order of registration. */
  after: number | undefined
  /** Number of endpoints to skip; 0 if `after` is set. */
  offset: number
  /** Number of all matching endpoints, counted for the first page. */
  total: number
}

const version = 1
const orders = ['registration', 'sorted'] as const

export const cursorOf = ({ after, offset, total }: Position): string =>
  textOf(after === undefined ? [version, 'sorted', offset, total] : [version, 'registration', after, total])

export function positionOf(cursor: string, isSorted: boolean): Position {
  const fields = fieldsOf(cursor)
  if (!fields) throw invalidField('cursor', 'expected the nextCursor of a page')
  const [order, at, total] = fields
  if (isSorted !== (order === 'sorted'))
    throw invalidField('cursor', 'belongs to a list in another order; begin without a cursor')
  return isSorted ? { after: undefined, offset: at, total } : { after: at, offset: 0, total }
}

const textOf = (fields: unknown[]) => Buffer.from(JSON.stringify(fields)).toString('base64url')

function fieldsOf(cursor: string): [(typeof orders)[number], number, number] | undefined {
  let fields: unknown
  try {
    fields = JSON.parse(Buffer.from(cursor, 'base64url').toString())
  } catch {
    return undefined
  }
  if (!Array.isArray(fields) || fields.length !== 4 || fields[0] !== version) return undefined
  const [, order, at, total] = fields
  const isValid = orders.includes(order) && [at, total].every((number) => Number.isSafeInteger(number) && number >= 0)
  return isValid ? [order, at, total] : undefined
}

/** Positions in a sorted list, and the cursors by which callers name a position. */
import { invalidField } from '../../../kernel/errors.ts'
import type { Sort } from './query.ts'

/** A position between two endpoints of a sorted list. Endpoints without a value come last, in the order of registration. */
export interface Position {
  /** The value at the position. Undefined for endpoints without a value, and if the list is in the order of registration. */
  value: string | undefined
  seq: number
  /** True if the position is among the endpoints without a value. */
  isRest: boolean
}

/** The position of an endpoint on a page. `row` contains the fields of the endpoint if they were read together with the position. */
export type Placed<Row> = Position & { row?: Row }

const version = 1

/** Returns the cursor for a position. It contains the order of the list, so that it cannot be used with a list in another order. */
export const cursorOf = (sort: Sort, { value, seq, isRest }: Position): string =>
  Buffer.from(JSON.stringify([version, sortName(sort), value ?? null, seq, isRest ? 1 : 0])).toString('base64url')

export function positionOf(cursor: string, sort: Sort): Position {
  const fields = fieldsOf(cursor)
  if (!fields) throw invalidField('cursor', 'expected the nextCursor of a page')
  const [name, value, seq, isRest] = fields
  if (name !== sortName(sort))
    throw invalidField('cursor', 'belongs to a list in another order; begin without a cursor')
  if (!hasValueOf(sort, value, isRest === 1)) throw invalidField('cursor', 'expected the nextCursor of a page')
  return { value: value ?? undefined, seq, isRest: isRest === 1 }
}

const momentPattern = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/

/** Returns whether a position in a list with this order can have this value. */
function hasValueOf({ by }: Sort, value: string | null, isRest: boolean): boolean {
  if (isRest || ('field' in by && by.field === 'createdDate')) return value === null
  if (value === null) return false
  return (
    !('field' in by && by.field === 'lastActivity') || (momentPattern.test(value) && !Number.isNaN(Date.parse(value)))
  )
}

const sortName = ({ by, descending }: Sort) =>
  `${'key' in by ? `metadata.${by.key}` : by.field} ${descending ? 'desc' : 'asc'}`

function fieldsOf(cursor: string): [string, string | null, number, number] | undefined {
  let fields: unknown
  try {
    fields = JSON.parse(Buffer.from(cursor, 'base64url').toString())
  } catch {
    return undefined
  }
  if (!Array.isArray(fields) || fields.length !== 5 || fields[0] !== version) return undefined
  const [, name, value, seq, isRest] = fields
  const isValid =
    typeof name === 'string' &&
    (value === null || (typeof value === 'string' && value.isWellFormed() && !value.includes('\0'))) &&
    Number.isSafeInteger(seq) &&
    seq >= -1 &&
    (isRest === 0 || isRest === 1)
  return isValid ? [name, value, seq, isRest] : undefined
}

/** Orders positions as PostgreSQL does: by the bytes of the values, then by `seq`. Endpoints without a value come last. */
export function comparePositions(one: Position, other: Position, descending: boolean): number {
  if (one.isRest !== other.isRest) return one.isRest ? 1 : -1
  const sign = descending && !one.isRest ? -1 : 1
  if (one.value !== undefined && other.value !== undefined && one.value !== other.value)
    return sign * Buffer.compare(Buffer.from(one.value), Buffer.from(other.value))
  return sign * Math.sign(one.seq - other.seq)
}

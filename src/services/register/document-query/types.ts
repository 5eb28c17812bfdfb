/** The types of `$type`. JSON has only one number type. MongoDB's number types are distinguished by value, as in MongoDB's JSON import. */
import { isObject, type Json, type TypeName } from './query.ts'

/** MongoDB's names and numbers of types that JSON values can have. */
export const typeNames: Record<string, TypeName> = {
  double: 'double',
  1: 'double',
  string: 'string',
  2: 'string',
  object: 'object',
  3: 'object',
  array: 'array',
  4: 'array',
  bool: 'bool',
  8: 'bool',
  null: 'null',
  10: 'null',
  int: 'int',
  16: 'int',
  long: 'long',
  18: 'long',
  number: 'number',
}

/** MongoDB types that no JSON value has. They match nothing. */
export const foreignTypes = new Set<string | number>([
  'binData',
  5,
  'undefined',
  6,
  'objectId',
  7,
  'date',
  9,
  'regex',
  11,
  'dbPointer',
  12,
  'javascript',
  13,
  'symbol',
  14,
  'javascriptWithScope',
  15,
  'timestamp',
  17,
  'decimal',
  19,
  'minKey',
  -1,
  'maxKey',
  127,
])

export const intLimit = 2 ** 31
export const longLimit = 2 ** 63

const isInt = (value: number) => Number.isInteger(value) && value >= -intLimit && value < intLimit
// The value must be strictly above -2^63: the database stores the shortest decimal of a double, and the shortest decimal of -2^63 is
// smaller than -2^63.
const isLong = (value: number) => Number.isInteger(value) && !isInt(value) && value > -longLimit && value < longLimit

export function isOfType(value: Json, type: TypeName): boolean {
  switch (type) {
    case 'string':
      return typeof value === 'string'
    case 'bool':
      return typeof value === 'boolean'
    case 'null':
      return value === null
    case 'array':
      return Array.isArray(value)
    case 'object':
      return isObject(value)
    case 'number':
      return typeof value === 'number'
    case 'int':
      return typeof value === 'number' && isInt(value)
    case 'long':
      return typeof value === 'number' && isLong(value)
    case 'double':
      return typeof value === 'number' && !isInt(value) && !isLong(value)
  }
}

/** Compares the fields of a document with those of an object, in the form in which the platform stores them. */
import { isDeepStrictEqual } from 'node:util'
import type { Fields, Kind } from './kind.ts'

/** Returns the fields that the object has after the document is applied. Fields that the document does not contain keep their values. */
export function fieldsAfter({ defaults = {} }: Pick<Kind, 'defaults'>, declared: Fields, present: Fields): Fields {
  const completed = Object.entries(declared).map(([name, value]) => [
    name,
    withDefault(defaultOf(defaults, name), value),
  ])
  const merged: Fields = { ...present, ...Object.fromEntries(completed) }
  if (isObject(present.valueTypes)) merged.valueTypes = valueTypesAfter(declared.valueTypes, present, merged)
  return withoutNull(merged)
}

export const withoutNull = (fields: Fields): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null))

/** Returns the value that the platform stores: it adds the fields that an object lacks. */
function withDefault(byDefault: unknown, value: unknown): unknown {
  return isObject(byDefault) && isObject(value) ? { ...byDefault, ...withoutNull(value) } : value
}

/**
 * Returns the kinds of the texts of an action: script or literal. The platform chooses the kind of a text that has changed, unless the
 * document contains the kind.
 */
function valueTypesAfter(declared: unknown, present: Fields, merged: Fields): Fields {
  const kept = Object.entries(present.valueTypes as Fields).filter(([name]) => present[name] === merged[name])
  const chosen = Object.entries(isObject(declared) ? withoutNull(declared) : {})
  return Object.fromEntries([...kept, ...chosen].filter(([name]) => (merged[name] ?? null) !== null))
}

/** Returns whether a field has the value that it has after the document is applied. `expected` is undefined for a removed field. */
export function isSame(kind: Pick<Kind, 'defaults' | 'sets'>, field: string, present: unknown, expected: unknown) {
  const { defaults = {}, sets = [] } = kind
  if (expected === undefined) return isEmpty(present) || isDeepStrictEqual(present, defaultOf(defaults, field))
  if (sets.includes(field) && Array.isArray(present) && Array.isArray(expected))
    return isDeepStrictEqual(new Set(present), new Set(expected))
  return isDeepStrictEqual(present, expected)
}

/** The API returns an empty text, list or object for some fields that are not set. */
const isEmpty = (value: unknown) =>
  value === undefined ||
  value === '' ||
  (Array.isArray(value) && value.length === 0) ||
  (isObject(value) && Object.keys(value).length === 0)

const defaultOf = (fields: Fields, name: string) => (Object.hasOwn(fields, name) ? fields[name] : undefined)

const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

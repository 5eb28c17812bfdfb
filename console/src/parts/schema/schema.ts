/**
 * Reads JSON schemas for forms: the control for a schema, the alternative that a value matches, and the initial value. Schemas come from
 * users, so every traversal is limited. Values without a suitable control are edited as text. All functions are pure.
 */

export type Schema = Record<string, unknown>

export type Control =
  | { kind: 'object'; properties: [name: string, schema: unknown][]; required: Set<string>; more: boolean }
  | { kind: 'array'; items: unknown; unique: boolean }
  | { kind: 'string'; format: string | undefined; isLong: boolean; isSecret: boolean }
  | { kind: 'number' }
  | { kind: 'boolean' }
  | { kind: 'enum'; values: unknown[]; labels?: string[] }
  | { kind: 'constant'; value: unknown }
  | { kind: 'choice'; options: unknown[] }
  /** There is no suitable control, so the value is edited as text. */
  | { kind: 'text' }

/** A schema with its references resolved. */
export interface Field {
  control: Control
  schema: Schema
  isNullable: boolean
}

/**
 * Keyword for schemas that the console creates. An optional property with this keyword is shown as a button while it has no value; the
 * button opens its field.
 */
export const collapsed = 'x-console-collapsed'

const hopsMax = 20
const mergesMax = 50
/** Maximum number of values or alternatives in a menu. */
export const optionsMax = 200

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Finds the schema that a reference within the document names. */
function targetOf(root: unknown, reference: string): unknown {
  if (reference !== '#' && !reference.startsWith('#/')) return undefined
  let target = root
  for (const part of reference.split('/').slice(1)) {
    const key = decoded(part).replaceAll('~1', '/').replaceAll('~0', '~')
    if (typeof target !== 'object' || target === null || !Object.hasOwn(target, key)) return undefined
    target = (target as Record<string, unknown>)[key]
  }
  return target
}

function decoded(text: string) {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** Resolves references and merges `allOf`. Returns undefined if a form cannot show the result. */
function resolve(root: unknown, start: unknown, budget: { left: number }): Schema | undefined {
  let schema = start
  for (let hop = 0; isObject(schema) && typeof schema.$ref === 'string'; hop++) {
    if (hop === hopsMax) return undefined
    const { $ref, ...beside } = schema
    const target = targetOf(root, $ref as string)
    if (!isObject(target)) return undefined
    schema = { ...target, ...beside }
  }
  if (!isObject(schema) || schema.$dynamicRef !== undefined || schema.$recursiveRef !== undefined) return undefined
  if (!Array.isArray(schema.allOf)) return schema
  const { allOf, ...joined } = schema
  let result: Schema = joined
  for (const part of allOf as unknown[]) {
    if (budget.left-- <= 0) return undefined
    const resolved = resolve(root, part, budget)
    if (!resolved) return undefined
    result = join(result, resolved)
  }
  return result
}

function join(one: Schema, other: Schema): Schema {
  const both = { ...other, ...one }
  if (isObject(one.properties) && isObject(other.properties))
    both.properties = { ...other.properties, ...one.properties }
  if (Array.isArray(one.required) && Array.isArray(other.required)) both.required = [...other.required, ...one.required]
  return both
}

const hasNull = (schema: unknown) => isObject(schema) && schema.type === 'null'

/** Cache of the fields of schemas, because a form needs them at each key press. */
const fieldsByRoot = new WeakMap<object, WeakMap<object, Field>>()

/** Returns the control for a schema. */
export function fieldOf(root: unknown, part: unknown): Field {
  if (!isObject(root) || !isObject(part)) return readField(root, part, 0)
  const fields = fieldsByRoot.get(root) ?? new WeakMap<object, Field>()
  fieldsByRoot.set(root, fields)
  const field = fields.get(part) ?? readField(root, part, 0)
  fields.set(part, field)
  return field
}

/** Reads a field. `hops` counts nested alternatives, so that the reading ends even if an alternative refers to itself. */
function readField(root: unknown, part: unknown, hops: number): Field {
  const schema = hops > hopsMax ? undefined : resolve(root, part, { left: mergesMax })
  if (!schema) return { control: { kind: 'text' }, schema: isObject(part) ? part : {}, isNullable: false }
  const types = Array.isArray(schema.type) ? schema.type : [schema.type]
  const options = [schema.oneOf, schema.anyOf].find(Array.isArray)
  if (options && schema.properties === undefined) {
    const others = options.filter((option) => !hasNull(option))
    const named = namedValuesOf(others)
    const isNullable = others.length < options.length
    if (!named && others.length === 1) {
      const only = readField(root, { ...schema, oneOf: undefined, anyOf: undefined, allOf: [others[0]] }, hops + 1)
      return { ...only, isNullable: isNullable || only.isNullable }
    }
    const control: Control =
      named ?? (others.length > optionsMax ? { kind: 'text' } : { kind: 'choice', options: others })
    return { control, schema, isNullable }
  }
  const others = types.filter((type) => type !== 'null')
  const isNullable = types.length > others.length || (Array.isArray(schema.enum) && schema.enum.includes(null))
  return { control: controlOf(schema, others), schema, isNullable }
}

/** Returns a menu of named values if all alternatives are constants. */
function namedValuesOf(options: unknown[]): Control | undefined {
  if (options.length === 0 || options.length > optionsMax) return undefined
  const constants = options.filter(isObject).filter((option) => Object.hasOwn(option, 'const'))
  if (constants.length < options.length) return undefined
  const values = constants.map((option) => option.const)
  const labels = constants.map(({ title, const: value }) => (typeof title === 'string' ? title : labelOf(value)))
  return { kind: 'enum', values, labels }
}

function controlOf(schema: Schema, types: unknown[]): Control {
  if (Object.hasOwn(schema, 'const')) return { kind: 'constant', value: schema.const }
  if (Array.isArray(schema.enum)) {
    const values = schema.enum.filter((value) => value !== null)
    return values.length > 0 && values.length <= optionsMax ? { kind: 'enum', values } : { kind: 'text' }
  }
  const [type, ...more] = types
  if (more.length > 0) return { kind: 'text' }
  if (type === 'object' || (type === undefined && isObject(schema.properties))) return objectOf(schema)
  if (type === 'array') {
    const { items } = schema
    const isList = isObject(items) && schema.prefixItems === undefined
    return isList ? { kind: 'array', items, unique: schema.uniqueItems === true } : { kind: 'text' }
  }
  if (type === 'string') {
    const format = typeof schema.format === 'string' ? schema.format : undefined
    const isLong = format === 'textarea' || (typeof schema.maxLength === 'number' && schema.maxLength > 200)
    return { kind: 'string', format, isLong, isSecret: format === 'password' || schema.writeOnly === true }
  }
  if (type === 'number' || type === 'integer') return { kind: 'number' }
  if (type === 'boolean') return { kind: 'boolean' }
  return { kind: 'text' }
}

function objectOf(schema: Schema): Control {
  const properties = isObject(schema.properties) ? Object.entries(schema.properties) : []
  if (properties.length === 0) return { kind: 'text' }
  const required = Array.isArray(schema.required) ? schema.required.filter((name) => typeof name === 'string') : []
  return { kind: 'object', properties, required: new Set(required), more: schema.additionalProperties !== false }
}

/** Returns whether a control can show the value unchanged. Otherwise the value is edited as text, so that nothing is lost. */
export function fits({ control, isNullable }: Field, value: unknown): boolean {
  if (value === undefined || control.kind === 'text') return true
  if (value === null) return isNullable
  switch (control.kind) {
    case 'object':
      return isObject(value)
    case 'array':
      return Array.isArray(value)
    case 'string':
      return typeof value === 'string'
    case 'number':
      // A text that is not a number stays in the field. The platform names the field when it rejects the value.
      return typeof value === 'number' || typeof value === 'string'
    case 'boolean':
      return typeof value === 'boolean'
    default:
      return true
  }
}

/** Maximum depth and number of parts of a new value. Without a maximum, the value for a schema that requires itself would have no end. */
const depthMax = 5
const partsMax = 200

/** Returns an initial value: the default of the schema, or else a value with the required parts. Undefined if no value is useful. */
export function newValueOf(root: unknown, part: unknown, depth = 0, budget = { left: partsMax }): unknown {
  if (depth > depthMax || budget.left-- <= 0) return undefined
  const { control, schema } = fieldOf(root, part)
  if (schema.default !== undefined) return schema.default
  switch (control.kind) {
    case 'constant':
      return control.value
    case 'enum':
      return control.values[0]
    case 'object':
      return Object.fromEntries(
        control.properties.flatMap(([name, property]): [string, unknown][] => {
          if (!control.required.has(name) || budget.left <= 0) return []
          const { control: inner } = fieldOf(root, property)
          // Plain fields stay absent, because users fill them in.
          const isPlain = inner.kind === 'string' || inner.kind === 'number' || inner.kind === 'enum'
          const value = isPlain ? undefined : newValueOf(root, property, depth + 1, budget)
          return value === undefined ? [] : [[name, value]]
        }),
      )
    case 'array':
      return []
    case 'string':
      return ''
    case 'number':
      return typeof schema.minimum === 'number' ? schema.minimum : 0
    case 'boolean':
      return false
    case 'choice':
      return newValueOf(root, control.options[0], depth + 1, budget)
    default:
      return null
  }
}

const typeOf = (value: unknown) => (value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value)

/** Maximum number of properties of an alternative that are compared with a value. */
const comparedMax = 50

/**
 * Returns how well a value matches an alternative: constants count most, then required and known keys. A value that cannot match gets −1.
 */
function scoreOf(root: unknown, option: unknown, value: unknown): number {
  const field = fieldOf(root, option)
  const { control } = field
  if (control.kind === 'constant') return JSON.stringify(control.value) === JSON.stringify(value) ? 100 : -1
  if (control.kind === 'enum') return control.values.includes(value) ? 50 : -1
  if (control.kind === 'text') return 0
  if (!fits(field, value) || (control.kind === 'number' && typeof value === 'string')) return -1
  if (control.kind !== 'object' || !isObject(value)) return 1
  let score = 1
  for (const [name, property] of control.properties.slice(0, comparedMax)) {
    const inner = fieldOf(root, property).control
    const isThere = Object.hasOwn(value, name)
    if (inner.kind === 'constant' && isThere) {
      if (JSON.stringify(inner.value) !== JSON.stringify(value[name])) return -1
      score += 100
    }
    if (isThere) score += 2
    else if (control.required.has(name)) score -= 2
  }
  return score
}

/** Returns the index of the alternative that matches a value best. */
export function optionOf(root: unknown, options: unknown[], value: unknown): number {
  if (value === undefined) return 0
  let best = { index: 0, score: Number.NEGATIVE_INFINITY }
  for (const [index, option] of options.entries()) {
    const score = scoreOf(root, option, value)
    if (score > best.score) best = { index, score }
  }
  return best.index
}

/** Returns the name of an alternative: its title, its constant, or the kind of its values. */
export function optionName(root: unknown, option: unknown, position: number): string {
  const { schema, control } = fieldOf(root, option)
  if (typeof schema.title === 'string' && schema.title !== '') return schema.title
  if (control.kind === 'constant') return labelOf(control.value)
  if (control.kind === 'object')
    for (const [name, property] of control.properties.slice(0, comparedMax)) {
      const inner = fieldOf(root, property).control
      if (inner.kind === 'constant') return `${name}: ${labelOf(inner.value)}`
    }
  return `${position + 1}: ${control.kind === 'enum' ? typeOf(control.values[0]) : control.kind}`
}

export const labelOf = (value: unknown) => (typeof value === 'string' ? value : (JSON.stringify(value) ?? ''))

/** Returns a copy of an object with a new value for a key, in the same order. The value undefined removes the key. */
export function withKey(object: Record<string, unknown>, key: string, value: unknown): Record<string, unknown> {
  if (value === undefined) return Object.fromEntries(Object.entries(object).filter(([name]) => name !== key))
  return { ...object, [key]: value }
}

/** Returns the JSON pointer of a key below a path. */
export const pointer = (path: string, key: string | number) =>
  `${path}/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`

export interface Violation {
  /** JSON pointer to the invalid value, as given in the error of the platform. */
  path: string
  message: string
}

/** Returns a violation with the path of its field: the platform reports a missing property at the object, a form at the field. */
export const atField = ({ path, message }: Violation): Violation => {
  const [, key] = /required property '((?:[^'\\]|\\.)+)'/.exec(message) ?? []
  return { path: key === undefined ? path : pointer(path, key), message }
}

/**
 * The part of TypeBox that Waypost uses, with the same types and JSON schemas. It exists because loading the 370 files of TypeBox took a
 * third of the processor time of every start.
 */
import type { Type as TypeBox } from 'typebox'

type Schema = Record<string, unknown>
type Properties = Record<string, Schema>

/** Name of the property that marks an optional field. The property is not enumerable, as in TypeBox, so it does not appear in the JSON schema. */
const optional = '~optional'

const shapeOf =
  (schema: Schema) =>
  (options: Schema = {}) => ({ ...schema, ...options })

const Optional = (shape: Schema) => Object.defineProperty({ ...shape }, optional, { value: true })

function ObjectShape(properties: Properties, options: Schema = {}) {
  const required = Object.keys(properties).filter((name) => !(optional in properties[name]!))
  return { type: 'object', ...(required.length > 0 && { required }), properties, ...options }
}

const shapes = {
  String: shapeOf({ type: 'string' }),
  Integer: shapeOf({ type: 'integer' }),
  Boolean: shapeOf({ type: 'boolean' }),
  Null: shapeOf({ type: 'null' }),
  Unknown: shapeOf({}),
  Unsafe: shapeOf({}),
  Literal: (value: unknown, options: Schema = {}) => ({ type: typeof value, const: value, ...options }),
  Enum: (values: unknown[], options: Schema = {}) => ({ enum: values, ...options }),
  Array: (items: Schema, options: Schema = {}) => ({ type: 'array', items, ...options }),
  Union: (anyOf: Schema[], options: Schema = {}) => ({ anyOf, ...options }),
  Record: (_: Schema, value: Schema, options: Schema = {}) => ({
    type: 'object',
    patternProperties: { '^.*$': value },
    ...options,
  }),
  Optional,
  Object: ObjectShape,
  Partial: ({ properties }: { properties: Properties }) =>
    ObjectShape(Object.fromEntries(Object.entries(properties).map(([name, shape]) => [name, Optional(shape)]))),
}

export const Type = shapes as unknown as Pick<typeof TypeBox, keyof typeof shapes>

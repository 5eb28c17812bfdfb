/** Builds `components.schemas` of the API reference. A shape with a title is written once, and referenced wherever it is used. */
import { asDeclared, type TSchema } from '../schema.ts'

type Schema = Record<string, unknown>

/**
 * Keywords whose value is a schema. The next two sets are keywords with a list or a map of schemas. Values of other keywords are copied.
 */
const schemaKeywords = new Set([
  'items',
  'additionalProperties',
  'not',
  'if',
  'then',
  'else',
  'contains',
  'propertyNames',
])
const schemaListKeywords = new Set(['anyOf', 'oneOf', 'allOf', 'prefixItems'])
const schemaMapKeywords = new Set(['properties', 'patternProperties', '$defs'])

const titlePattern = /^[A-Z][A-Za-z0-9]*$/

export type Direction = 'request' | 'response'

export function createComponents() {
  const schemas: Record<string, Schema> = {}
  const textsByTitle = new Map<string, string>()
  /** The plain JSON Schema of each shape, as `describe` returns it. It is cached, because most shapes occur in many operations. */
  const descriptions = { request: new WeakMap<Schema, Schema>(), response: new WeakMap<Schema, Schema>() }

  function describeOnce(schema: Schema, direction: Direction): Schema {
    const described = descriptions[direction].get(schema) ?? describe(schema, direction)
    descriptions[direction].set(schema, described)
    return described
  }

  /** Returns a reference to the shape, or the shape itself if it has no title. */
  function refer(shape: TSchema | Schema, direction: Direction): Schema {
    const schema = shape as Schema
    const { title } = schema
    const described = describeOnce(schema, direction)
    if (typeof title !== 'string') return described
    if (!titlePattern.test(title))
      throw new Error(`the title ${title} of a shape does not have the form EndpointFilter`)
    const { description, ...fields } = described
    const text = JSON.stringify(fields)
    if ((textsByTitle.get(title) ?? text) !== text)
      throw new Error(`two different shapes have the title ${title}:\n${textsByTitle.get(title)}\n${text}`)
    textsByTitle.set(title, text)
    const declared = (asDeclared(schema) as Schema).description
    const known = schemas[title] ?? fields
    schemas[title] = known
    if (declared !== undefined) known.description ??= declared
    const hasOwnDescription = description !== undefined && description !== known.description
    return { $ref: `#/components/schemas/${title}`, ...(hasOwnDescription && { description }) }
  }

  /** Returns plain JSON Schema, without the internal properties that TypeBox adds. */
  function describe(schema: Schema, direction: Direction): Schema {
    const inner = (value: unknown) => (isSchema(value) ? refer(value, direction) : value)
    const entries = Object.entries(schema).flatMap(([keyword, value]): [string, unknown][] => {
      if (keyword.startsWith('~') || value === undefined) return []
      if (schemaKeywords.has(keyword)) return [[keyword, inner(value)]]
      if (schemaListKeywords.has(keyword)) return [[keyword, (value as unknown[]).map(inner)]]
      if (schemaMapKeywords.has(keyword))
        return [
          [keyword, Object.fromEntries(Object.entries(value as Schema).map(([name, shape]) => [name, inner(shape)]))],
        ]
      if (keyword !== 'required' || direction === 'response') return [[keyword, value]]
      const required = requiredFields(schema)
      return required.length > 0 ? [[keyword, required]] : []
    })
    return JSON.parse(JSON.stringify(Object.fromEntries(entries))) as Schema
  }

  const sorted = () => Object.fromEntries(Object.entries(schemas).sort(([a], [b]) => (a < b ? -1 : 1)))

  /** Returns the shape that a reference names. */
  const resolve = (schema: Schema): Schema =>
    typeof schema.$ref === 'string' ? schemas[schema.$ref.replace('#/components/schemas/', '')]! : schema

  return { refer, resolve, schemas: sorted }
}

export type Components = ReturnType<typeof createComponents>

const isSchema = (value: unknown): value is Schema => typeof value === 'object' && value !== null

/** Returns the fields that a caller must send. Fields with a default are not among them. */
export function requiredFields(schema: Schema): string[] {
  const { properties = {}, required = [] } = schema as { properties?: Record<string, Schema>; required?: string[] }
  return required.filter((name) => properties[name]?.default === undefined)
}

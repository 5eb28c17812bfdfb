/** Returns the fields of documents: fields that the template declares, and fields that documents contained. */
import type { Ctx } from '../../../kernel/contract.ts'
import type { Field } from '../documents/fields.ts'
import { parseExact, stringifyExact } from '../exact-json.ts'
import { isObject } from '../query/clauses.ts'
import { findFields, findIndices, findTemplate } from '../store/templates.ts'
import { searchTarget } from './access.ts'
import type { Deps } from './deps.ts'
import { statisticsName, statisticsTypes } from './statistics.ts'
import type { Template } from './templates.ts'

export interface MappingOperations {
  /** Returns the mapping as JSON text. */
  get(ctx: Ctx, index: string): Promise<string>
}

type Properties = Record<string, unknown>

const keyword = { type: 'keyword' }
const envelope: Properties = {
  '@timestamp': { type: 'date' },
  tenantId: keyword,
  appName: keyword,
  appVersionName: keyword,
  endpointId: keyword,
}

export function createMappingOperations({ kit, applications }: Deps): MappingOperations {
  const { sql } = kit.db
  return {
    async get(ctx, index) {
      const target = await searchTarget(applications, ctx, index)
      const { tenantId } = ctx
      if ('statistics' in target)
        return stringifyExact({ [`${tenantId}-${statisticsName}`]: { mappings: { properties: statisticsTypes } } })
      const indices = await findIndices(sql, tenantId, target.applications)
      const fields = await findFields(
        sql,
        indices.map(({ indexNo }) => indexNo),
      )
      const byIndex = Map.groupBy(fields, ({ indexNo }) => indexNo)
      const names = target.applications === 'all' ? indices.map((one) => one.applicationName) : target.applications
      const result: Record<string, unknown> = {}
      for (const name of names) {
        const known = indices.find(({ applicationName }) => applicationName === name)
        // If there are several applications, applications without an index are left out, because they never had a template.
        if (!known && names.length > 1) continue
        const row = await findTemplate(sql, tenantId, name)
        const mappings = row ? (parseExact(row.template) as Template).mappings : {}
        const seen = propertiesOf((known && byIndex.get(known.indexNo)) ?? [])
        const properties = merged(seen, isObject(mappings.properties) ? mappings.properties : {})
        result[`${tenantId}-${name}`] = { mappings: { ...mappings, properties } }
      }
      return stringifyExact(result)
    },
  }
}

function typeOf(types: Set<Field['type']>): Properties {
  if (types.has('text') || types.size === 0)
    return { type: 'text', fields: { keyword: { type: 'keyword', ignore_above: 256 } } }
  if (types.size === 1) return { type: [...types][0] }
  const isNumeric = [...types].every((type) => type === 'long' || type === 'double')
  return isNumeric ? { type: 'double' } : typeOf(new Set(['text']))
}

function propertiesOf(fields: Field[]): Properties {
  if (fields.length === 0) return {}
  const properties: Properties = { ...envelope }
  const byPath = Map.groupBy(fields, ({ path }) => path)
  for (const [path, seen] of byPath) {
    if (Object.hasOwn(envelope, path)) continue
    const keys = path.split('.')
    let level = properties
    for (const key of keys.slice(0, -1)) {
      const field = ownObject(level, key) ?? {}
      if (!isObject(field.properties)) field.properties = {}
      define(level, key, field)
      level = field.properties as Properties
    }
    const last = keys.at(-1)!
    if (!ownObject(level, last)) define(level, last, typeOf(new Set(seen.map(({ type }) => type))))
  }
  return properties
}

/** Reads an object of the properties. For the key `__proto__`, a plain read would return the prototype of all objects. */
function ownObject(properties: Properties, key: string): Properties | undefined {
  const value = Object.hasOwn(properties, key) ? properties[key] : undefined
  return isObject(value) ? value : undefined
}

/** Defines a property even if the key of the user's data is `__proto__`. */
const define = (target: Properties, key: string, value: unknown) =>
  Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true })

/** Merges the fields of documents and of the template. The template takes precedence. */
function merged(seen: Properties, declared: Properties): Properties {
  const result: Properties = { ...seen }
  for (const [key, field] of Object.entries(declared)) {
    const other = Object.hasOwn(seen, key) ? seen[key] : undefined
    const isNested = isObject(field) && isObject(other) && isObject(field.properties) && isObject(other.properties)
    define(
      result,
      key,
      isNested
        ? { ...field, properties: merged(other.properties as Properties, field.properties as Properties) }
        : field,
    )
  }
  return result
}

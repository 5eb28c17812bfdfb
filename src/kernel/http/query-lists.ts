/** Accepts lists in queries as axios, jQuery, PHP and Faraday write them: `name[]=a&name[]=b` or `name[0]=a&name[1]=b`. */
import type { TSchema } from '../schema.ts'

const bracketed = /^(.+)\[\d*\]$/

/** Renames parameters with brackets to the declared name. Otherwise they would be ignored as unknown, and a filter would have no effect. */
export function mergeBracketedLists(query: Record<string, unknown>, schema: TSchema) {
  const { properties: declared = {} } = schema as { properties?: object }
  for (const key of Object.keys(query)) {
    const [, name] = bracketed.exec(key) ?? []
    if (name === undefined || !Object.hasOwn(declared, name) || Object.hasOwn(declared, key)) continue
    const values = [query[name] ?? [], query[key]].flat()
    query[name] = values.length === 1 ? values[0] : values
    delete query[key]
  }
}

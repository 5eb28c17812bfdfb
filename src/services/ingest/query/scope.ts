/** The scope of a search: indices, dates, endpoints, and the types of fields. */
import type { FieldType } from '../documents/fields.ts'
import type { DateRange } from '../index-names.ts'

export interface KnownField {
  types: ReadonlySet<FieldType>
  /** True if it may be in a list. */
  listed: boolean
}

export interface Scope {
  tenantId: string
  /** Names of applications by the number of their index. */
  indices: ReadonlyMap<number, string>
  /** Dates of arrival; absent: all. */
  dates?: DateRange | undefined
  /** Indices whose documents the caller may all read. */
  whole: number[]
  /** Indices in which the caller may read only the documents of `endpointIds`. */
  partly: number[]
  endpointIds: string[]
  /** True if documents may have another endpoint or version than their columns, or no `@timestamp`. */
  envelopeChanged: boolean
  fields: ReadonlyMap<string, KnownField>
  /** Fields that the template declares as `keyword`: `match` compares them as a whole. */
  keywords: ReadonlySet<string>
}

/** Returns the field that a caller means: `name.keyword` is the whole text of `name`. */
export const fieldName = ({ fields }: Scope, field: string): string =>
  field.endsWith('.keyword') && !fields.has(field) ? field.slice(0, -'.keyword'.length) : field

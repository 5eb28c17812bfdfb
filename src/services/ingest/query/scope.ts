/** The scope of a search: indices, dates, endpoints, and the types of fields. */
import type { FieldType } from '../documents/fields.ts'
import type { DateRange } from '../index-names.ts'

export interface KnownField {
  types: ReadonlySet<FieldType>
  /** True if the field may be inside a list. */
  listed: boolean
}

export interface Scope {
  tenantId: string
  /** Names of applications by the number of their index. */
  indices: ReadonlyMap<number, string>
  /** Dates of arrival. If absent, all dates. */
  dates?: DateRange | undefined
  /** Indices in which the caller may read all documents. */
  whole: number[]
  /** Indices in which the caller may read only the documents of `endpointIds`. */
  partly: number[]
  endpointIds: string[]
  /** True if the endpoint or version in a document may differ from the columns of its row, or if documents may have no `@timestamp`. */
  envelopeChanged: boolean
  fields: ReadonlyMap<string, KnownField>
  /** Fields that the template declares as `keyword`. `match` compares them as a whole. */
  keywords: ReadonlySet<string>
}

/** Returns the field that a name in a search stands for: `name.keyword` is the whole text of `name`. */
export const fieldName = ({ fields }: Scope, field: string): string =>
  field.endsWith('.keyword') && !fields.has(field) ? field.slice(0, -'.keyword'.length) : field

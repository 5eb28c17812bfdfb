import type { Condition, EndpointQuery } from './query.ts'

/** The names of request fields, for error messages. */
export interface FieldNames {
  conditions: string
  sort: string
  filters: string
}

/** Returns the request field that forces a scan of all endpoints, if any. No index supports negation, patterns or sorting. */
export function scanningField({ regex, conditions, sort }: EndpointQuery, fields: FieldNames): string | undefined {
  if (regex !== undefined) return 'regex'
  const scans = (condition: Condition): boolean =>
    'operator' in condition
      ? condition.operator !== 'IN'
      : ('all' in condition ? condition.all : condition.any).some(scans)
  if (conditions.some(scans)) return fields.conditions
  return sort && fields.sort
}

import type { Condition, EndpointQuery } from './query.ts'

/** What the caller calls the parts of a question, for when something is wrong with them. */
export interface FieldNames {
  conditions: string
  sort: string
}

/** The field that makes the search look at every endpoint, if there is one: no index knows what does not match, or an order. */
export function scanningField({ regex, conditions, sort }: EndpointQuery, fields: FieldNames): string | undefined {
  if (regex !== undefined) return 'regex'
  const scans = (condition: Condition): boolean =>
    'operator' in condition
      ? condition.operator !== 'IN'
      : ('all' in condition ? condition.all : condition.any).some(scans)
  if (conditions.some(scans)) return fields.conditions
  return sort && fields.sort
}

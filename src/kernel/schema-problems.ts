/** Describes violations of schemas in plain words. The validators need the option `verbose` for the descriptions of fields. */
import type { AnySchemaObject, ErrorObject } from 'ajv'

const typeTexts: Record<string, string> = {
  string: 'a string',
  integer: 'an integer',
  number: 'a number',
  boolean: 'true or false',
  object: 'an object',
  array: 'an array',
  null: 'null',
}

/** Returns the description of a field in brackets, because it explains the pattern of the field. */
const descriptionOf = (schema: AnySchemaObject | undefined) => (schema?.description ? ` (${schema.description})` : '')

/**
 * Returns a text such as `expected a string or null`. Returns undefined if an alternative is not a plain type, because the errors of that
 * alternative are more specific.
 */
export function alternatives(schema: AnySchemaObject | undefined): string | undefined {
  const types: unknown[] = (schema?.anyOf ?? schema?.oneOf ?? []).map(({ type }: AnySchemaObject) => typeTexts[type])
  return types.length > 0 && !types.includes(undefined) ? `expected ${types.join(' or ')}` : undefined
}

const dateAndTime = 'expected an ISO 8601 date and time with its zone, such as 2026-01-02T03:04:05Z'

/** Returns what the schema expected instead of the value; undefined if another error of the same value is more specific. */
export function expectation({ keyword, params, parentSchema, message }: ErrorObject): string | undefined {
  switch (keyword) {
    case 'required':
      return 'is required'
    case 'type':
      return `expected ${[params.type]
        .flat()
        .map((type: string) => typeTexts[type] ?? type)
        .join(' or ')}`
    case 'enum':
      return `expected one of ${params.allowedValues.join(', ')}`
    case 'const':
      return `expected ${JSON.stringify(params.allowedValue)}`
    case 'maxLength':
      return `expected at most ${params.limit} characters`
    case 'minLength':
      return params.limit === 1 ? 'must not be empty' : `expected at least ${params.limit} characters`
    case 'maxItems':
      return `expected at most ${params.limit} items`
    case 'minItems':
      return `expected at least ${params.limit} ${params.limit === 1 ? 'item' : 'items'}`
    case 'uniqueItems':
      return 'expected no item twice'
    case 'minProperties':
      return `expected at least ${params.limit} ${params.limit === 1 ? 'key' : 'keys'}`
    case 'minimum':
    case 'maximum':
      return `expected a number ${params.comparison} ${params.limit}`
    case 'pattern':
      if (parentSchema?.format === 'date-time') return dateAndTime
      return `expected text that matches ${params.pattern}${descriptionOf(parentSchema)}`
    case 'format':
      return params.format === 'date-time' ? dateAndTime : `expected a valid ${params.format}`
    case 'additionalProperties':
      return 'is not known here'
    case 'anyOf':
    case 'oneOf':
      return alternatives(parentSchema)
    default:
      return message ?? keyword
  }
}

/** The declaration of an action type. A new type needs a file in this folder and a line in action-types.ts. */
import { invalidField } from '../../../../kernel/errors.ts'
import { type TSchema, Type } from '../../../../kernel/schema.ts'
import type { ActionType } from '../../model.ts'

/**
 * How the text of a literal becomes a value. `text`: unchanged. `object`, `object or array`: parsed; the text must be JSON of this kind.
 * `value`: parsed if it is JSON, otherwise unchanged. `text or array`: parsed if it is a JSON array, otherwise unchanged.
 */
export type LiteralKind = 'text' | 'object' | 'object or array' | 'value' | 'text or array'

/** A field whose text is either a constant or a script (document 5, 5.4). */
export interface Attribute {
  description: string
  literal: LiteralKind
  required?: boolean
  /** Returns the problem with the value of a literal, or undefined if the value is valid. */
  problem?(value: unknown): string | undefined
}

export interface ActionTypeDefinition {
  type: ActionType
  /** Name in the API reference: `WebhookAction`. */
  title: string
  /** Describes actions of this type, for the API reference. */
  description: string
  attributes: Readonly<Record<string, Attribute>>
  /** Further fields. Their values are always constants. */
  fields: Readonly<Record<string, TSchema>>
  /** Scopes that the writer of the action needs on the tenant, because the action acts on the writer's behalf (document 5, 5.14). */
  needs: readonly string[]
  /** Checks conditions on several fields, and returns the fields with defaults. */
  complete?(fields: Record<string, unknown>): Record<string, unknown>
  example: Record<string, unknown>
}

export const attributeLength = 65_536

export const attributeSchema = ({ description, required }: Attribute): TSchema => {
  const text = `${description} A text that parses as a JavaScript function body with a \`return\` of its own is a script.`
  const shape = Type.String({ minLength: 1, maxLength: attributeLength, description: text })
  return required ? shape : Type.Optional(shape)
}

/** Parses a literal. Returns undefined if it is not of the kind that the attribute needs. */
export function literalValue(kind: LiteralKind, text: string): { value: unknown } | undefined {
  if (kind === 'text') return { value: text }
  const parsed = parseJson(text)
  const value = parsed?.value
  if (kind === 'value') return parsed ?? { value: text }
  if (kind === 'text or array') return Array.isArray(value) ? parsed : { value: text }
  if (typeof value !== 'object' || value === null) return undefined
  return kind === 'object' && Array.isArray(value) ? undefined : parsed
}

function parseJson(text: string): { value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) }
  } catch {
    return undefined
  }
}

const presentFields = (fields: Record<string, unknown>, names: string[]) =>
  names.filter((name) => fields[name] !== undefined)

/** Throws a 400 unless exactly one of the fields is given. */
export function requireOne(fields: Record<string, unknown>, ...names: string[]) {
  const count = presentFields(fields, names).length
  if (count !== 1) throw invalidField(names[0]!, `expected exactly one of ${names.join(' and ')}, got ${count}`)
}

/** Throws a 400 if more than one of the fields is given. */
export function allowOne(fields: Record<string, unknown>, ...names: string[]) {
  if (presentFields(fields, names).length > 1)
    throw invalidField(names[0]!, `expected at most one of ${names.join(' and ')}`)
}

/** The attribute that selects the endpoints of an action. */
export const endpointIdsExpression: Attribute = {
  description:
    'The endpoints to act on: an id, or an array of ids or of endpoints, at most 1,000. If absent: the endpoint of the run.',
  literal: 'text or array',
}

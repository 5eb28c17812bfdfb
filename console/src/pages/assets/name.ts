import { parseJson } from '../../parts/json-field.tsx'

/** Returns the field `name` of the definition, or the id if the definition has no name. */
export function nameOf({ id, definition }: { id: string; definition: string }): string {
  const { value } = parseJson(definition)
  const name = typeof value === 'object' && value !== null ? (value as { name?: unknown }).name : undefined
  return typeof name === 'string' && name !== '' ? name : id
}

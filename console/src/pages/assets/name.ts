import { parseJson } from '../../parts/json-field.tsx'

/** The field `name` of the definition, or the id of an asset without one. */
export function nameOf({ id, definition }: { id: string; definition: string }): string {
  const { value } = parseJson(definition)
  const name = typeof value === 'object' && value !== null ? (value as { name?: unknown }).name : undefined
  return typeof name === 'string' && name !== '' ? name : id
}

import { parseJson } from '../../parts/json-field.tsx'

/** Returns the name of an asset: the field `name` of its definition, or its id if the definition has no such field. */
export function nameOf({ id, definition }: { id: string; definition: string }): string {
  const { value } = parseJson(definition)
  const name = typeof value === 'object' && value !== null ? (value as { name?: unknown }).name : undefined
  return typeof name === 'string' && name !== '' ? name : id
}

/** Computes digests of JSON values. Two values are equal if and only if their digests are equal; the order of keys does not matter. */
import { createHash } from 'node:crypto'

export const digestOf = (value: unknown): string => createHash('sha256').update(canonical(value)).digest('base64url')

function canonical(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  const object = value as Record<string, unknown>
  return `{${Object.keys(object)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${canonical(object[key])}`)
    .join(',')}}`
}

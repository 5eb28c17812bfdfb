/**
 * Schemas that several extensions share. A field with the value null counts as missing, because many clients send missing fields that way.
 */
import { invalidField } from './errors.ts'
import { Type } from './schema.ts'

export const optional = {
  text: (maxLength: number) => Type.Optional(Type.Unsafe<string | null>({ type: ['string', 'null'], maxLength })),
  flag: () => Type.Optional(Type.Unsafe<boolean | null>({ type: ['boolean', 'null'] })),
  integer: (minimum: number, maximum: number) =>
    Type.Optional(Type.Unsafe<number | null>({ type: ['integer', 'null'], minimum, maximum })),
}

export const reasonPhrase = () => optional.text(4096)

const namePattern = /^[a-zA-Z0-9_-]{1,255}$/

/** Checks a name or type in a path. */
export function checkName(field: string, name: string): string {
  if (!namePattern.test(name)) throw invalidField(field, 'expected up to 255 letters, digits, _ and -')
  return name
}

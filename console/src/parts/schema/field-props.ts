/** Properties that all fields of a schema form have, and their texts. */
import { cut, withoutInvisible } from '../text.tsx'
import { labelOf, type Schema, type Violation } from './schema.ts'
import { schemaTexts as texts } from './schema-texts.ts'

export interface FieldProps {
  /** The whole schema, for references. */
  root: unknown
  schema: unknown
  /** The value that the field shows; undefined if the JSON document does not contain the value. */
  value: unknown
  /** Called with the new value; undefined removes the value from the document. */
  onChange(value: unknown): void
  /** JSON pointer to the value. Violations that the platform reports have the same pointers. */
  path: string
  /** Property name of the value; undefined for the whole document and for an item of a list. */
  name?: string | undefined
  label: string
  isRequired: boolean
  violations: Violation[]
  depth: number
  /** True if the surrounding field already shows the name of the object, so that the fields of the object need no heading. */
  isInline?: boolean
}

export const shownLabel = (text: string, max = 80) => withoutInvisible(cut(text, max).shown)

/** Returns a text about a schema: its description, limits and default. */
export function notesOf(schema: Schema): string {
  const { description, format, pattern, minimum, maximum, minLength, maxLength } = schema
  const range = (min: unknown, max: unknown, written: (value: number) => string) => {
    const low = typeof min === 'number' ? written(min) : undefined
    const high = typeof max === 'number' ? written(max) : undefined
    if (low !== undefined && high !== undefined) return texts.between(low, high)
    return low !== undefined ? texts.atLeast(low) : high !== undefined ? texts.atMost(high) : ''
  }
  return [
    typeof description === 'string' ? shownLabel(description, 300) : '',
    range(minimum, maximum, String),
    range(minLength, maxLength, texts.characters),
    typeof format === 'string' && format !== 'textarea' ? texts.format(shownLabel(format, 40)) : '',
    typeof pattern === 'string' ? texts.pattern(shownLabel(pattern, 100)) : '',
    schema.default !== undefined ? texts.defaultValue(shownLabel(labelOf(schema.default), 60)) : '',
  ]
    .filter((note) => note !== '')
    .join(' ')
}

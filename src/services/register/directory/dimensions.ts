import { invalidField } from '../../../kernel/errors.ts'
import { checkKey } from '../metadata/metadata.ts'
import type { Dimension } from './query.ts'

const dimensionsMax = 5
const dimensionFields = ['application', 'version', 'connection'] as const

/** Parses the dimensions to count by. Throws a 400 for too many dimensions, or for a key that no endpoint can have. */
export function dimensionsOf(by: Iterable<string> | undefined): Dimension[] {
  const names = [...new Set(by ?? [])]
  if (names.length > dimensionsMax) throw invalidField('by', `expected at most ${dimensionsMax} keys`)
  return names.map((name): Dimension => {
    const field = dimensionFields.find((one) => one === name)
    if (field) return { field }
    checkKey(name, 'by')
    return { field: 'metadata', key: name }
  })
}

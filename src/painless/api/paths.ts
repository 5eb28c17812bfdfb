import { getEntry, hasKey } from '../collections.ts'
import { illegalArgument } from '../errors.ts'
import { step } from '../meter.ts'
import { javaClassOf } from '../values.ts'

/** Checks a path such as `a.0.b` and splits it. */
function splitPath(path: string): string[] {
  if (path === '') throw illegalArgument('Missing path')
  const parts = path.split('.')
  if (parts.at(-1) === '') throw illegalArgument(`The path [${path}] ends with a dot`)
  const empty = parts.indexOf('')
  if (empty >= 0) throw illegalArgument(`Part [${empty}] of the path [${path}] is empty`)
  return parts
}

/** Returns the value at a path through maps and lists. A missing value is an error, unless there is a default. */
export function getByPath(target: unknown, path: string, fallback: (() => unknown) | undefined): unknown {
  let current: unknown = target
  for (const [index, part] of splitPath(path).entries()) {
    step()
    const next = childAt(current, part, path, index)
    if (next === undefined) {
      if (fallback) return fallback()
      throw illegalArgument(`There is no value at the path [${path}]`)
    }
    current = next
  }
  return current
}

function childAt(current: unknown, part: string, path: string, index: number): unknown {
  if (current instanceof Map) return hasKey(current, part) ? getEntry(current, part) : undefined
  if (!Array.isArray(current))
    throw illegalArgument(
      `Part [${index}] of the path [${path}], [${part}], leads into a ${javaClassOf(current)}, which has no members`,
    )
  if (!/^\d{1,9}$/.test(part))
    throw illegalArgument(`Part [${index}] of the path [${path}], [${part}], is not an index of a list`)
  return current[Number(part)]
}

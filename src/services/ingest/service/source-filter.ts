/** Returns the parts of a document that a search requests. */
import { invalid, isObject } from '../query/clauses.ts'
import type { SourceFilter } from '../query/request.ts'

type Matcher = (path: string) => boolean

/**
 * Returns a function that matches whole paths with a pattern such as `a.*`. The time is proportional to the length of the path; a regular
 * expression with many `.*` could take hours, and would block the thread.
 */
function matcherOf(pattern: string): Matcher {
  const [start = '', ...parts] = pattern.split(/\*+/)
  const end = parts.pop()
  if (end === undefined) return (path) => path === start
  return (path) => {
    if (!path.startsWith(start) || !path.endsWith(end)) return false
    const endAt = path.length - end.length
    let at = start.length
    for (const part of parts) {
      const found = path.indexOf(part, at)
      if (found < 0) return false
      at = found + part.length
    }
    return at <= endAt
  }
}

type Chosen = 'all' | 'none' | 'parts'

/** Maximum length of a path that is compared with patterns. A field with a longer path is returned if its object is returned. */
const pathLengthMax = 2048
/** Maximum number of characters that are compared for one document. Comparing them blocks the thread for about 50 ms. */
const comparedMax = 50_000_000

export function createSourceFilter({ includes, excludes }: SourceFilter): (document: unknown) => unknown {
  const included = includes.map((text) => ({ isWhole: matcherOf(text), text }))
  const excluded = excludes.map(matcherOf)

  const patterns = included.length + excluded.length
  let compared = 0

  /** Returns whether the search requests the whole value at a path, parts of it, or nothing. A wildcard may match below any path. */
  function choose(path: string): Chosen {
    compared += path.length * patterns
    if (compared > comparedMax) throw invalid('_source: too many patterns for a document of this size; use fewer')
    if (excluded.some((isExcluded) => isExcluded(path))) return 'none'
    if (included.length === 0) return 'parts'
    if (included.some(({ isWhole }) => isWhole(path))) return 'all'
    const mayBeBelow = included.some(({ text }) => text.includes('*') || text.startsWith(`${path}.`))
    return mayBeBelow ? 'parts' : 'none'
  }

  function filter(value: unknown, path: string, isIncluded: boolean): unknown {
    if (Array.isArray(value)) {
      const items = value.map((item) => filter(item, path, isIncluded)).filter((item) => item !== undefined)
      return items.length === 0 && value.length > 0 ? undefined : items
    }
    if (!isObject(value) || path.length > pathLengthMax) return isIncluded ? value : undefined
    const entries = Object.entries(value).flatMap(([key, inner]): [string, unknown][] => {
      const innerPath = path === '' ? key : `${path}.${key}`
      const chosen = innerPath.length > pathLengthMax ? 'parts' : choose(innerPath)
      if (chosen === 'none' && (!isIncluded || excluded.some((isExcluded) => isExcluded(innerPath)))) return []
      const kept = filter(inner, innerPath, isIncluded || chosen === 'all')
      return kept === undefined ? [] : [[key, kept]]
    })
    if (entries.length === 0 && !isIncluded && path !== '') return undefined
    return Object.fromEntries(entries)
  }

  return (document) => {
    compared = 0
    return filter(document, '', included.length === 0)
  }
}

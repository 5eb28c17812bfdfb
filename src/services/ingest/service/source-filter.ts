/** Returns the parts of a document that a search requests. */
import { isObject } from '../query/clauses.ts'
import type { SourceFilter } from '../query/request.ts'

/** Converts `a.*` to a regular expression that matches paths. */
const patternOf = (text: string) =>
  new RegExp(`^${text.replaceAll(/[\\^$.|?+()[\]{}]/g, '\\$&').replaceAll(/\*+/g, '.*')}$`, 's')

type Chosen = 'all' | 'none' | 'parts'

export function createSourceFilter({ includes, excludes }: SourceFilter): (document: unknown) => unknown {
  const included = includes.map((text) => ({ whole: patternOf(text), text }))
  const excluded = excludes.map(patternOf)

  /** Returns whether the search requests the whole value at a path, parts of it, or nothing. A wildcard may match below any path. */
  function choose(path: string): Chosen {
    if (excluded.some((pattern) => pattern.test(path))) return 'none'
    if (included.length === 0) return 'parts'
    if (included.some(({ whole }) => whole.test(path))) return 'all'
    const mayBeBelow = included.some(({ text }) => text.includes('*') || text.startsWith(`${path}.`))
    return mayBeBelow ? 'parts' : 'none'
  }

  function filter(value: unknown, path: string, isIncluded: boolean): unknown {
    if (Array.isArray(value)) {
      const items = value.map((item) => filter(item, path, isIncluded)).filter((item) => item !== undefined)
      return items.length === 0 && value.length > 0 ? undefined : items
    }
    if (!isObject(value)) return isIncluded ? value : undefined
    const entries = Object.entries(value).flatMap(([key, inner]): [string, unknown][] => {
      const innerPath = path === '' ? key : `${path}.${key}`
      const chosen = choose(innerPath)
      if (chosen === 'none' && (!isIncluded || excluded.some((pattern) => pattern.test(innerPath)))) return []
      const kept = filter(inner, innerPath, isIncluded || chosen === 'all')
      return kept === undefined ? [] : [[key, kept]]
    })
    if (entries.length === 0 && !isIncluded && path !== '') return undefined
    return Object.fromEntries(entries)
  }

  return (document) => filter(document, '', included.length === 0)
}

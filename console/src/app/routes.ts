/** Finds the page of a path, and the pages that a caller may open. */
import { type Me, maySomewhere } from '../api/me.ts'
import { type PageEntry, pages } from '../pages/registry.ts'

const isParameter = (segment: string) => segment.startsWith(':')

/** Returns the parameters if the path matches the pattern. Segments are decoded. */
export function matchPath(pattern: string, path: string): Record<string, string> | undefined {
  const patternSegments = pattern.split('/').filter(Boolean)
  const segments = path.split('/').filter(Boolean)
  if (patternSegments.length !== segments.length) return undefined
  const params: Record<string, string> = {}
  for (const [index, segment] of patternSegments.entries()) {
    const value = decode(segments[index]!)
    if (isParameter(segment)) params[segment.slice(1)] = value
    else if (segment !== value) return undefined
  }
  return params
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}

/** Patterns without parameters come first: `/endpoints/new` is not an endpoint. */
const byExactness = pages.toSorted(
  (a, b) => a.path.split('/').filter(isParameter).length - b.path.split('/').filter(isParameter).length,
)

export function findPage(path: string): { page: PageEntry; params: Record<string, string> } | undefined {
  for (const page of byExactness) {
    const params = matchPath(page.path, path)
    if (params) return { page, params }
  }
  return undefined
}

export const mayOpen = (me: Me | undefined, tenant: string, { scope, realm }: PageEntry) =>
  (realm === undefined || realm === tenant) &&
  (scope === undefined || [scope].flat().some((one) => maySomewhere(me, one)))

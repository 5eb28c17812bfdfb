/** Finds the page of a path, and returns whether a caller may open it. */
import { type Me, maySomewhere } from '../api/me.ts'
import { type PageEntry, pages } from '../pages/registry.ts'
import { grouped } from '../parts/group.ts'

const isParameter = (segment: string) => segment.startsWith(':')
const segmentsOf = (path: string) => path.split('/').filter(Boolean)

/** Returns the parameters if the segments of a path match the pattern. Path and pattern have the same number of segments. */
function match(patternSegments: string[], segments: string[]): Record<string, string> | undefined {
  const params: Record<string, string> = {}
  for (const [index, segment] of patternSegments.entries()) {
    const value = segments[index]!
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

/**
 * Patterns by their number of segments. Patterns with fewer parameters come first, so that `/endpoints/new` is not matched as the page of
 * an endpoint. The patterns are split into segments once, because `findPage` runs for every link that is shown.
 */
const byLength = grouped(
  pages
    .map((page) => ({ page, segments: segmentsOf(page.path) }))
    .toSorted((a, b) => a.segments.filter(isParameter).length - b.segments.filter(isParameter).length),
  ({ segments }) => String(segments.length),
)

/** Finds the page of a path, with its parameters decoded. */
export function findPage(path: string): { page: PageEntry; params: Record<string, string> } | undefined {
  const pathSegments = segmentsOf(path).map(decode)
  for (const { page, segments } of byLength.get(String(pathSegments.length)) ?? []) {
    const params = match(segments, pathSegments)
    if (params) return { page, params }
  }
  return undefined
}

export const mayOpen = (me: Me | undefined, tenant: string, { scope, realm }: PageEntry) =>
  (realm === undefined || realm === tenant) &&
  (scope === undefined || [scope].flat().some((one) => maySomewhere(me, one)))

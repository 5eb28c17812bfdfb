/** Finds the page of a path, and returns whether a caller may open it. */
import { type Me, maySomewhere } from '../api/me.ts'
import { consolePath } from '../api/platform.ts'
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

/** Returns whether the parameter that the page needs as a number is one. Otherwise, there is no page at the path. */
const hasNumber = ({ number }: PageEntry, params: Record<string, string>) =>
  number === undefined || /^\d{1,15}$/.test(params[number] ?? '')

/**
 * Returns the path of the address below the tenant, with its escapes. The path of the router is decoded in part, so it does not show
 * whether the address contained `%25` or a broken escape.
 */
export function pathOfAddress(): string {
  const segments = segmentsOf(location.pathname.slice(consolePath.length))
  return `/${segments.slice(1).join('/')}`
}

/** Returns whether all escapes of a path can be decoded. */
export function isReadable(path: string): boolean {
  try {
    decodeURIComponent(path)
    return true
  } catch {
    return false
  }
}

/** Finds the page of a path, with its parameters decoded. */
export function findPage(path: string): { page: PageEntry; params: Record<string, string> } | undefined {
  const pathSegments = segmentsOf(path).map(decode)
  for (const { page, segments } of byLength.get(String(pathSegments.length)) ?? []) {
    const params = match(segments, pathSegments)
    if (params && hasNumber(page, params)) return { page, params }
  }
  return undefined
}

export const mayOpen = (me: Me | undefined, tenant: string, { scope, realm }: PageEntry) =>
  (realm === undefined || realm === tenant) &&
  (scope === undefined || [scope].flat().some((one) => maySomewhere(me, one)))

/** Parameters of a search, and how a time span is split for counting. */

/** The endpoints of the tenant that the caller may read. */
export type Visibility = 'all' | { applicationNames: string[]; endpointIds: string[] }

/** Time span in milliseconds since 1970: includes `from`, excludes `to`. */
export interface Span {
  from: number
  to: number
}

export interface TrafficQuery {
  tenantId: string
  visibility: Visibility
  endpointIds?: string[] | undefined
  versionName?: string | undefined
  extension?: string | undefined
  payload?: string | undefined
  resourcePath?: string | undefined
  requestId?: number | undefined
  span: Span
  descending: boolean
  offset: number
  limit: number
}

/** Span that contains every record. */
export const allTime: Span = { from: 0, to: Date.UTC(9999, 11, 31) }

/** Returns whether the counts alone give the total: they have no endpoint, payload, path or request id. */
export const usesCountsOnly = ({ endpointIds, payload, resourcePath, requestId }: TrafficQuery) =>
  !endpointIds && !payload && !resourcePath && requestId === undefined

/** A time span in three parts: the middle one is covered by counts, the records of the others are counted by the query. */
export interface Parts {
  early: Span
  counted: Span
  late: Span
}

/** Splits a span. Parts may be empty. `counted` consists of whole buckets, except that the last one ends at `countedUntil`. */
export function partsOf({ from, to }: Span, countedUntil: number, bucketMs: number): Parts {
  const first = Math.ceil(from / bucketMs) * bucketMs
  const end = to >= countedUntil ? countedUntil : Math.floor(to / bucketMs) * bucketMs
  if (first >= end) return { early: { from, to: from }, counted: { from, to: from }, late: { from, to } }
  return { early: { from, to: first }, counted: { from: first, to: end }, late: { from: end, to } }
}

export const isEmpty = ({ from, to }: Span) => from >= to

/** What of the traffic is asked for, and how a span of time is counted. */

/** What the caller may see of the tenant's endpoints. */
export type Sight = 'all' | { applicationNames: string[]; endpointIds: string[] }

/** From the first moment on, up to but without the second; milliseconds since 1970. */
export interface Span {
  from: number
  to: number
}

export interface TrafficQuery {
  tenantId: string
  sight: Sight
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

/** Before and after every record. */
export const always: Span = { from: 0, to: Date.UTC(9999, 11, 31) }

/** Asks for nothing but what is counted. */
export const isPlain = ({ endpointIds, payload, resourcePath, requestId }: TrafficQuery) =>
  !endpointIds && !payload && !resourcePath && requestId === undefined

/** The parts of a span in the order of time; what is in the middle is counted. */
export interface Parts {
  early: Span
  counted: Span
  late: Span
}

/** A part may be empty. Buckets are whole in `counted`, but for the last one, which ends where the counting is. */
export function partsOf({ from, to }: Span, countedUntil: number, bucketMs: number): Parts {
  const first = Math.ceil(from / bucketMs) * bucketMs
  const end = to >= countedUntil ? countedUntil : Math.floor(to / bucketMs) * bucketMs
  if (first >= end) return { early: { from, to: from }, counted: { from, to: from }, late: { from, to } }
  return { early: { from, to: first }, counted: { from: first, to: end }, late: { from: end, to } }
}

export const isEmpty = ({ from, to }: Span) => from >= to

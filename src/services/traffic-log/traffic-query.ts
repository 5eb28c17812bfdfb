/** Parameters of a search. */

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

/** A span that contains every record. */
export const allTime: Span = { from: 0, to: Date.UTC(9999, 11, 31) }

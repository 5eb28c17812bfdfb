/** The parsed query of the directory. */
import type { Condition } from '../lists/query.ts'

export type Connection = 'never' | 'disconnected' | 'connected'
export const connections: Connection[] = ['never', 'disconnected', 'connected']

export interface Sort {
  by: { field: 'endpointId' | 'createdDate' | 'lastActivity' } | { key: string }
  descending: boolean
}

/** A field or metadata key by which endpoints are counted. */
export type Dimension = { field: 'application' | 'version' | 'connection' } | { field: 'metadata'; key: string }

/** The endpoints that the caller requests and may read: whole applications, and single endpoints of other applications. */
export interface Scope {
  tenantId: string
  /** Requested applications whose endpoints the caller may all read. */
  applicationNames: string[]
  singles: Singles | undefined
}

/** Endpoints on which the caller has a permission on the single endpoint, without a permission on the whole application. */
export interface Singles {
  endpointIds: string[]
  /** The requested applications; undefined means all. */
  requestedNames: string[] | undefined
  /** Applications that the caller may read as a whole, so that their endpoints are not selected one by one. */
  exceptNames: string[]
}

export interface Conditions {
  /** Words that the searchable text of the endpoint must contain. */
  words: string[]
  endpointIds: string[] | undefined
  versionNames: string[] | undefined
  connections: Connection[] | undefined
  activeAfter: Date | undefined
  activeBefore: Date | undefined
  /** Active filters; the filter with the fewest members is first. */
  filters: { filterId: string; members: number }[]
  metadata: Condition[]
}

export const hasConditions = ({ words, filters, metadata, ...others }: Conditions) =>
  words.length + filters.length + metadata.length > 0 || Object.values(others).some((value) => value !== undefined)

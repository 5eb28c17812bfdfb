import { contract } from '../../kernel/contract.ts'
import type { Sql } from '../../kernel/db.ts'
import { onResource } from '../../kernel/permissions.ts'

export interface EndpointRef {
  endpointId: string
  tenantId: string
  applicationName: string
  versionName: string
}

export interface Relation {
  type: 'contains'
  from: string
  to: string
}

export const applicationResource = (applicationName: string) => `application-${applicationName}`
export const endpointResourceName = (endpointId: string) => `endpoint-${endpointId}`

/** Where permissions on an endpoint are looked up: itself, its application, its tenant. */
export const endpointResource = ({ tenantId, applicationName, endpointId }: Omit<EndpointRef, 'versionName'>) =>
  onResource(tenantId, applicationResource(applicationName), endpointResourceName(endpointId))

/** What a device does to its own metadata (10/EPMP). */
export type MetadataChange =
  /** All keys but those that `keep` names; `only`: none but these, whatever else there is by then. */
  | { replace: Record<string, unknown>; keep?: string[]; only?: string[] }
  | { merge: Record<string, unknown> }
  | { remove: string[] }

export interface Connectivity {
  endpointId: string
  connected: boolean
  at: Date
}

export interface FilterRef {
  filterId: string
  applicationName: string
  /** Only an active one knows its endpoints. */
  status: 'pending' | 'active'
  matchedEndpointsCount: number
}

/** Permissions are the caller's business: ask `find`, then `authorizeOn` with `endpointResource`. */
export interface Register {
  find(endpointId: string): Promise<EndpointRef | undefined>
  /** Many at once; an endpoint that does not exist is missing from the map. */
  findAll(endpointIds: string[]): Promise<Map<string, EndpointRef>>
  /** With the connectivity keys; undefined when there is no such endpoint. */
  metadataOf(endpointId: string): Promise<Record<string, unknown> | undefined>
  /** False when there is no such endpoint. A key or value that cannot be stored is a 400 that names it. */
  updateMetadata(endpointId: string, change: MetadataChange): Promise<boolean>
  /** What the platform itself knows of connections; an older word than the stored one is ignored. */
  setConnectivity(changes: Connectivity[]): Promise<void>
  /** A device speaks with another version of its application; false when it is no version of that application. */
  setVersion(endpointId: string, versionName: string): Promise<boolean>
  /** The endpoints that this one contains (outbound) or is contained by (inbound), up to a thousand. */
  related(endpointId: string, direction: 'outbound' | 'inbound'): Promise<EndpointRef[]>
  /** In the order of their registration, page after page: for work on all endpoints of an application. */
  endpointsOf(
    sql: Sql,
    of: { tenantId: string; applicationName: string; after?: number; limit: number },
  ): Promise<(EndpointRef & { seq: number })[]>
  findFilter(tenantId: string, filterId: string): Promise<FilterRef | undefined>
  /** In the order of their registration, page after page; none while the filter is pending or when it is gone. */
  endpointsOfFilter(
    sql: Sql,
    of: { tenantId: string; filterId: string; after?: number; limit: number },
  ): Promise<(EndpointRef & { seq: number })[]>
  /** The active filters that the endpoint matches. */
  filtersOf(endpointId: string): Promise<string[]>
}
export const Register = contract<Register>('register')

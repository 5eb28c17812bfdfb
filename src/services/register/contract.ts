import { type Ctx, contract } from '../../kernel/contract.ts'
import type { Sql } from '../../kernel/db.ts'
import type { PlatformError } from '../../kernel/errors.ts'
import { onResource } from '../../kernel/permissions.ts'

export { connectivityInstance } from './configuration.ts'

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
  /** Grows with each change of the endpoint's connectivity, on whichever node. */
  number: number
}

export interface FilterRef {
  filterId: string
  applicationName: string
  /** Only an active one knows its endpoints. */
  status: 'pending' | 'active'
  matchedEndpointsCount: number
}

/** The endpoints that a piece of work is about: those that an active filter matches, or a list of different ids. */
export type Selection = { filterId: string } | { endpointIds: string[] }

export interface SelectionPage {
  endpoints: EndpointRef[]
  /** Endpoints on which the caller does not hold the scope: the 404 or 403 that a request for this endpoint would get. */
  refused: { endpointId: string; error: PlatformError }[]
  /** Where the next page begins; undefined: this is the last one. */
  next: string | undefined
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
  /** What the platform itself knows of connections; a change with a smaller number than the stored one is ignored. */
  setConnectivity(changes: Connectivity[]): Promise<void>
  /** A device speaks with another version of its application; false when it is no version of that application. */
  setVersion(endpointId: string, versionName: string): Promise<boolean>
  /** The endpoints that this one contains (outbound) or is contained by (inbound), up to a thousand. */
  related(endpointId: string, direction: 'outbound' | 'inbound'): Promise<EndpointRef[]>
  findFilter(tenantId: string, filterId: string): Promise<FilterRef | undefined>
  /**
   * A page of a selection, with the rights of the caller. Each endpoint is on one page only. 400 when there is no such
   * filter or it is not active, and when its query is changed between two pages.
   */
  selected(
    sql: Sql,
    ctx: Ctx,
    selection: Selection,
    of: { scope: string; from?: string | undefined; limit: number },
  ): Promise<SelectionPage>
  /** The active filters that the endpoint matches. */
  filtersOf(endpointId: string): Promise<string[]>
}
export const Register = contract<Register>('register')

/** All pages of a selection, one after the other: for `bulk.start`, or for work within one transaction. */
export async function* pagesOf(
  register: Pick<Register, 'selected'>,
  sql: Sql,
  ctx: Ctx,
  selection: Selection,
  of: { scope: string; limit?: number },
): AsyncGenerator<SelectionPage> {
  for (let from: string | undefined; ; ) {
    const page = await register.selected(sql, ctx, selection, { limit: 1000, ...of, from })
    yield page
    if (page.next === undefined) return
    from = page.next
  }
}

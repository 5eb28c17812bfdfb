import type { BulkType } from '../../kernel/bulk/types.ts'
import { type Ctx, contract } from '../../kernel/contract.ts'
import type { Fragment, Sql } from '../../kernel/db.ts'
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

/**
 * The entity `from` contains the entity `to`. Both are given by their keys. The key of an endpoint is its id. Keys of other entities
 * contain a `/`, which endpoint ids never contain.
 */
export interface Containment {
  from: string
  to: string
}

export interface ContainmentSource {
  /** Finds relations of the other service whose `to` is one of these keys. */
  containersOf(sql: Sql, tenantId: string, keys: string[], limit: number): Promise<Containment[]>
}

/** The relations between endpoints, for a service that adds relations between endpoints and other entities. */
export interface Containments {
  /** Queues transactions that lock the tenant's relations, so that waiting requests hold no connection. Throws 429 if too many wait. */
  serialize<T>(tenantId: string, work: () => Promise<T>): Promise<T>
  /** Locks the tenant's relations until the transaction ends, because two concurrent changes could together create a cycle. */
  lock(sql: Sql, tenantId: string): Promise<void>
  /** Finds endpoints and blocks their deletion until the transaction ends. */
  lockEndpoints(sql: Sql, endpointIds: string[]): Promise<EndpointRef[]>
  /** Registers a source of relations with other entities. The register includes them when it looks for cycles. */
  addSource(source: ContainmentSource): void
  /**
   * Returns the index of the first relation that would create a cycle. Each relation is checked against the relations before it and the
   * stored relations of all services.
   */
  firstCycle(sql: Sql, tenantId: string, relations: Containment[]): Promise<number | undefined>
  /** Links endpoints. Existing links are ignored. The caller must have checked permissions and cycles. */
  link(sql: Sql, tenantId: string, relations: Containment[]): Promise<void>
  /** Unlinks endpoints. Links that do not exist are ignored. */
  unlink(sql: Sql, tenantId: string, relations: Containment[]): Promise<void>
  /**
   * Returns SQL for a statement in another service, with the columns tenant_id, from_id, to_id and created_date of the current relations.
   */
  current(sql: Sql): Fragment
  /**
   * Returns SQL for relations that have ended, with the columns of `current`, ended_date and number. A relation that ended later has a
   * greater number.
   */
  ended(sql: Sql): Fragment
  /**
   * Returns SQL with the columns of `EndpointRef` and the name of the endpoint. The name is the metadata key `name` if that is a text,
   * otherwise null.
   */
  endpoints(sql: Sql): Fragment
}

/** A time series that contains places, with the names of its values for latitude and longitude. */
export interface PlaceSeries {
  name: string
  latitude: string
  longitude: string
}

export const applicationResource = (applicationName: string) => `application-${applicationName}`
export const endpointResourceName = (endpointId: string) => `endpoint-${endpointId}`

/** Returns the resources on which a permission for an endpoint can be granted: the endpoint, its application and its tenant. */
export const endpointResource = ({ tenantId, applicationName, endpointId }: Omit<EndpointRef, 'versionName'>) =>
  onResource(tenantId, applicationResource(applicationName), endpointResourceName(endpointId))

/** A change that a device makes to its own metadata (10/EPMP). */
export type MetadataChange =
  /** Replaces all keys except the keys in `keep`. If `only` is given, replaces only these keys and leaves all other keys unchanged. */
  | { replace: Record<string, unknown>; keep?: string[]; only?: string[] }
  | { merge: Record<string, unknown>; remove?: string[] }
  | { remove: string[] }

export interface Connectivity {
  endpointId: string
  connected: boolean
  at: Date
  /** Increases with each change of the endpoint's connectivity, across all nodes. */
  number: number
}

export interface FilterRef {
  filterId: string
  applicationName: string
  /** The list of matched endpoints is complete only if the status is active. */
  status: 'pending' | 'active'
  matchedEndpointsCount: number
}

/** Selects endpoints for a task: the endpoints that an active filter matches, or a list of distinct ids. */
export type Selection = { filterId: string } | { endpointIds: string[] }

/**
 * Conditions of a selection, as in a search of endpoints. An endpoint must meet all conditions. Without conditions, every endpoint of the
 * tenant matches.
 */
export interface EndpointConditions {
  applicationName?: string | string[]
  applicationVersionName?: string | string[]
  endpointIds?: string[]
  filterIds?: string[]
  and?: unknown[]
  or?: unknown[]
  regex?: string
  /** Words that the searchable text of the endpoint must contain, as in the directory. */
  search?: string
  connection?: string | string[]
  /** Times as in requests. Relative times such as `now-1d` are relative to the time of the call. */
  activeAfter?: string | number
  activeBefore?: string | number
  /** Metadata keys, or paths into their values, each with the required value. */
  metadataFilter?: Record<string, unknown>
}

/** An endpoint in an export. */
export interface ExportedEndpoint {
  endpointId: string
  /** Increases in the order of registration. */
  number: number
  applicationName: string
  versionName: string
  createdDate: Date
  /** Metadata, including the connectivity keys. */
  metadata: Record<string, unknown>
  metadataUpdatedDate: Date | null
}

/**
 * An endpoint of a bulk task. The number distinguishes it from a later endpoint with the same id. `refused` is the reason why the caller
 * may not change the endpoint; the item then fails without an attempt.
 */
export type TaskEndpoint = { endpointId: string; number: number } | { endpointId: string; refused: string }

export interface SelectedEndpoints {
  items: TaskEndpoint[]
  /** The applications of the endpoints that were not refused. */
  applicationNames: Set<string>
  /** The error that a request for the first refused endpoint would return; undefined if none is refused. */
  refusal: PlatformError | undefined
}

/** Work over many endpoints that a service offers as a bulk task. */
// biome-ignore lint/suspicious/noExplicitAny: services keep data of every kind
export interface EndpointWork<P, D extends object = any> {
  type: BulkType<D, TaskEndpoint, TaskEndpointResult>
  /** The scope that the caller needs on each endpoint when the task is created. */
  scope: string
  /** Checks the parameters and returns the data of the task. Throws 400, 403 or 404. */
  dataOf(ctx: Ctx, parameters: P): Promise<D> | D
  /** Returns the part of the data that users may see. */
  describe(data: D): Record<string, unknown>
}

export interface TaskEndpointResult {
  /** The command that was created for the endpoint. */
  commandId?: number
}

export interface RegisterWorks {
  delete: EndpointWork<Record<never, never>>
  /** `operations` is a JSON Patch (RFC 6902), `merge` a JSON Merge Patch (RFC 7396). */
  patchMetadata: EndpointWork<{ operations?: unknown[]; merge?: Record<string, unknown> }>
  changeVersion: EndpointWork<{ versionName: string }>
}

/** An endpoint that another service registers together with an object of that service. */
export interface EndpointToRegister {
  endpointId: string
  metadata: Record<string, unknown>
  relations: ({ type: 'contains'; from: string } | { type: 'contains'; to: string })[]
  poolIds: string[]
  /** Path of the endpoint in the caller's request, for error messages: `devices.3`. */
  requestPath: string
}

export interface SelectionPage {
  endpoints: EndpointRef[]
  /** Endpoints on which the caller lacks the scope, each with the 404 or 403 that a request for this endpoint would return. */
  rejected: { endpointId: string; error: PlatformError }[]
  /** The start of the next page; undefined on the last page. */
  next: string | undefined
}

/**
 * Gives other services access to endpoints. The services check permissions themselves: they call `find`, then `authorizeOrNotFound` with
 * `endpointResource`.
 */
export interface Register {
  find(endpointId: string): Promise<EndpointRef | undefined>
  /**
   * Registers endpoints with new ids in the transaction of another service, which has checked that the caller may create them. Throws 404
   * for a relation with an endpoint that the caller may not update, and 400 for metadata or relations that cannot be stored.
   */
  registerAll(
    sql: Sql,
    ctx: Ctx,
    version: { tenantId: string; applicationName: string; versionName: string },
    endpoints: EndpointToRegister[],
  ): Promise<void>
  /** Unregisters endpoints in the transaction of another service, which has checked the caller's permission. */
  unregisterAll(sql: Sql, endpointIds: string[]): Promise<void>
  /** Finds many endpoints with one call. The map has no entry for an endpoint that does not exist. */
  findAll(endpointIds: string[]): Promise<Map<string, EndpointRef>>
  /** Returns the metadata with the connectivity keys, or undefined if the endpoint does not exist. */
  metadataOf(endpointId: string): Promise<Record<string, unknown> | undefined>
  /**
   * Changes the metadata. Returns false if the endpoint does not exist. Throws a 400 that names a key or value that cannot be stored. The
   * event about the change contains `cause`, with which rules limit chains of rules that trigger each other.
   */
  updateMetadata(endpointId: string, change: MetadataChange, options?: { cause?: string }): Promise<boolean>
  /** Stores whether endpoints are connected. Ignores a change whose number is smaller than the stored number. */
  setConnectivity(changes: Connectivity[]): Promise<void>
  /** Records that an endpoint was active. It returns immediately and stores the time some seconds later. */
  noteActivity(endpointId: string, at: Date): void
  /**
   * Returns the series whose newest point is the place of an endpoint of the version. If the configuration is cached, returns no promise.
   */
  placeSeriesOf(version: {
    tenantId: string
    applicationName: string
    versionName: string
  }): PlaceSeries | undefined | Promise<PlaceSeries | undefined>
  /**
   * Records where an endpoint is, in degrees. It returns immediately and stores the place some seconds later. Values that are not a place
   * are ignored.
   */
  reportPlace(place: { endpointId: string; latitude: unknown; longitude: unknown; at: Date }): void
  /** Sets the version that a device reports. Returns false if the endpoint does not exist, or if its application has no such version. */
  setVersion(endpointId: string, versionName: string): Promise<boolean>
  /** Returns up to a thousand endpoints that this endpoint contains (outbound) or is contained in (inbound). */
  relatedEndpoints(endpointId: string, direction: 'outbound' | 'inbound'): Promise<EndpointRef[]>
  findFilter(tenantId: string, filterId: string): Promise<FilterRef | undefined>
  /** Finds the tenant's filters with these ids. Filters that do not exist are not in the result. */
  findFilters(sql: Sql, tenantId: string, filterIds: string[]): Promise<FilterRef[]>
  /**
   * Returns a page of a selection, with the permissions of the caller. Each endpoint is on one page only. Throws a 400 if
   * the filter does not exist or is not active, or if its query changes between two pages.
   */
  selectionPage(
    sql: Sql,
    ctx: Ctx,
    selection: Selection,
    page: { scope: string; from?: string | undefined; limit: number },
  ): Promise<SelectionPage>
  /**
   * Returns the number of the filter's member set, which changes with the query of the filter. Throws a 400 if the filter does not exist or
   * is not active.
   */
  memberSet(sql: Sql, tenantId: string, filterId: string): Promise<number>
  /**
   * Returns an SQL relation with the columns of `EndpointRef` and `seq`: the members of a member set after the number `after`, in order. It
   * is for statements of other services that write a row for each member. The caller must hold the scope on the whole application.
   */
  memberPage(sql: Sql, page: MemberPage): Fragment
  /** Checks conditions and returns a function that reads the endpoints that match them. Throws 400 for an invalid condition. */
  selectEndpoints(
    ctx: Ctx,
    conditions: EndpointConditions,
    limits: { scope: string; max: number },
  ): (sql: Sql) => AsyncIterable<SelectedEndpoints>
  /**
   * Returns the next endpoints that match and that the caller may read, in the order of registration. Throws 400 for an invalid condition.
   */
  exportPage(
    ctx: Ctx,
    conditions: EndpointConditions,
    page: { after: number; limit: number },
  ): Promise<ExportedEndpoint[]>
  /**
   * Finds the endpoints on a page of a bulk task, in order, and blocks their deletion until the transaction ends. For an endpoint that was
   * refused or deleted, the result contains the error of the item.
   */
  taskEndpoints(sql: Sql, tenantId: string, items: TaskEndpoint[]): Promise<(EndpointRef | { failed: string })[]>
  /** Changes of many endpoints as bulk tasks. */
  works: RegisterWorks
  /**
   * Returns an SQL relation with the columns of `EndpointRef`, for a statement in another service: `from (${…}) as e`. It is for lists of
   * services that must include every endpoint and keep no copy of the register.
   */
  relation(sql: Sql): Fragment
  /** Relations between endpoints, for the service `assets`. */
  containments: Containments
  /** Returns the ids of the active filters that the endpoint matches. */
  matchingFilters(endpointId: string): Promise<string[]>
  /** Returns, for each endpoint, which of these filters are active and match it. An endpoint that matches no filter is not in the map. */
  matchesOf(
    sql: Sql,
    query: { tenantId: string; endpointIds: string[]; filterIds: string[] },
  ): Promise<Map<string, string[]>>
}
export const Register = contract<Register>('register')

export interface MemberPage {
  tenantId: string
  memberSet: number
  after: number
  limit: number
}

/** Yields all pages of a selection, for `bulk.start` or for work within one transaction. */
export async function* selectionPages(
  register: Pick<Register, 'selectionPage'>,
  sql: Sql,
  ctx: Ctx,
  selection: Selection,
  options: { scope: string; limit?: number },
): AsyncGenerator<SelectionPage> {
  for (let from: string | undefined; ; ) {
    const page = await register.selectionPage(sql, ctx, selection, { limit: 1000, ...options, from })
    yield page
    if (page.next === undefined) return
    from = page.next
  }
}

/** Turns a request into a query with the permissions of the caller. Lists and counts share it. */
import type { Ctx } from '../../../kernel/contract.ts'
import type { Db } from '../../../kernel/db.ts'
import { InvalidRequest, invalidField } from '../../../kernel/errors.ts'
import { tenantToRead, visibilityOf } from '../access.ts'
import type { FilterIndex } from '../filters/filter-index.ts'
import type { Condition } from '../lists/query.ts'
import type { Conditions, Connection, Scope } from './query.ts'
import { findApplications } from './store/candidates.ts'

/** The conditions of a request for a list or counts. */
export interface SelectionRequest {
  tenantId: string | undefined
  applicationNames: string[] | undefined
  versionNames: string[] | undefined
  words: string[]
  connections: Connection[] | undefined
  activeAfter: Date | undefined
  activeBefore: Date | undefined
  filterIds: string[] | undefined
  metadata: Condition[]
}

export interface DirectoryQuery {
  scope: Scope
  conditions: Conditions
}

export interface QueryDeps {
  db: Db
  filters: FilterIndex
}

const valuesMax = 1000

export async function queryOf(deps: QueryDeps, ctx: Ctx, request: SelectionRequest): Promise<DirectoryQuery> {
  for (const values of [request.applicationNames, request.versionNames, request.filterIds])
    if (values && values.length > valuesMax)
      throw InvalidRequest({ problem: `expected at most ${valuesMax} values for one parameter` })
  const { words, versionNames, connections, activeAfter, activeBefore, metadata } = request
  const scope = await scopeOf(deps, ctx, request)
  const filters = await requireActiveFilters(deps, scope.tenantId, request.filterIds)
  return { scope, conditions: { words, versionNames, connections, activeAfter, activeBefore, filters, metadata } }
}

export async function scopeOf(
  { db }: Pick<QueryDeps, 'db'>,
  ctx: Ctx,
  request: { tenantId?: string | undefined; applicationNames?: string[] | undefined },
): Promise<Scope> {
  const tenantId = tenantToRead(ctx, request.tenantId)
  const visibility = visibilityOf(ctx, tenantId)
  const requestedNames = request.applicationNames && [...new Set(request.applicationNames)]
  if (visibility === 'all') {
    const applicationNames = requestedNames ?? (await findApplications(db.sql, tenantId))
    return { tenantId, applicationNames, singles: undefined }
  }
  const readable = [...new Set(visibility.applicationNames)]
  const endpointIds = [...new Set(visibility.endpointIds)]
  return {
    tenantId,
    applicationNames: requestedNames ? readable.filter((name) => requestedNames.includes(name)) : readable,
    singles: endpointIds.length > 0 ? { endpointIds, requestedNames, exceptNames: readable } : undefined,
  }
}

async function requireActiveFilters(
  { db, filters }: QueryDeps,
  tenantId: string,
  filterIds: string[] | undefined,
): Promise<Conditions['filters']> {
  if (!filterIds || filterIds.length === 0) return []
  const wanted = [...new Set(filterIds)]
  const summaries = await filters.find(db.sql, tenantId, wanted)
  for (const filterId of wanted) {
    const filter = summaries.find((one) => one.filterId === filterId)
    if (!filter) throw invalidField('filterId', `there is no filter ${filterId}`)
    if (filter.status !== 'active')
      throw invalidField('filterId', `filter ${filterId} is still being matched, ask again when its status is active`)
  }
  return summaries
    .map(({ filterId, matchedEndpointsCount: members }) => ({ filterId, members }))
    .sort((one, other) => one.members - other.members)
}

/** Converts a request to a query with the permissions of the caller, for lists and counts. */
import type { Ctx } from '../../../kernel/contract.ts'
import type { Db } from '../../../kernel/db.ts'
import { InvalidRequest } from '../../../kernel/errors.ts'
import { tenantToRead, visibilityOf } from '../access.ts'
import { requireActiveFilters } from '../filters/active-filters.ts'
import type { FilterIndex } from '../filters/filter-index.ts'
import type { Condition } from '../lists/query.ts'
import { gramsOfWords } from './document.ts'
import type { Conditions, Connection, Scope } from './query.ts'
import { findApplications } from './store/candidates.ts'
import type { TextSampleOf } from './text-sample.ts'

/** The conditions of a request for a list or counts. */
export interface SelectionRequest {
  tenantId: string | undefined
  endpointIds: string[] | undefined
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
  /** The n-grams of the words, for the index. */
  grams: number[]
  /**
   * The frequency of the words, estimated from a sample. `rare`: the search index is used immediately. Otherwise the first endpoints of
   * the list are checked first. `common`: the search index is used only if the list is in the order of registration.
   */
  words: 'rare' | 'usual' | 'common'
}

export interface QueryDeps {
  db: Db
  filters: FilterIndex
  sampleOf: TextSampleOf
}

const valuesMax = 1000

export async function queryOf(deps: QueryDeps, ctx: Ctx, request: SelectionRequest): Promise<DirectoryQuery> {
  for (const values of [request.endpointIds, request.applicationNames, request.versionNames, request.filterIds])
    if (values && values.length > valuesMax)
      throw InvalidRequest({ problem: `expected at most ${valuesMax} values for one parameter` })
  const { words, endpointIds, versionNames, connections, activeAfter, activeBefore, metadata } = request
  const scope = await scopeOf(deps, ctx, request)
  const filters = await activeFiltersOf(deps, ctx, scope.tenantId, request.filterIds)
  const conditions = { words, endpointIds, versionNames, connections, activeAfter, activeBefore, filters, metadata }
  return { scope, conditions, ...(await searchOf(deps, scope, words)) }
}

/**
 * If more endpoints than this have the words, the search index finds too many candidates to help a list that is not in the order of
 * registration.
 */
const commonCount = 6000

async function searchOf({ sampleOf }: QueryDeps, scope: Scope, words: string[]) {
  if (words.length === 0 || scope.applicationNames.length === 0) return { grams: [], words: 'usual' as const }
  const { texts, grams, size } = await sampleOf(scope)
  const matching = texts.filter((text) => words.every((word) => text.includes(word))).length
  const estimated = (matching / Math.max(1, texts.length)) * size
  return {
    grams: gramsOfWords(words, grams),
    words: matching === 0 ? ('rare' as const) : estimated > commonCount ? ('common' as const) : ('usual' as const),
  }
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

async function activeFiltersOf(
  { db, filters }: QueryDeps,
  ctx: Ctx,
  tenantId: string,
  filterIds: string[] | undefined,
): Promise<Conditions['filters']> {
  if (!filterIds || filterIds.length === 0) return []
  const request = { tenantId, visibility: visibilityOf(ctx, tenantId), filterIds: [...new Set(filterIds)] }
  const summaries = await requireActiveFilters({ filters, sql: db.sql }, request, 'filterId')
  return summaries
    .map(({ filterId, matchedEndpointsCount: members }) => ({ filterId, members }))
    .sort((one, other) => one.members - other.members)
}

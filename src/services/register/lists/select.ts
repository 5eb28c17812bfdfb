/** Selects endpoints for bulk tasks: by ids, or by the conditions of a search. The list is fixed when the task is created. */
import type { Clock } from '../../../kernel/clock.ts'
import type { Ctx } from '../../../kernel/contract.ts'
import { type Db, isStatementCanceled, type Sql } from '../../../kernel/db.ts'
import { Forbidden, invalidField } from '../../../kernel/errors.ts'
import { holds } from '../../../kernel/permissions.ts'
import { listOf } from '../../../kernel/schema.ts'
import { visibilityOf } from '../access.ts'
import {
  type EndpointConditions,
  type EndpointRef,
  endpointResource,
  endpointResourceName,
  type Register,
  type SelectedEndpoints,
  type SelectionPage,
  selectionPages,
} from '../contract.ts'
import { connectionsOf, readWords, timeOfParameter } from '../directory/parameters.ts'
import { selectionPage } from '../endpoints/selection.ts'
import { findNumbersOf, findRefsByNumbers } from '../endpoints/store/many.ts'
import { NoEndpoint } from '../errors.ts'
import { requireActiveFilters } from '../filters/active-filters.ts'
import type { FilterIndex } from '../filters/filter-index.ts'
import { visibleMetadata } from '../metadata/metadata.ts'
import {
  conditionsOf,
  type DirectoryConditions,
  type EndpointQuery,
  readMetadataFilter,
  searchKey,
  sqlPattern,
} from './query.ts'
import * as store from './store/list.ts'

const pageSize = 1000
const selectMilliseconds = 20_000
const valuesMax = 1000
/** PostgreSQL's error code for an invalid regular expression. */
const invalidRegexCode = '2201B'

export const createSelection =
  (now: Clock, filters: FilterIndex): Register['selectEndpoints'] =>
  (ctx, conditions, { scope, max }) => {
    const { endpointIds, ...others } = conditions
    if (endpointIds && Object.values(others).every((value) => value === undefined)) {
      const distinctIds = [...new Set(endpointIds)]
      return (sql) => byIds(sql, ctx, distinctIds, scope)
    }
    const query = queryOf(ctx, conditions, now())
    return (sql) => byQuery(sql, ctx, query, { filters, scope, max })
  }

function directoryOf(conditions: EndpointConditions, now: Date): DirectoryConditions | undefined {
  const { search, connection, activeAfter, activeBefore } = conditions
  if (![search, connection, activeAfter, activeBefore].some((value) => value !== undefined)) return undefined
  return {
    words: readWords(search ?? ''),
    connections: connectionsOf(connection),
    activeAfter: timeOfParameter(activeAfter, 'activeAfter', now),
    activeBefore: timeOfParameter(activeBefore, 'activeBefore', now),
  }
}

function queryOf(ctx: Ctx, conditions: EndpointConditions, now: Date): EndpointQuery {
  const { and, or, regex, metadataFilter = {} } = conditions
  const namesOf = (field: 'applicationName' | 'applicationVersionName') => {
    const names = listOf(conditions[field])
    if (names && names.length > valuesMax) throw invalidField(field, `expected at most ${valuesMax} names`)
    return names && [...new Set(names)]
  }
  return {
    tenantId: ctx.tenantId,
    visibility: visibilityOf(ctx, ctx.tenantId),
    applicationNames: namesOf('applicationName'),
    versionNames: namesOf('applicationVersionName'),
    endpointIds: conditions.endpointIds && [...new Set(conditions.endpointIds)],
    filterIds: conditions.filterIds?.length ? [...new Set(conditions.filterIds)] : undefined,
    conditions: [
      ...conditionsOf({ and, or }, and === undefined ? 'or' : 'and', searchKey),
      ...readMetadataFilter(metadataFilter),
    ],
    directory: directoryOf(conditions, now),
    regex: regex === undefined || regex === '' ? undefined : sqlPattern(regex, 'regex'),
  }
}

export const createExportPage =
  ({ db, now }: { db: Db; now: Clock }, filters: FilterIndex): Register['exportPage'] =>
  async (ctx, conditions, page) => {
    const query = queryOf(ctx, conditions, now())
    return await limited(() =>
      db.tx(async (sql) => {
        const active = await withActiveFilters(sql, query, filters)
        await store.limitTime(sql, selectMilliseconds)
        const rows = await store.findRowsAfter(sql, active, filters, page)
        return rows.map(({ seq: number, connected, connectivityTs, ...row }) => ({
          ...row,
          number,
          metadata: visibleMetadata({ ...row, connected, connectivityTs }),
        }))
      }),
    )
  }

async function* byIds(sql: Sql, ctx: Ctx, endpointIds: string[], scope: string): AsyncGenerator<SelectedEndpoints> {
  for await (const page of selectionPages({ selectionPage }, sql, ctx, { endpointIds }, { scope, limit: pageSize }))
    yield await withNumbers(sql, ctx, page)
}

async function withNumbers(sql: Sql, ctx: Ctx, page: SelectionPage): Promise<SelectedEndpoints> {
  // A caller of the platform may change endpoints of other tenants, but a job must stay within one tenant.
  const ownEndpoints = page.endpoints.filter(({ tenantId }) => tenantId === ctx.tenantId)
  const foreign = page.endpoints.filter(({ tenantId }) => tenantId !== ctx.tenantId)
  const numbers = await findNumbersOf(
    sql,
    ownEndpoints.map(({ endpointId }) => endpointId),
  )
  const rejected = [
    ...page.rejected,
    ...foreign.map(({ endpointId }) => ({ endpointId, error: NoEndpoint({ endpointId }) })),
  ]
  return {
    items: [
      ...ownEndpoints.map(({ endpointId }) => ({ endpointId, number: numbers.get(endpointId) ?? -1 })),
      ...rejected.map(({ endpointId, error }) => ({ endpointId, refused: error.message })),
    ],
    applicationNames: new Set(ownEndpoints.map(({ applicationName }) => applicationName)),
    refusal: rejected[0]?.error,
  }
}

async function* byQuery(
  sql: Sql,
  ctx: Ctx,
  query: EndpointQuery,
  { filters, scope, max }: { filters: FilterIndex; scope: string; max: number },
): AsyncGenerator<SelectedEndpoints> {
  const { tenantId } = query
  const numbers = await findNumbers(sql, await withActiveFilters(sql, query, filters), filters, max)
  for (let position = 0; position < numbers.length; ) {
    const page: number[] = []
    while (page.length < pageSize && position < numbers.length) {
      const comma = numbers.indexOf(',', position)
      const end = comma < 0 ? numbers.length : comma
      page.push(Number(numbers.slice(position, end)))
      position = end + 1
    }
    yield selectedOf(ctx, scope, await findRefsByNumbers(sql, tenantId, page))
  }
}

function selectedOf(ctx: Ctx, scope: string, endpoints: (EndpointRef & { seq: number })[]): SelectedEndpoints {
  const selected: SelectedEndpoints = { items: [], applicationNames: new Set(), refusal: undefined }
  for (const { seq: number, ...endpoint } of endpoints) {
    const { endpointId } = endpoint
    if (holds(ctx.caller, scope, endpointResource(endpoint))) {
      selected.items.push({ endpointId, number })
      selected.applicationNames.add(endpoint.applicationName)
    } else {
      const error = Forbidden({ scope, resource: endpointResourceName(endpointId) })
      selected.refusal ??= error
      selected.items.push({ endpointId, refused: error.message })
    }
  }
  return selected
}

/**
 * Throws a 400 unless all filters are active. Returns the query with the smallest filter first, because the members of the first filter are
 * read, and the other filters are only checked for each member.
 */
async function withActiveFilters(sql: Sql, query: EndpointQuery, filters: FilterIndex): Promise<EndpointQuery> {
  if (!query.filterIds) return query
  const { tenantId, visibility } = query
  const request = { tenantId, visibility, filterIds: query.filterIds }
  const summaries = await requireActiveFilters({ filters, sql }, request, 'filterIds')
  summaries.sort((one, other) => one.matchedEndpointsCount - other.matchedEndpointsCount)
  const filterIds = summaries.map(({ filterId }) => filterId)
  return { ...query, filterIds, membersOfFirst: summaries[0]?.matchedEndpointsCount }
}

/** Returns the numbers of all matching endpoints as one text. A million numbers take 8 MB. */
async function findNumbers(sql: Sql, query: EndpointQuery, filters: FilterIndex, max: number): Promise<string> {
  await store.limitTime(sql, selectMilliseconds)
  const { total, numbers } = await limited(() => store.findNumbers(sql, query, filters, 0))
  await store.resetTimeLimit(sql)
  if (total > max)
    throw invalidField('select', `${total} endpoints match, but a job can have at most ${max}; narrow the selection`)
  return numbers
}

/** Converts the errors of a search that takes too long or is too complex to a 400. */
async function limited<T>(search: () => Promise<T>): Promise<T> {
  try {
    return await search()
  } catch (error) {
    const { code } = error as { code?: unknown }
    if (code === invalidRegexCode) throw invalidField('select', 'a pattern is too complex: its repetitions multiply')
    if (!isStatementCanceled(error)) throw error
    throw invalidField(
      'select',
      `the search took longer than ${selectMilliseconds / 1000} s and was given up; narrow the search`,
    )
  }
}

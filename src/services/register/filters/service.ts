import { isDeepStrictEqual } from 'node:util'
import { creatorOf } from '../../../kernel/bulk/types.ts'
import type { Ctx } from '../../../kernel/contract.ts'
import { authorize } from '../../../kernel/contract.ts'
import { isUniqueViolation, type Sql } from '../../../kernel/db.ts'
import type { Kit } from '../../../kernel/define-service.ts'
import { type Document, documentOf } from '../../../kernel/document.ts'
import { InvalidRequest, invalidField } from '../../../kernel/errors.ts'
import { checkIfMatch } from '../../../kernel/etag.ts'
import { contentPageText } from '../../../kernel/json-text.ts'
import { windowOf } from '../../../kernel/paging.ts'
import { holds } from '../../../kernel/permissions.ts'
import type { Applications } from '../../applications/contract.ts'
import { onApplication } from '../access.ts'
import { DocumentQueryError, parse } from '../document-query/parse.ts'
import type { Query } from '../document-query/query.ts'
import { lockApplicationShared } from '../endpoints/store/endpoints.ts'
import { FilterNameTaken, NoApplicationHere, NoFilter } from '../errors.ts'
import { FilterDeleted } from '../events.ts'
import { limitTime, resetTimeLimit } from '../lists/store/list.ts'
import type { Matching } from './matching.ts'
import { compilePatterns } from './store/evaluation.ts'
import * as store from './store/filters.ts'

export interface FilterFields {
  name?: string | undefined
  description?: string | undefined
  /** The query as an object, or as its JSON text. */
  documentQuery?: unknown
}

interface Target {
  applicationName: string
  filterId: string
}

export interface FilterOperations {
  create(ctx: Ctx, applicationName: string, fields: FilterFields & { name: string }): Promise<Document & { id: string }>
  list(
    ctx: Ctx,
    query: { applicationName: string; name?: string | undefined; offset: number; limit: number },
  ): Promise<Document>
  read(ctx: Ctx, target: Target): Promise<Document>
  update(ctx: Ctx, target: Target, fields: FilterFields, ifMatch: string | undefined): Promise<Document>
  delete(ctx: Ctx, target: Target, ifMatch: string | undefined): Promise<void>
  /** Deletes the filters of a deleted application. */
  deleteOfApplication(sql: Sql, application: store.ApplicationKey): Promise<void>
}

type Action = 'create' | 'read' | 'update' | 'delete'
const scopeFor = (action: Action) => `application:endpoint-filter:${action}`

/** Maximum number of filters of an application, because each registration evaluates all of them. */
const filtersMax = 1000
const queryLengthMax = 100_000
/** Limits for all filters of an application together, because each node caches them and reads them again whenever a filter changes. */
const patternSizeMax = 20_000
const queryLengthsMax = 2_000_000
const tryMilliseconds = 2000

interface Deps extends Pick<Kit, 'db' | 'bus' | 'now' | 'newId'> {
  applications: Applications
  matching: Matching
}

export function createFilterOperations(
  { db, bus, now, newId }: Kit,
  services: Pick<Deps, 'applications' | 'matching'>,
): FilterOperations {
  const deps: Deps = { db, bus, now, newId, ...services }
  return {
    create: (ctx, applicationName, fields) => createFilter(deps, ctx, applicationName, fields),
    list: (ctx, query) => listFilters(deps, ctx, query),
    read: (ctx, target) => readFilter(deps, ctx, target),
    update: (ctx, target, fields, ifMatch) => updateFilter(deps, ctx, target, fields, ifMatch),
    delete: (ctx, target, ifMatch) => deleteFilter(deps, ctx, target, ifMatch),
    deleteOfApplication: (sql, application) => deleteFiltersOfApplication(deps, sql, application),
  }
}

/**
 * Checks the permission on the application. Throws 404 if the caller may see neither the application nor its filters, and 403 if it may see
 * them but lacks the scope.
 */
async function requireAccess(
  { applications }: Deps,
  ctx: Ctx,
  applicationName: string,
  action: Action,
): Promise<store.ApplicationKey> {
  const { tenantId } = ctx
  const application = onApplication(tenantId, applicationName)
  const hasScope = (scope: string) => holds(ctx.caller, scope, application)
  const visibleResources = hasScope('application:read') || hasScope(scopeFor('read')) || hasScope(scopeFor(action))
  if (!visibleResources || !(await applications.exists(ctx, { name: applicationName })))
    throw NoApplicationHere({ name: applicationName })
  authorize(ctx, scopeFor(action), application)
  return { tenantId, applicationName }
}

function requireFilter(row: store.FilterRow | undefined, filterId: string): store.FilterRow {
  if (!row) throw NoFilter({ filterId })
  return row
}

const nameTaken = (name: string, { applicationName }: store.ApplicationKey) =>
  FilterNameTaken({ name, applicationName })

async function createFilter(
  deps: Deps,
  ctx: Ctx,
  applicationName: string,
  { name, description = '', documentQuery: rawQuery }: FilterFields & { name: string },
) {
  const { db, now, newId, applications, matching } = deps
  const application = await requireAccess(deps, ctx, applicationName, 'create')
  if (rawQuery === undefined) throw invalidField('documentQuery', 'is required')
  const query = readQuery(rawQuery)
  const { source: documentQuery, patternSize } = query
  const filter = { ...application, filterId: newId() }
  return await db.tx(async (sql) => {
    // This lock and the deletion of the application exclude each other. If the application was deleted, the next check fails.
    await lockApplicationShared(sql, applicationName)
    if (!(await applications.exists(ctx, { name: applicationName }, sql)))
      throw NoApplicationHere({ name: applicationName })
    await rejectUnsupportedPatterns(sql, query)
    const written = { name, description, documentQuery, patternSize, at: now() }
    const memberSet = await store.insertFilter(sql, { ...filter, ...written })
    if (memberSet === undefined) throw nameTaken(name, application)
    await rejectTooLargeTotal(sql, application)
    if ((await store.countFilters(sql, application)) > filtersMax)
      throw InvalidRequest({ problem: `An application can have at most ${filtersMax} filters` })
    await matching.begin(sql, { ...filter, memberSet }, creatorOf(ctx.caller))
    const document = documentOfFilter(requireFilter(await store.findFilter(sql, filter), filter.filterId))
    await store.publishFilters(sql, application)
    return { ...document, id: filter.filterId }
  })
}

async function listFilters(deps: Deps, ctx: Ctx, query: Parameters<FilterOperations['list']>[1]) {
  const { applicationName, name, offset, limit } = query
  const { sql } = deps.db
  const selection = {
    ...(await requireAccess(deps, ctx, applicationName, 'read')),
    name: name === '' ? undefined : name,
  }
  const [total, rows] = await Promise.all([
    store.countFilters(sql, selection),
    store.findFilters(sql, { ...selection, ...windowOf({ offset, limit }) }),
  ])
  return documentOf(contentPageText(total, rows.map(filterJson)))
}

async function readFilter(deps: Deps, ctx: Ctx, { applicationName, filterId }: Target) {
  const application = await requireAccess(deps, ctx, applicationName, 'read')
  return documentOfFilter(requireFilter(await store.findFilter(deps.db.sql, { ...application, filterId }), filterId))
}

async function updateFilter(
  deps: Deps,
  ctx: Ctx,
  { applicationName, filterId }: Target,
  fields: FilterFields,
  ifMatch: string | undefined,
) {
  const { db, now, matching } = deps
  const application = await requireAccess(deps, ctx, applicationName, 'update')
  const filter = { ...application, filterId }
  const query = fields.documentQuery === undefined ? undefined : readQuery(fields.documentQuery)
  try {
    return await db.tx(async (sql) => {
      const row = requireFilter(await store.lockFilter(sql, filter), filterId)
      checkIfMatch(ifMatch, documentOfFilter(row).etag)
      const { name = row.name, description = row.description } = fields
      const queryChanged = query !== undefined && !isDeepStrictEqual(query.source, row.documentQuery)
      if (!queryChanged && name === row.name && description === row.description) return documentOfFilter(row)
      if (queryChanged) await rejectUnsupportedPatterns(sql, query)
      const { source: documentQuery, patternSize } = queryChanged ? query : parse(row.documentQuery)
      await store.updateFilter(sql, filter, { name, description, documentQuery, patternSize, at: now() })
      if (queryChanged) {
        await rejectTooLargeTotal(sql, application)
        await matching.clear(sql, row)
        const memberSet = await store.restartFilter(sql, filter)
        await matching.begin(sql, { ...filter, memberSet }, creatorOf(ctx.caller))
      }
      const document = documentOfFilter(requireFilter(await store.findFilter(sql, filter), filterId))
      if (queryChanged) await store.publishFilters(sql, application)
      return document
    })
  } catch (error) {
    throw isUniqueViolation(error, 'filter_name') ? nameTaken(fields.name ?? '', application) : error
  }
}

async function deleteFilter(deps: Deps, ctx: Ctx, { applicationName, filterId }: Target, ifMatch: string | undefined) {
  const { db, bus, matching } = deps
  const application = await requireAccess(deps, ctx, applicationName, 'delete')
  const filter = { ...application, filterId }
  await db.tx(async (sql) => {
    const row = requireFilter(await store.lockFilter(sql, filter), filterId)
    checkIfMatch(ifMatch, documentOfFilter(row).etag)
    await store.deleteFilter(sql, filter)
    await matching.clear(sql, row)
    await bus.publish(sql, FilterDeleted, filter)
    await store.publishFilters(sql, application)
  })
}

async function deleteFiltersOfApplication(
  { bus, matching }: Deps,
  sql: Sql,
  { tenantId, applicationName }: store.ApplicationKey,
) {
  const application = { tenantId, applicationName }
  const deleted = await store.deleteFiltersOf(sql, application)
  if (deleted.length === 0) return
  for (const { filterId, memberSet } of deleted) {
    await matching.clear(sql, { tenantId, memberSet })
    await bus.publish(sql, FilterDeleted, { ...application, filterId })
  }
  await store.publishFilters(sql, application)
}

/** Rejects patterns that PostgreSQL cannot compile, because a filter with such a pattern would stay pending forever. */
async function rejectUnsupportedPatterns(sql: Sql, query: Query) {
  if (query.patternSize === 0) return
  await limitTime(sql, tryMilliseconds)
  try {
    await compilePatterns(sql, query)
  } catch (error) {
    const { code } = error as { code?: unknown }
    throw code === invalidRegexCode || code === statementTimeoutCode
      ? invalidField('documentQuery', 'a pattern is too complex: its repetitions multiply')
      : error
  }
  await resetTimeLimit(sql)
}

/** PostgreSQL's error codes for an invalid regular expression, and for a statement that exceeded its time limit. */
const invalidRegexCode = '2201B'
const statementTimeoutCode = '57014'

async function rejectTooLargeTotal(sql: Sql, application: store.ApplicationKey) {
  const { patternSize, queryLength } = await store.sumFilters(sql, application)
  if (patternSize > patternSizeMax)
    throw invalidField('documentQuery', "the patterns of the application's filters are too complex together")
  if (queryLength > queryLengthsMax)
    throw invalidField(
      'documentQuery',
      `the queries of the application's filters are longer than ${queryLengthsMax} characters together`,
    )
}

function readQuery(raw: unknown): Query {
  try {
    const query = parse(raw)
    if (JSON.stringify(query.source).length > queryLengthMax) throw new DocumentQueryError('', 'the query is too long')
    return query
  } catch (error) {
    throw error instanceof DocumentQueryError ? invalidField('documentQuery', error.message) : error
  }
}

const filterJson = (row: store.FilterRow) =>
  JSON.stringify({
    id: row.filterId,
    name: row.name,
    description: row.description,
    documentQuery: row.documentQuery,
    createdDate: row.createdDate,
    updatedDate: row.updatedDate,
    matchedEndpointsCount: row.matchedEndpointsCount,
    status: row.status,
  })

const documentOfFilter = (row: store.FilterRow) => documentOf(filterJson(row))

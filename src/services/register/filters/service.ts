import { isDeepStrictEqual } from 'node:util'
import type { Ctx } from '../../../kernel/contract.ts'
import { authorize } from '../../../kernel/contract.ts'
import { isUniqueViolation, type Sql } from '../../../kernel/db.ts'
import type { Kit } from '../../../kernel/define-service.ts'
import { type Document, documentOf } from '../../../kernel/document.ts'
import { InvalidRequest, invalidField } from '../../../kernel/errors.ts'
import { checkIfMatch } from '../../../kernel/etag.ts'
import { contentText } from '../../../kernel/json-text.ts'
import { windowOf } from '../../../kernel/paging.ts'
import { holds } from '../../../kernel/permissions.ts'
import type { Applications } from '../../applications/contract.ts'
import { onApplication } from '../access.ts'
import { DocumentQueryError, parse } from '../document-query/parse.ts'
import type { Query } from '../document-query/query.ts'
import { holdApplication } from '../endpoints/store/endpoints.ts'
import { FilterNameTaken, NoApplicationHere, NoFilter } from '../errors.ts'
import { FilterDeleted } from '../events.ts'
import { limitTime, limitTimeAsUsual } from '../lists/store/list.ts'
import type { Matching } from './matching.ts'
import { tryQuery } from './store/evaluation.ts'
import * as store from './store/filters.ts'

export interface FilterFields {
  name?: string | undefined
  description?: string | undefined
  /** An object, or a text that holds one. */
  documentQuery?: unknown
}

interface Place {
  applicationName: string
  filterId: string
}

export interface FilterRules {
  create(ctx: Ctx, applicationName: string, fields: FilterFields & { name: string }): Promise<Document & { id: string }>
  list(
    ctx: Ctx,
    of: { applicationName: string; name?: string | undefined; offset: number; limit: number },
  ): Promise<Document>
  read(ctx: Ctx, place: Place): Promise<Document>
  update(ctx: Ctx, place: Place, fields: FilterFields, ifMatch: string | undefined): Promise<Document>
  delete(ctx: Ctx, place: Place, ifMatch: string | undefined): Promise<void>
  /** With its application. */
  forgetApplication(sql: Sql, of: store.OfApplication): Promise<void>
}

type Action = 'create' | 'read' | 'update' | 'delete'
const scopeFor = (action: Action) => `application:endpoint-filter:${action}`

/** Each of them is asked at each registration in the application. */
const filtersMax = 1000
const queryLengthMax = 100_000
/** Of all filters of an application: what the process keeps of them, and reads whenever one changes, stays within bounds. */
const patternSizeMax = 20_000
const queryLengthsMax = 2_000_000
const tryMilliseconds = 2000

export function createFilterRules(
  { db, bus, now, newId }: Kit,
  { applications, matching }: { applications: Applications; matching: Matching },
): FilterRules {
  /** Filters belong to the application: who may neither see it nor its filters learns nothing; 403 for all others. */
  async function enter(ctx: Ctx, applicationName: string, action: Action): Promise<store.OfApplication> {
    const { tenantId } = ctx
    const application = onApplication(tenantId, applicationName)
    const may = (scope: string) => holds(ctx.caller, scope, application)
    const seen = may('application:read') || may(scopeFor('read')) || may(scopeFor(action))
    if (!seen || !(await applications.exists(ctx, { name: applicationName })))
      throw NoApplicationHere({ name: applicationName })
    authorize(ctx, scopeFor(action), application)
    return { tenantId, applicationName }
  }

  const found = (row: store.FilterRow | undefined, filterId: string): store.FilterRow => {
    if (!row) throw NoFilter({ filterId })
    return row
  }

  const taken = (name: string, { applicationName }: store.OfApplication) => FilterNameTaken({ name, applicationName })

  return {
    async create(ctx, applicationName, { name, description = '', documentQuery: given }) {
      const within = await enter(ctx, applicationName, 'create')
      if (given === undefined) throw invalidField('documentQuery', 'is required')
      const query = readQuery(given)
      const { source: documentQuery, patternSize } = query
      const filter = { ...within, filterId: newId() }
      return await db.tx(async (sql) => {
        // Its deletion waits for us, or we for it: then it is not there any more.
        await holdApplication(sql, applicationName)
        if (!(await applications.exists(ctx, { name: applicationName }, sql)))
          throw NoApplicationHere({ name: applicationName })
        await tryPatterns(sql, query)
        const written = { name, description, documentQuery, patternSize, at: now() }
        const memberSet = await store.insertFilter(sql, { ...filter, ...written })
        if (memberSet === undefined) throw taken(name, within)
        await checkTogether(sql, within)
        if ((await store.countFilters(sql, within)) > filtersMax)
          throw InvalidRequest({ problem: `An application can have ${filtersMax} filters` })
        await matching.begin(sql, { ...filter, memberSet }, ctx.caller.subject)
        const document = present(found(await store.findFilter(sql, filter), filter.filterId))
        await store.publishFilters(sql, within)
        return { ...document, id: filter.filterId }
      })
    },

    async list(ctx, { applicationName, name, offset, limit }) {
      const within = { ...(await enter(ctx, applicationName, 'read')), name: name === '' ? undefined : name }
      const [total, rows] = await Promise.all([
        store.countFilters(db.sql, within),
        store.findFilters(db.sql, { ...within, ...windowOf({ offset, limit }) }),
      ])
      return documentOf(contentText(total, rows.map(textOf)))
    },

    async read(ctx, { applicationName, filterId }) {
      const within = await enter(ctx, applicationName, 'read')
      return present(found(await store.findFilter(db.sql, { ...within, filterId }), filterId))
    },

    async update(ctx, { applicationName, filterId }, fields, ifMatch) {
      const within = await enter(ctx, applicationName, 'update')
      const filter = { ...within, filterId }
      const query = fields.documentQuery === undefined ? undefined : readQuery(fields.documentQuery)
      try {
        return await db.tx(async (sql) => {
          const row = found(await store.lockFilter(sql, filter), filterId)
          checkIfMatch(ifMatch, present(row).etag)
          const { name = row.name, description = row.description } = fields
          const isOther = query !== undefined && !isDeepStrictEqual(query.source, row.documentQuery)
          if (!isOther && name === row.name && description === row.description) return present(row)
          if (isOther) await tryPatterns(sql, query)
          const { source: documentQuery, patternSize } = isOther ? query : parse(row.documentQuery)
          await store.updateFilter(sql, filter, { name, description, documentQuery, patternSize, at: now() })
          if (isOther) {
            await checkTogether(sql, within)
            await matching.clear(sql, row)
            const memberSet = await store.restartFilter(sql, filter)
            await matching.begin(sql, { ...filter, memberSet }, ctx.caller.subject)
          }
          const document = present(found(await store.findFilter(sql, filter), filterId))
          if (isOther) await store.publishFilters(sql, within)
          return document
        })
      } catch (error) {
        throw isUniqueViolation(error, 'filter_name') ? taken(fields.name ?? '', within) : error
      }
    },

    async delete(ctx, { applicationName, filterId }, ifMatch) {
      const within = await enter(ctx, applicationName, 'delete')
      const filter = { ...within, filterId }
      await db.tx(async (sql) => {
        const row = found(await store.lockFilter(sql, filter), filterId)
        checkIfMatch(ifMatch, present(row).etag)
        await store.deleteFilter(sql, filter)
        await matching.clear(sql, row)
        await bus.publish(sql, FilterDeleted, filter)
        await store.publishFilters(sql, within)
      })
    },

    async forgetApplication(sql, { tenantId, applicationName }) {
      const within = { tenantId, applicationName }
      const gone = await store.deleteFiltersOf(sql, within)
      if (gone.length === 0) return
      for (const { filterId, memberSet } of gone) {
        await matching.clear(sql, { tenantId, memberSet })
        await bus.publish(sql, FilterDeleted, { ...within, filterId })
      }
      await store.publishFilters(sql, within)
    },
  }
}

/** What the database cannot read would never be matched. */
async function tryPatterns(sql: Sql, query: Query) {
  if (query.patternSize === 0) return
  await limitTime(sql, tryMilliseconds)
  try {
    await tryQuery(sql, query)
  } catch (error) {
    const { code } = error as { code?: unknown }
    throw code === refusedPattern || code === outOfTime
      ? invalidField('documentQuery', 'a pattern is too complex: its repetitions multiply')
      : error
  }
  await limitTimeAsUsual(sql)
}

/** PostgreSQL's words for a regular expression that it does not take, and for a statement that ran out of time. */
const refusedPattern = '2201B'
const outOfTime = '57014'

async function checkTogether(sql: Sql, within: store.OfApplication) {
  const { patternSize, queryLength } = await store.sumFilters(sql, within)
  if (patternSize > patternSizeMax)
    throw invalidField('documentQuery', "the patterns of the application's filters are too complex together")
  if (queryLength > queryLengthsMax)
    throw invalidField(
      'documentQuery',
      `the queries of the application's filters are longer than ${queryLengthsMax} characters together`,
    )
}

function readQuery(given: unknown): Query {
  try {
    const query = parse(given)
    if (JSON.stringify(query.source).length > queryLengthMax) throw new DocumentQueryError('', 'the query is too long')
    return query
  } catch (error) {
    throw error instanceof DocumentQueryError ? invalidField('documentQuery', error.message) : error
  }
}

const textOf = (row: store.FilterRow) =>
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

const present = (row: store.FilterRow) => documentOf(textOf(row))

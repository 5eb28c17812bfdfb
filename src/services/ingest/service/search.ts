/** Searches documents in PostgreSQL, and returns results in the format of the search engine. */
import { createConcurrencyLimit } from '../../../kernel/concurrency-limit.ts'
import type { Ctx } from '../../../kernel/contract.ts'
import { isStatementCanceled, type Sql } from '../../../kernel/db.ts'
import { PlatformError } from '../../../kernel/errors.ts'
import { createPace } from '../../../kernel/pace.ts'
import { engineFormat } from '../error-format.ts'
import { SearchTooLarge, SearchTooLong } from '../errors.ts'
import { parseExact, stringifyExact } from '../exact-json.ts'
import type { Clause } from '../query/clauses.ts'
import { readSearch, type SearchRequest } from '../query/request.ts'
import type { Scope } from '../query/scope.ts'
import {
  docBytesMax,
  findPage,
  type Hit,
  type HitTexts,
  inSnapshot,
  isOfOneEndpoint,
  type Plan,
  type Relation,
} from '../store/search/documents.ts'
import { searchTarget, type Target } from './access.ts'
import { aggregate } from './aggregate.ts'
import type { Deps } from './deps.ts'
import { createSearchConnections, type SearchConnections } from './search-connections.ts'
import { createSourceFilter } from './source-filter.ts'

export interface SearchOperations {
  /** `body` is JSON text. Returns JSON text. */
  search(ctx: Ctx, index: string, body: string, parameters: Record<string, unknown>): Promise<string>
  searchMany(ctx: Ctx, index: string, searches: NamedSearch[]): Promise<string>
}

/** One of the searches of a request that contains several searches. Without an index, it searches the index of the request. */
interface NamedSearch {
  index?: string
  text: string
}

/** The relation and scope in which a search finds documents. */
export interface Source {
  relation: Relation
  scope: Scope
}

export interface SearchParts {
  /** Finds the documents of a target in PostgreSQL. */
  sourceOf(ctx: Ctx, target: Target, request: SearchRequest): Promise<Source>
  /** Answers searches of documents with an external search engine. If absent, PostgreSQL answers them. */
  forward?: ((ctx: Ctx, scope: Scope, request: SearchRequest) => Promise<string>) | undefined
}

export const searchSeconds = 20
const limits = { perTenant: 2, total: 4, waitingPerTenant: 100, waitMs: 20_000 }
/** Limits of requests with several searches. Each such request keeps up to `docBytesMax` of responses while its next search waits. */
const manyLimits = { perTenant: 2, total: 8, waitingPerTenant: 100, waitMs: 60_000 }

export function createSearchOperations(deps: Deps, parts: SearchParts): SearchOperations {
  const { kit, applications } = deps
  const connections = createSearchConnections(kit.db.open, limits.total, searchSeconds)
  const limit = createConcurrencyLimit(limits)
  const manyLimit = createConcurrencyLimit(manyLimits)

  async function search(ctx: Ctx, index: string, body: string, parameters: Record<string, unknown>): Promise<string> {
    const startedAt = kit.now().getTime()
    const request = readSearch(parseExact(body), parameters, startedAt)
    const target = await searchTarget(applications, ctx, index)
    const source = await parts.sourceOf(ctx, target, request)
    if (parts.forward && !('statistics' in target)) return await parts.forward(ctx, source.scope, request)
    const took = () => kit.now().getTime() - startedAt
    // The limit also covers the work of writing the response, because selecting fields of the documents can take longer than finding them.
    return await limit.run(
      ctx.tenantId,
      async () => answer(request, await run(connections, source, request), took),
      ctx,
    )
  }

  /** Runs the searches one after the other. */
  async function searchAll(ctx: Ctx, index: string, searches: NamedSearch[]): Promise<string[]> {
    const responses: string[] = []
    let length = 0
    for (const { index: other = index, text } of searches) {
      ctx.signal.throwIfAborted()
      const response = await search(ctx, other, text, {}).then(withStatus, failureText)
      length += response.length
      if (length > docBytesMax) throw SearchTooLarge({ bytes: docBytesMax })
      responses.push(response)
    }
    return responses
  }

  return {
    search,
    async searchMany(ctx, index, searches) {
      const startedAt = kit.now().getTime()
      // The index in the URL must exist, even if the headers name other indices.
      await searchTarget(applications, ctx, index)
      const responses = await manyLimit.run(ctx.tenantId, () => searchAll(ctx, index, searches), ctx)
      return `{"took":${kit.now().getTime() - startedAt},"responses":[${responses.join()}]}`
    },
  }
}

const withStatus = (text: string) => `${text.slice(0, -1)},"status":200}`

/**
 * In a request with several searches: returns the response to a search that is not valid, so that the other searches are still answered. A
 * failure of the platform is thrown again.
 */
function failureText(error: unknown): string {
  if (!(error instanceof PlatformError) || error.status >= 500) throw error
  const { error: cause, status } = engineFormat.body(error)
  return JSON.stringify({ error: cause, status })
}

interface Found {
  hits: Hit[] | HitTexts
  total: number
  aggregations: Record<string, unknown> | undefined
}

const numberOf = (hits: Hit[] | HitTexts) => (Array.isArray(hits) ? hits.length : hits.count)

async function run(
  connections: SearchConnections,
  { relation, scope }: Source,
  request: SearchRequest,
): Promise<Found> {
  const { query, postFilter, aggregations, countMax, from } = request
  const hitsQuery: Clause = postFilter
    ? { kind: 'bool', must: [query, postFilter], mustNot: [], should: [], minimum: 0 }
    : query
  try {
    const find = async (sql: Sql, plan: Plan) => {
      const { hits, total } = await findPage(sql, relation, scope, request, hitsQuery, plan)
      return { hits, total: total ?? from + numberOf(hits) }
    }
    const forValues = { db: connections.db, plan: 'forValues' } as const
    // A single statement reads one snapshot, so it needs no transaction.
    if (aggregations.length === 0) {
      const ofEndpoint = isOfOneEndpoint(relation, scope, request, hitsQuery)
      const { db, plan } = ofEndpoint ? connections.ofEndpoint() : forValues
      return { ...(await find(db.sql, plan)), aggregations: undefined }
    }
    return await inSnapshot(connections.db, async (sql) => {
      const found = await find(sql, 'forValues')
      const isEmpty = found.total === 0 && !postFilter && countMax > 0
      return { ...found, aggregations: await aggregate({ sql, relation, scope, query }, aggregations, isEmpty) }
    })
  } catch (error) {
    if (isStatementCanceled(error)) throw SearchTooLong({ seconds: searchSeconds })
    throw error
  }
}

async function answer(
  request: SearchRequest,
  { hits, total, aggregations }: Found,
  took: () => number,
): Promise<string> {
  const { sort, countMax, totalAsNumber } = request
  const texts = Array.isArray(hits) ? await textOfHits(request, hits) : hits.text
  if (texts === null) throw SearchTooLarge({ bytes: docBytesMax })
  const value = Math.min(total, countMax)
  const shownTotal = totalAsNumber
    ? `"total":${total},`
    : countMax === 0
      ? ''
      : `"total":{"value":${value},"relation":"${total > countMax ? 'gte' : 'eq'}"},`
  const maxScore = numberOf(hits) > 0 && sort.length === 0 ? '1.0' : 'null'
  const computed = aggregations ? `,"aggregations":${stringifyExact(aggregations)}` : ''
  return (
    `{"took":${took()},"timed_out":false,"_shards":{"total":1,"successful":1,"skipped":0,"failed":0},` +
    `"hits":{${shownTotal}"max_score":${maxScore},"hits":[${texts}]}${computed}}`
  )
}

async function textOfHits({ source, sort }: SearchRequest, hits: Hit[]): Promise<string> {
  const filter = typeof source === 'object' ? createSourceFilter(source) : undefined
  const textOf = ({ id, index, doc, sort: values }: Hit) => {
    if (doc === null) throw SearchTooLarge({ bytes: docBytesMax })
    const shown = source === false ? '' : `,"_source":${filter ? stringifyExact(filter(parseExact(doc))) : doc}`
    const sorted = values ? `,"sort":[${values.map((value) => value ?? 'null').join()}]` : ''
    const score = sort.length === 0 ? '1.0' : 'null'
    return `{"_index":${JSON.stringify(index)},"_type":"_doc","_id":"${id}","_score":${score}${shown}${sorted}}`
  }
  const pace = createPace()
  const texts: string[] = []
  for (const hit of hits) {
    texts.push(textOf(hit))
    // Selecting the fields of a page of large documents can take seconds, so other work runs in between.
    await pace()
  }
  return texts.join()
}

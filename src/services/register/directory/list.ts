/**
 * Lists endpoints for users: searched, filtered and sorted, one page after a cursor. No request takes long: endpoints are checked in the
 * order of the list for a limited time. If few endpoints meet a condition, the index of this condition is used instead.
 */
import { monotonicMs } from '../../../kernel/clock.ts'
import type { Ctx } from '../../../kernel/contract.ts'
import type { Fragment, Sql } from '../../../kernel/db.ts'
import { invalidField } from '../../../kernel/errors.ts'
import { comparePositions, cursorOf, type Placed, type Position, positionOf } from './cursor.ts'
import { sortText } from './document.ts'
import { type Connection, connections, hasConditions, type Sort } from './query.ts'
import { type DirectoryQuery, type QueryDeps, queryOf, type SelectionRequest } from './selection.ts'
import type { HasKey } from './settings.ts'
import * as candidates from './store/candidates.ts'
import { type Walk, walkRest, walkValues } from './store/walk.ts'

export interface DirectoryRequest extends SelectionRequest {
  sort: Sort
  cursor: string | undefined
  limit: number
  includeMetadata: boolean
}

export interface DirectoryEndpoint {
  endpointId: string
  createdDate: Date
  appName: string
  appVersion: { name: string; registeredDate: Date }
  connection: Connection
  lastActivity?: Date
  metadata?: Record<string, unknown>
  metadataUpdatedDate?: Date
}

export interface DirectoryPage {
  content: DirectoryEndpoint[]
  nextCursor?: string
}

export interface ListDeps extends QueryDeps {
  /** Returns whether these applications or versions index the metadata key, so that a list can be sorted by it. */
  isIndexed: HasKey
  limits: ListLimits
}

export interface ListLimits {
  /** Time after which no further endpoints are checked. */
  budgetMs: number
  /** Number of endpoints that are checked before an index is tried. */
  firstSteps: number
  /** Maximum number of endpoints that an index may find for a list in another order than the index. */
  candidatesMax: number
}
export const defaultLimits: ListLimits = { budgetMs: 30, firstSteps: 300, candidatesMax: 20_000 }

type Item = Placed<candidates.DirectoryRow>

/** A part of a list: endpoints in order, and the position up to which they are complete. */
interface Part {
  items: Item[]
  /** The position up to which the part is complete; undefined if the list ends with this part. */
  reached: Position | undefined
}

interface Listing {
  query: DirectoryQuery
  sort: Sort
  after: Position | undefined
  limit: number
  includeMetadata: boolean
}

export async function listDirectory(deps: ListDeps, ctx: Ctx, request: DirectoryRequest): Promise<DirectoryPage> {
  const { sort, limit, includeMetadata } = request
  const after = request.cursor ? positionOf(request.cursor, sort) : undefined
  const listing: Listing = { query: await queryOf(deps, ctx, request), sort, after, limit, includeMetadata }
  const [ofApplications, singles] = await Promise.all([partOfApplications(deps, listing), singlesOf(deps, listing)])
  const merged = merge(listing, ofApplications, singles)
  const unread = merged.items.filter(({ row }) => row === undefined).map(({ seq }) => seq)
  const rows = await candidates.findRows(deps.db.sql, listing.query.scope.tenantId, unread, includeMetadata)
  const bySeq = new Map(rows.map((row) => [row.seq, row]))
  return {
    content: merged.items.flatMap(({ seq, row = bySeq.get(seq) }) => (row ? [endpointOf(row)] : [])),
    ...(merged.reached && { nextCursor: cursorOf(sort, merged.reached) }),
  }
}

/**
 * Adds to a part the endpoints that the caller may read by a grant on the endpoint itself (`singles`). Leaves out endpoints behind the
 * position up to which the part is complete.
 */
function merge({ sort, limit }: Listing, part: Part, singles: Position[]): Part {
  const { reached } = part
  const complete = singles.filter((one) => !reached || comparePositions(one, reached, sort.descending) <= 0)
  const all = [...part.items, ...complete].sort((one, other) => comparePositions(one, other, sort.descending))
  if (all.length > limit) return { items: all.slice(0, limit), reached: all[limit - 1] }
  return { items: all, reached: reached }
}

const endpointOf = (row: candidates.DirectoryRow): DirectoryEndpoint => ({
  endpointId: row.endpointId,
  createdDate: row.createdDate,
  appName: row.applicationName,
  appVersion: { name: row.versionName, registeredDate: row.versionRegisteredDate },
  connection: connections[row.connection]!,
  ...(row.lastActivity && { lastActivity: row.lastActivity }),
  ...(row.metadata && { metadata: row.metadata }),
  ...(row.metadataUpdatedDate && { metadataUpdatedDate: row.metadataUpdatedDate }),
})

async function singlesOf(deps: ListDeps, listing: Listing): Promise<Position[]> {
  const { query, sort } = listing
  const found = await candidates.findSingles(deps.db.sql, { ...query, sort }, deps.filters)
  return positionsAfterCursor(
    listing,
    found.map((one) => positionIn(sort, one)),
  )
}

/** Returns the positions after the cursor, in order. */
function positionsAfterCursor({ sort, after }: Listing, positions: Position[]): Position[] {
  const nextPositions = after ? positions.filter((one) => comparePositions(one, after, sort.descending) > 0) : positions
  return nextPositions.sort((one, other) => comparePositions(one, other, sort.descending))
}

function positionIn({ by }: Sort, { seq, endpointId, lastActivity, sortedBy }: candidates.Candidate): Position {
  if ('field' in by && by.field === 'createdDate') return { seq, value: undefined, isRest: false }
  const value =
    'key' in by
      ? sortText(sortedBy)
      : by.field === 'endpointId'
        ? endpointId
        : (lastActivity?.toISOString() ?? undefined)
  return { seq, value, isRest: value === undefined }
}

async function partOfApplications(deps: ListDeps, listing: Listing): Promise<Part> {
  const { query, sort } = listing
  const { tenantId, applicationNames } = query.scope
  const { endpointIds, versionNames } = query.conditions
  if (applicationNames.length === 0) return { items: [], reached: undefined }
  if ('key' in sort.by && !(await deps.isIndexed(tenantId, applicationNames, sort.by.key, versionNames)))
    return await sortedInMemory(deps, listing)
  const { budgetMs } = deps.limits
  let began = monotonicMs()
  const remainingMs = () => budgetMs - (monotonicMs() - began)
  const isOver = () => remainingMs() < 0
  const isConditional = hasConditions(query.conditions)
  const firstSteps = isConditional ? Math.max(deps.limits.firstSteps, listing.limit + 1) : listing.limit + 1
  if (query.words === 'rare' || endpointIds) {
    const start = listing.after ?? {
      seq: sort.descending ? Number.MAX_SAFE_INTEGER : -1,
      value: undefined,
      isRest: false,
    }
    const indexed = await byIndex(deps, listing, { items: [], reached: start }, isOver)
    if (indexed) return cutPart(listing, indexed)
  }
  let part = await walk(deps, listing, { items: [], reached: listing.after }, firstSteps)
  if (part.reached === undefined || part.items.length > listing.limit) return cutPart(listing, part)
  if (isConditional && query.words !== 'rare') {
    const indexed = await byIndex(deps, listing, part, isOver)
    if (indexed) return cutPart(listing, indexed)
    // The index lookup has used up a part of the time. Half of the budget is reserved for `walk`, because otherwise the page would have few
    // endpoints.
    began = Math.max(began, monotonicMs() - budgetMs / 2)
  }
  for (let steps = firstSteps * 2; part.reached && part.items.length <= listing.limit && !isOver(); ) {
    const stepBegan = monotonicMs()
    part = await walk(deps, listing, part, steps)
    const msPerStep = (monotonicMs() - stepBegan) / steps
    steps = Math.max(firstSteps, Math.min(steps * 2, Math.floor(remainingMs() / msPerStep)))
  }
  return cutPart(listing, part)
}

/** Shortens the part to a page. If it has more endpoints than the page, another page follows. */
function cutPart({ limit }: Listing, { items, reached }: Part): Part {
  return items.length > limit ? { items: items.slice(0, limit), reached: items[limit - 1] } : { items, reached }
}

/**
 * Checks the next `steps` endpoints in the order of the list. Returns the part `before`, extended by the endpoints that meet the
 * conditions.
 */
async function walk(deps: ListDeps, listing: Listing, before: Part, steps: number): Promise<Part> {
  const { db, filters } = deps
  const { query, sort, limit, includeMetadata } = listing
  const isRest = before.reached?.isRest ?? false
  const step: Walk = {
    ...query,
    sort,
    after: before.reached,
    steps,
    limit: limit + 1 - before.items.length,
    includeMetadata,
  }
  const walked = await (isRest ? walkRest : walkValues)(db.sql, step, filters)
  const toPosition = ({ seq, value }: { seq: number; value: string | null }): Position => ({
    seq,
    value: value ?? undefined,
    isRest,
  })
  const items = [...before.items, ...walked.found.map((one) => ({ ...toPosition(one), row: one.row }))]
  if (walked.steps >= steps) return { items, reached: toPosition(walked.last!) }
  const hasRest = !isRest && ('key' in sort.by || sort.by.field === 'lastActivity')
  if (!hasRest) return { items, reached: undefined }
  const rest: Part = { items, reached: { seq: -1, value: undefined, isRest: true } }
  return items.length > limit ? rest : await walk(deps, listing, rest, steps)
}

/** Maximum number of endpoints from an index (candidates) that are sorted. With more candidates, `walk` fills a page sooner. */
const orderedMax = 3000

/** Completes the part with the index of a condition that few endpoints meet. Returns undefined if there is no such condition. */
async function byIndex(deps: ListDeps, listing: Listing, part: Part, isOver: () => boolean): Promise<Part | undefined> {
  const { query, sort } = listing
  if (query.conditions.words.length > 0 && 'field' in sort.by && sort.by.field === 'createdDate')
    return await searchInOrder(deps, listing, part, isOver)
  const candidatesMax = Math.min(deps.limits.candidatesMax, orderedMax)
  for (const source of await sourcesOf(deps, listing, candidatesMax)) {
    const { examined, found } = await candidates.findCandidates(
      deps.db.sql,
      { ...query, sort },
      deps.filters,
      source,
      candidatesMax,
    )
    if (examined <= candidatesMax) {
      const items = positionsAfterCursor(
        listing,
        found.map((one) => positionIn(sort, one)),
      )
      return { items: items.slice(0, listing.limit + 1), reached: undefined }
    }
  }
  return undefined
}

/**
 * Returns one SQL query for each condition that has an index. Each query finds endpoints that meet its condition: at most `candidatesMax` +
 * 1, so that the caller can see whether there are more than `candidatesMax`.
 */
export async function sourcesOf(
  { db, filters }: QueryDeps,
  { query, sort }: Pick<Listing, 'query' | 'sort'>,
  candidatesMax: number,
): Promise<Fragment[]> {
  const { conditions } = query
  const [sql, sorted, limit] = [db.sql as Sql, { ...query, sort }, candidatesMax + 1]
  const sources: Fragment[] = []
  if (conditions.endpointIds) sources.push(candidates.idsSql(sql, sorted, conditions.endpointIds))
  if (conditions.filters.length > 0 && conditions.filters[0]!.members < limit)
    sources.push(candidates.membersSql(sql, sorted, filters))
  if (conditions.words.length > 0 && query.words !== 'common')
    sources.push(
      candidates.searchSql(
        sql,
        sorted,
        { ...(await candidates.findBounds(sql, query.scope)), descending: false },
        limit,
      ),
    )
  if (conditions.metadata.length > 0) sources.push(candidates.metadataSql(sql, sorted, limit))
  // `activitySql` reads the table `activity`, in which endpoints that were never active have no row.
  const { connections: connectionStates, activeAfter } = conditions
  if (activeAfter || (connectionStates && !connectionStates.includes('never')))
    sources.push(candidates.activitySql(sql, sorted, limit))
  return sources
}

/** Searches the ranges of the search index in the order of registration. */
async function searchInOrder(deps: ListDeps, listing: Listing, part: Part, isOver: () => boolean): Promise<Part> {
  const { query, sort, limit } = listing
  const { descending } = sort
  const bounds = await candidates.findBounds(deps.db.sql, query.scope)
  let { items, reached } = part
  while (reached && items.length <= limit) {
    const range: candidates.SearchRange = descending
      ? { from: bounds.from, to: Math.min(bounds.to, reached.seq - 1), descending }
      : { from: Math.max(bounds.from, reached.seq + 1), to: bounds.to, descending }
    if (range.from > range.to) return { items, reached: undefined }
    const stopAfter = limit + 1 - items.length
    const sorted = { ...query, sort }
    const source = candidates.searchSql(deps.db.sql, sorted, range, stopAfter)
    const found = await candidates.findCandidates(deps.db.sql, sorted, deps.filters, source, Number.MAX_SAFE_INTEGER)
    const next = found.found.map((one) => positionIn(sort, one))
    items = [...items, ...next.sort((one, other) => comparePositions(one, other, descending))]
    if (found.examined < stopAfter) return { items, reached: undefined }
    reached = { seq: descending ? found.smallest! : found.greatest!, value: undefined, isRest: false }
    if (isOver()) break
  }
  return { items, reached }
}

/** Sorts by a key that is not indexed, if only few endpoints meet the conditions. */
async function sortedInMemory(deps: ListDeps, listing: Listing): Promise<Part> {
  const { query, sort, limit } = listing
  const { candidatesMax } = deps.limits
  const sorted = { ...query, sort }
  const sources = [
    ...(await sourcesOf(deps, listing, candidatesMax)),
    candidates.scopeSql(deps.db.sql, sorted, candidatesMax + 1),
  ]
  for (const source of sources) {
    const { examined, found } = await candidates.findCandidates(
      deps.db.sql,
      sorted,
      deps.filters,
      source,
      candidatesMax,
    )
    if (examined > candidatesMax) continue
    const items = positionsAfterCursor(
      listing,
      found.map((one) => positionIn(sort, one)),
    )
    return cutPart(listing, { items: items.slice(0, limit + 1), reached: undefined })
  }
  throw invalidField(
    'sort',
    `more than ${candidatesMax} endpoints are sorted only by an indexed key: narrow the list, or add the key to directory.keys ` +
      'in the configuration of the instance epr',
  )
}

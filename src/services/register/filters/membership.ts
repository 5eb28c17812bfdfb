/** Updates the members of filters when an endpoint changes, in the transaction of the change. */
import { setImmediate as yieldToEventLoop } from 'node:timers/promises'
import { type Bus, splitForEvents } from '../../../kernel/bus.ts'
import { monotonicMs } from '../../../kernel/clock.ts'
import { type ConcurrencyLimit, createConcurrencyLimit } from '../../../kernel/concurrency-limit.ts'
import type { Sql } from '../../../kernel/db.ts'
import { invalidField } from '../../../kernel/errors.ts'
import type { Changes, EndpointChange } from '../endpoint-changes.ts'
import { EndpointsMatched, EndpointsUnmatched } from '../events.ts'
import { limitTime, resetTimeLimit } from '../lists/store/list.ts'
import {
  type CompiledFilters,
  createCompiledFilters,
  type FilterMove,
  type FilterSet,
  type FilterWithQuery,
} from './compiled-filters.ts'
import { findKnown, findMatching } from './store/evaluation.ts'
import * as store from './store/filters.ts'
import * as members from './store/members.ts'

/** Limits for patterns: time on this node for each endpoint, then time in the database for all, with few at once per tenant. */
const patternLimits = { nodeMs: 20, databaseMs: 5000, concurrentPerTenant: 2 }

interface Deps {
  bus: Bus
  compiled: CompiledFilters
  limit: ConcurrencyLimit
}

export function updateMembersOnChange(bus: Bus, changes: Changes) {
  const deps: Deps = {
    bus,
    compiled: createCompiledFilters(),
    limit: createConcurrencyLimit({ perTenant: patternLimits.concurrentPerTenant, waitingPerTenant: 0 }),
  }
  changes.listen(async (sql, told) => {
    const ofApplications = Map.groupBy(told, ({ tenantId, applicationName }) => `${applicationName}\n${tenantId}`)
    // Sorted, so that transactions cannot deadlock.
    for (const key of [...ofApplications.keys()].sort()) await follow(deps, sql, ofApplications.get(key)!)
  })
}

async function follow({ bus, compiled, limit }: Deps, sql: Sql, told: EndpointChange[]) {
  const { tenantId, applicationName } = told[0]!
  const revision = await store.holdFilters(sql, { tenantId, applicationName })
  if (revision === null) return
  const set = await compiled.read(applicationName, revision, () =>
    store.findQueries(sql, { tenantId, applicationName }),
  )
  const { moves, costly } = await transitionsOf(set, told)
  if (costly.size > 0) moves.push(...(await limit.run(tenantId, () => evaluateInDatabase(sql, tenantId, costly))))
  if (moves.length > 0)
    await members.saveMoves(
      sql,
      tenantId,
      moves.map(({ filter: { memberSet, pending }, seq, matched }) => ({ memberSet, pending, seq, matched })),
    )
  const gone = new Map(told.filter(({ after }) => !after).map(({ seq, endpointId }) => [seq, endpointId]))
  if (gone.size > 0) moves.push(...(await forget(sql, tenantId, set, gone)))
  await publishMoves(bus, sql, { tenantId, applicationName }, moves)
}

/** Yields to other requests between two endpoints, however long the patterns of one tenant take. */
async function transitionsOf(set: FilterSet, told: EndpointChange[]) {
  const moves: FilterMove[] = []
  const costly = new Map<FilterWithQuery, EndpointChange[]>()
  for (const change of told) {
    const began = monotonicMs()
    const found = set.transitionsOf(change, () => monotonicMs() - began < patternLimits.nodeMs)
    moves.push(...found.moves)
    for (const filter of found.costly) costly.set(filter, [...(costly.get(filter) ?? []), change])
    if (told.length > 1 && monotonicMs() - began > patternLimits.nodeMs / 4) await yieldToEventLoop()
  }
  return { moves, costly }
}

/** Evaluates filters in the database, where the changes are already written. A pending filter gets a result for each change. */
async function evaluateInDatabase(sql: Sql, tenantId: string, costly: Map<FilterWithQuery, EndpointChange[]>) {
  const moves: FilterMove[] = []
  const began = monotonicMs()
  for (const [filter, changed] of costly) {
    const left = Math.ceil(patternLimits.databaseMs - (monotonicMs() - began))
    if (left <= 0) throw tooSlow()
    await limitTime(sql, left)
    const seqs = changed.map(({ seq }) => seq)
    try {
      const known = await findKnown(sql, { tenantId, memberSet: filter.memberSet, seqs })
      const matching = await findMatching(sql, filter.query, tenantId, seqs)
      for (const { seq, endpointId } of changed) {
        const matched = matching.has(seq)
        if (filter.pending || matched !== known.has(seq)) moves.push({ filter, endpointId, seq, matched })
      }
    } catch (error) {
      throw (error as { code?: unknown }).code === outOfTime ? tooSlow() : error
    }
  }
  await resetTimeLimit(sql)
  return moves
}

const tooSlow = () =>
  invalidField(
    'metadata',
    `the patterns of the application's filters took longer than ${patternLimits.databaseMs / 1000} s on it`,
  )

async function forget(sql: Sql, tenantId: string, set: FilterSet, gone: Map<number, string>): Promise<FilterMove[]> {
  const pendingSets = set.filters.filter(({ pending }) => pending).map(({ memberSet }) => memberSet)
  const left = await members.removeEndpoints(sql, tenantId, { seqs: [...gone.keys()], pendingSets })
  return left.flatMap(({ memberSet, seq }) => {
    const filter = set.filters.find((one) => one.memberSet === memberSet)
    return filter ? { filter, seq, endpointId: gone.get(seq)!, matched: false } : []
  })
}

/** Publishes moves of active filters. Those of a pending filter are covered by the event of its activation. */
async function publishMoves(bus: Bus, sql: Sql, of: store.OfApplication, moves: FilterMove[]) {
  const told = Map.groupBy(
    moves.filter(({ filter }) => !filter.pending),
    ({ filter, matched }) => `${matched} ${filter.filterId}`,
  )
  for (const group of told.values()) {
    const [{ filter, matched }] = group as [FilterMove]
    const event = matched ? EndpointsMatched : EndpointsUnmatched
    for (const endpointIds of splitForEvents(group.map(({ endpointId }) => endpointId)))
      await bus.publish(sql, event, { ...of, filterId: filter.filterId, endpointIds })
  }
}

/** PostgreSQL's error code for a statement that ran out of time. */
const outOfTime = '57014'

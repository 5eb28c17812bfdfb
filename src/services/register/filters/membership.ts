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
  type FilterSet,
  type FilterWithQuery,
  type MatchTransition,
} from './compiled-filters.ts'
import { findMatching, findStoredMembers } from './store/evaluation.ts'
import * as store from './store/filters.ts'
import * as members from './store/members.ts'

/**
 * Limits for patterns: milliseconds on this node for each endpoint, milliseconds in the database for each change, and concurrent changes
 * for each tenant.
 */
const patternLimits = { nodeMs: 20, databaseMs: 5000, concurrentPerTenant: 2 }

interface Deps {
  bus: Bus
  compiled: CompiledFilters
  limit: ConcurrencyLimit
  /** The revisions that `Changes.prepare` has requested and that `updateMembers` has not read yet, by transaction. */
  sent: WeakMap<Sql, { application: store.ApplicationKey; revision: Promise<number | null> }>
}

export function updateMembersOnChange(bus: Bus, changes: Changes) {
  const deps: Deps = {
    bus,
    compiled: createCompiledFilters(),
    limit: createConcurrencyLimit({ perTenant: patternLimits.concurrentPerTenant, waitingPerTenant: 0 }),
    sent: new WeakMap(),
  }
  changes.listen(
    async (sql, endpointChanges) => {
      const byApplication = Map.groupBy(
        endpointChanges,
        ({ tenantId, applicationName }) => `${applicationName}\n${tenantId}`,
      )
      // The applications are sorted, so that concurrent transactions cannot deadlock.
      for (const key of [...byApplication.keys()].sort()) await updateMembers(deps, sql, byApplication.get(key)!)
    },
    (sql, application) => {
      const revision = store.lockFiltersShared(sql, application)
      // If this statement fails, the transaction fails too. The error can therefore be ignored if nothing awaits the revision.
      revision.catch(() => {})
      deps.sent.set(sql, { application, revision })
    },
  )
}

/**
 * Takes the shared lock on the filters of an application and returns their revision. If `prepare` was called, its statement has already
 * done this.
 */
async function lockFilters({ sent }: Deps, sql: Sql, application: store.ApplicationKey): Promise<number | null> {
  const prepared = sent.get(sql)
  sent.delete(sql)
  const isSame =
    prepared?.application.applicationName === application.applicationName &&
    prepared.application.tenantId === application.tenantId
  return await (isSame ? prepared.revision : store.lockFiltersShared(sql, application))
}

async function updateMembers(deps: Deps, sql: Sql, endpointChanges: EndpointChange[]) {
  const { bus, compiled, limit } = deps
  const { tenantId, applicationName } = endpointChanges[0]!
  const revision = await lockFilters(deps, sql, { tenantId, applicationName })
  if (revision === null) return
  const set = await compiled.read(applicationName, revision, () =>
    store.findQueries(sql, { tenantId, applicationName }),
  )
  const { moves: transitions, costly } = await transitionsOf(set, endpointChanges)
  if (costly.size > 0) transitions.push(...(await limit.run(tenantId, () => evaluateInDatabase(sql, tenantId, costly))))
  if (transitions.length > 0)
    await members.saveTransitions(
      sql,
      tenantId,
      transitions.map(({ filter: { memberSet, pending }, seq, matched }) => ({ memberSet, pending, seq, matched })),
    )
  const deleted = new Map(endpointChanges.filter(({ after }) => !after).map(({ seq, endpointId }) => [seq, endpointId]))
  if (deleted.size > 0) transitions.push(...(await removeDeletedEndpoints(sql, tenantId, set, deleted)))
  await publishTransitions(bus, sql, { tenantId, applicationName }, transitions)
}

/**
 * Finds the transitions of all changes. If evaluating an endpoint takes long, it lets other requests run before the next endpoint, so that
 * the patterns of one tenant do not block other tenants.
 */
async function transitionsOf(set: FilterSet, endpointChanges: EndpointChange[]) {
  const moves: MatchTransition[] = []
  const costly = new Map<FilterWithQuery, EndpointChange[]>()
  for (const change of endpointChanges) {
    const began = monotonicMs()
    const result = set.transitionsOf(change, () => monotonicMs() - began < patternLimits.nodeMs)
    moves.push(...result.transitions)
    for (const filter of result.costly) costly.set(filter, [...(costly.get(filter) ?? []), change])
    if (endpointChanges.length > 1 && monotonicMs() - began > patternLimits.nodeMs / 4) await yieldToEventLoop()
  }
  return { moves, costly }
}

/**
 * Evaluates filters in the database, where the changes are already written. For a pending filter, returns a result for every change, even
 * if the result is the same as before.
 */
async function evaluateInDatabase(sql: Sql, tenantId: string, costly: Map<FilterWithQuery, EndpointChange[]>) {
  const moves: MatchTransition[] = []
  const began = monotonicMs()
  for (const [filter, changed] of costly) {
    const remainingMs = Math.ceil(patternLimits.databaseMs - (monotonicMs() - began))
    if (remainingMs <= 0) throw tooSlow()
    await limitTime(sql, remainingMs)
    const seqs = changed.map(({ seq }) => seq)
    try {
      const membersBefore = await findStoredMembers(sql, { tenantId, memberSet: filter.memberSet, seqs })
      const matching = await findMatching(sql, filter.query, tenantId, seqs)
      for (const { seq, endpointId } of changed) {
        const matched = matching.has(seq)
        if (filter.pending || matched !== membersBefore.has(seq)) moves.push({ filter, endpointId, seq, matched })
      }
    } catch (error) {
      throw (error as { code?: unknown }).code === statementTimeoutCode ? tooSlow() : error
    }
  }
  await resetTimeLimit(sql)
  return moves
}

const tooSlow = () =>
  invalidField(
    'metadata',
    `comparing it with the patterns of the application's filters took longer than ${patternLimits.databaseMs / 1000} s`,
  )

async function removeDeletedEndpoints(
  sql: Sql,
  tenantId: string,
  set: FilterSet,
  deleted: Map<number, string>,
): Promise<MatchTransition[]> {
  const pendingSets = set.filters.filter(({ pending }) => pending).map(({ memberSet }) => memberSet)
  const removed = await members.removeEndpoints(sql, tenantId, { seqs: [...deleted.keys()], pendingSets })
  return removed.flatMap(({ memberSet, seq }) => {
    const filter = set.filters.find((one) => one.memberSet === memberSet)
    return filter ? { filter, seq, endpointId: deleted.get(seq)!, matched: false } : []
  })
}

/** Publishes the transitions of active filters. For a pending filter, the event of its activation covers them. */
async function publishTransitions(bus: Bus, sql: Sql, application: store.ApplicationKey, moves: MatchTransition[]) {
  const groups = Map.groupBy(
    moves.filter(({ filter }) => !filter.pending),
    ({ filter, matched }) => `${matched} ${filter.filterId}`,
  )
  for (const group of groups.values()) {
    const [{ filter, matched }] = group as [MatchTransition]
    const event = matched ? EndpointsMatched : EndpointsUnmatched
    for (const endpointIds of splitForEvents(group.map(({ endpointId }) => endpointId)))
      await bus.publish(sql, event, { ...application, filterId: filter.filterId, endpointIds })
  }
}

/** PostgreSQL's error code for a statement that exceeded its time limit. */
const statementTimeoutCode = '57014'

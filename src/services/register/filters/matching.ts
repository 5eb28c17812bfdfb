/**
 * Who matches which filter: found in the background for a new query, then kept by each change of an endpoint. Both may work
 * on the same endpoint at once; the migration says why the result is right.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { defineWalk, type Task } from '../../../kernel/bulk/types.ts'
import { inParts } from '../../../kernel/bus.ts'
import { monotonicMs } from '../../../kernel/clock.ts'
import type { Sql } from '../../../kernel/db.ts'
import type { Kit } from '../../../kernel/define-service.ts'
import { invalidField } from '../../../kernel/errors.ts'
import { createGate } from '../../../kernel/gate.ts'
import { defineJob } from '../../../kernel/jobs.ts'
import { parse } from '../document-query/parse.ts'
import type { Changes, EndpointChange } from '../endpoint-changes.ts'
import { countEndpoints } from '../endpoints/store/counts.ts'
import { EndpointsMatched, EndpointsUnmatched, FilterActivated, FilterPending } from '../events.ts'
import { limitTime, limitTimeAsUsual } from '../lists/store/list.ts'
import { type AskedFilter, createFilterSet, type FilterMove, type FilterSet } from './compiled-filters.ts'
import { findKnown, findMatching } from './store/evaluation.ts'
import * as store from './store/filters.ts'
import * as members from './store/members.ts'

export interface Matching {
  /** The filter has an empty set of members: tells that it is pending, and finds its endpoints after the commit. */
  begin(sql: Sql, filter: FilterToMatch, createdBy: Task['createdBy']): Promise<void>
  /** A set that is nobody's any more, after the commit. */
  clear(sql: Sql, set: { tenantId: string; memberSet: number }): Promise<void>
}

export interface FilterToMatch extends store.OfFilter {
  memberSet: number
}

/** Steps of about 200 ms: a transaction that lasts longer keeps dead rows of the whole database. */
export const MatchFilter = defineWalk<Omit<FilterToMatch, 'tenantId'>>('register.match-filter', {
  title: 'Match a filter',
  first: 2000,
  keepDays: 1,
})
const ClearMembers = defineJob<Record<never, never>>('register.clear-members', { timeoutSeconds: 3600 })

const stepMillisecondsMax = 60_000
const clearedAtOnce = 5000
/** What the patterns of filters may take of one change: here, and then in the database, where few of a tenant are at once. */
const patterns = { milliseconds: 20, millisecondsThere: 5000, atOnce: 2 }

export function createMatching({ db, bus, bulk, jobs }: Kit, changes: Changes): Matching {
  const compiled = createCompiled()
  const gate = createGate({ perTenant: patterns.atOnce, waitingPerTenant: 0 })

  bulk.handleWalk(MatchFilter, {
    async step(sql, { tenantId, data }, { after, limit }) {
      const filter = { tenantId, ...data }
      const row = await lockPending(sql, filter)
      if (!row) return 'canceled'
      const next = await members.findNext(sql, { ...filter, after, limit })
      if (next.count === 0) return 'end'
      await limitTime(sql, stepMillisecondsMax)
      await members.matchPart(sql, { ...filter, query: parse(row.documentQuery), after, until: next.last })
      return next
    },
    async finish(sql, { tenantId, data }) {
      const { applicationName, filterId, memberSet } = data
      const filter = { tenantId, applicationName, filterId }
      if (!(await lockPending(sql, { ...filter, memberSet }))) return
      await store.activateFilter(sql, filter)
      await bus.publish(sql, FilterActivated, filter)
      // Most of it before, a rest after all changes of endpoints stand still.
      await members.deleteRefused(sql, tenantId, memberSet)
      await store.publishFilters(sql, filter)
      await members.deleteRefused(sql, tenantId, memberSet)
    },
  })

  jobs.handle(ClearMembers, async (_, { signal }) => {
    while (await db.tx((sql) => members.deleteLeft(sql, clearedAtOnce))) signal.throwIfAborted()
  })

  changes.listen(async (sql, told) => {
    const ofApplications = Map.groupBy(told, ({ tenantId, applicationName }) => `${applicationName}\n${tenantId}`)
    // In one order, so that nobody waits in a circle.
    for (const key of [...ofApplications.keys()].sort()) await follow(sql, ofApplications.get(key)!)
  })

  async function follow(sql: Sql, told: EndpointChange[]) {
    const { tenantId, applicationName } = told[0]!
    const revision = await store.holdFilters(sql, { tenantId, applicationName })
    if (revision === null) return
    const set = await compiled.read(applicationName, revision, () =>
      store.findQueries(sql, { tenantId, applicationName }),
    )
    const { moves, costly } = await movesOf(set, told)
    if (costly.size > 0) moves.push(...(await gate.pass(tenantId, () => askDatabase(sql, tenantId, costly))))
    if (moves.length > 0)
      await members.saveMoves(
        sql,
        tenantId,
        moves.map(({ filter: { memberSet, pending }, seq, matched }) => ({ memberSet, pending, seq, matched })),
      )
    const gone = new Map(told.filter(({ after }) => !after).map(({ seq, endpointId }) => [seq, endpointId]))
    if (gone.size > 0) moves.push(...(await forget(sql, tenantId, set, gone)))
    await tellMoves(sql, { tenantId, applicationName }, moves)
  }

  /** Whatever the patterns of one tenant take, between two endpoints the others have their turn. */
  async function movesOf(set: FilterSet, told: EndpointChange[]) {
    const moves: FilterMove[] = []
    const costly = new Map<AskedFilter, EndpointChange[]>()
    for (const change of told) {
      const began = monotonicMs()
      const found = set.movesOf(change, () => monotonicMs() - began < patterns.milliseconds)
      moves.push(...found.moves)
      for (const filter of found.costly) costly.set(filter, [...(costly.get(filter) ?? []), change])
      if (told.length > 1 && monotonicMs() - began > patterns.milliseconds / 4) await nextTurn()
    }
    return { moves, costly }
  }

  /** The database sees the endpoints as they are after the change. What it says of a pending filter always has its place. */
  async function askDatabase(sql: Sql, tenantId: string, costly: Map<AskedFilter, EndpointChange[]>) {
    const moves: FilterMove[] = []
    const began = monotonicMs()
    for (const [filter, changed] of costly) {
      const left = Math.ceil(patterns.millisecondsThere - (monotonicMs() - began))
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
    await limitTimeAsUsual(sql)
    return moves
  }

  const tooSlow = () =>
    invalidField(
      'metadata',
      `the patterns of the application's filters took longer than ${patterns.millisecondsThere / 1000} s on it`,
    )

  async function forget(sql: Sql, tenantId: string, set: FilterSet, gone: Map<number, string>): Promise<FilterMove[]> {
    const pendingSets = set.filters.filter(({ pending }) => pending).map(({ memberSet }) => memberSet)
    const left = await members.removeEndpoints(sql, tenantId, { seqs: [...gone.keys()], pendingSets })
    return left.flatMap(({ memberSet, seq }) => {
      const filter = set.filters.find((one) => one.memberSet === memberSet)
      return filter ? { filter, seq, endpointId: gone.get(seq)!, matched: false } : []
    })
  }

  /** What happens while a filter is pending is part of what its activation tells. */
  async function tellMoves(sql: Sql, of: store.OfApplication, moves: FilterMove[]) {
    const told = Map.groupBy(
      moves.filter(({ filter }) => !filter.pending),
      ({ filter, matched }) => `${matched} ${filter.filterId}`,
    )
    for (const group of told.values()) {
      const [{ filter, matched }] = group as [FilterMove]
      const event = matched ? EndpointsMatched : EndpointsUnmatched
      for (const endpointIds of inParts(group.map(({ endpointId }) => endpointId)))
        await bus.publish(sql, event, { ...of, filterId: filter.filterId, endpointIds })
    }
  }

  return {
    async begin(sql, { tenantId, applicationName, filterId, memberSet }, createdBy) {
      await bus.publish(sql, FilterPending, { tenantId, applicationName, filterId })
      const total = await countEndpoints(sql, { tenantId, applicationNames: [applicationName] })
      const data = { applicationName, filterId, memberSet }
      await bulk.startWalk(sql, MatchFilter, { tenantId, createdBy, data }, total)
    },
    async clear(sql, set) {
      await members.leaveSet(sql, set)
      await jobs.send(sql, ClearMembers, {})
    },
  }
}

/** The filter as long as it needs this set filled: one that was edited meanwhile has another set. */
async function lockPending(sql: Sql, filter: FilterToMatch): Promise<store.FilterRow | undefined> {
  const row = await store.lockFilter(sql, filter)
  return row?.memberSet === filter.memberSet && row.status === 'pending' ? row : undefined
}

/** PostgreSQL's word for a statement that ran out of time. */
const outOfTime = '57014'

const kept = { applications: 200, patternSize: 60_000 }

/** The filters of applications as this process last needed them; a number that never comes again says whether they are still so. */
function createCompiled() {
  const sets = new Map<string, { revision: number; set: FilterSet }>()
  const patternSize = () => [...sets.values()].reduce((sum, { set }) => sum + set.patternSize, 0)
  return {
    async read(applicationName: string, revision: number, load: () => Promise<store.StoredQuery[]>) {
      const known = sets.get(applicationName)
      // A Map keeps the order of insertion: what was used last goes last.
      sets.delete(applicationName)
      const set =
        known?.revision === revision
          ? known.set
          : createFilterSet((await load()).map(({ status, ...row }) => ({ ...row, pending: status === 'pending' })))
      // Whoever was slower has not necessarily the newer ones.
      const other = sets.get(applicationName)
      if (!other || other.revision <= revision) sets.set(applicationName, { revision, set })
      while (sets.size > kept.applications || (sets.size > 1 && patternSize() > kept.patternSize))
        sets.delete(sets.keys().next().value!)
      return set
    },
  }
}

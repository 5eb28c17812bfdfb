/**
 * Finds the endpoints of a filter with a new query, in the background. `membership.ts` keeps them with each change of an
 * endpoint; both may work on the same endpoint at once, and the README says why the result is right.
 */
import { defineWalk, type Task } from '../../../kernel/bulk/types.ts'
import type { Sql } from '../../../kernel/db.ts'
import type { Kit } from '../../../kernel/define-service.ts'
import { defineJob } from '../../../kernel/jobs.ts'
import { parse } from '../document-query/parse.ts'
import { countEndpoints } from '../endpoints/store/counts.ts'
import { FilterActivated, FilterPending } from '../events.ts'
import { limitTime } from '../lists/store/list.ts'
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

export function createMatching({ db, bus, bulk, jobs }: Kit): Matching {
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

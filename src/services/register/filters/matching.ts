/**
 * Finds the members of a filter with a new query, in the background. `membership.ts` updates members when an endpoint changes. Matching and
 * membership may process the same endpoint at the same time; the README explains why the result is exact.
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
  /** Publishes that the filter is pending, and starts to find its members after the commit. The member set of the filter must be empty. */
  begin(sql: Sql, filter: FilterToMatch, createdBy: Task['createdBy']): Promise<void>
  /** Deletes an orphaned member set after the commit. */
  clear(sql: Sql, set: { tenantId: string; memberSet: number }): Promise<void>
}

export interface FilterToMatch extends store.FilterKey {
  memberSet: number
}

/** Matches the endpoints in steps of about 200 ms, because long transactions prevent VACUUM from removing dead rows. */
export const MatchFilter = defineWalk<Omit<FilterToMatch, 'tenantId'>>('register.match-filter', {
  title: 'Match a filter',
  firstItems: 2000,
  keepDays: 1,
  // Without pauses, the rate of registrations fell below half during the matching (bench `registration`).
  pauseShare: 0.5,
  // A canceled task would leave the filter pending.
  cancelable: false,
})
const ClearMembers = defineJob<Record<never, never>>('register.clear-members', { timeoutSeconds: 3600 })

const stepMillisecondsMax = 60_000
const membersPerDeletion = 5000

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
      // If the application has no further endpoints, the walk ends. Transactions that register endpoints later read the filter as pending
      // and write its members themselves.
      return { ...next, isLast: next.count < limit }
    },
    async finish(sql, { tenantId, data }) {
      const { applicationName, filterId, memberSet } = data
      const filter = { tenantId, applicationName, filterId }
      if (!(await lockPending(sql, { ...filter, memberSet }))) return
      await store.activateFilter(sql, filter)
      await bus.publish(sql, FilterActivated, filter)
      // Rows of endpoints that do not match are deleted twice: most of them before the exclusive lock is taken, the rest while it is held.
      await members.deleteRefusals(sql, tenantId, memberSet)
      await store.publishFilters(sql, filter)
      await members.deleteRefusals(sql, tenantId, memberSet)
    },
  })

  jobs.handle(ClearMembers, async (_, { signal }) => {
    while (await db.tx((sql) => members.deleteOrphanedMembers(sql, membersPerDeletion))) signal.throwIfAborted()
  })

  return {
    async begin(sql, { tenantId, applicationName, filterId, memberSet }, createdBy) {
      await bus.publish(sql, FilterPending, { tenantId, applicationName, filterId })
      const total = await countEndpoints(sql, { tenantId, applicationNames: [applicationName] })
      const data = { applicationName, filterId, memberSet }
      await bulk.startWalk(sql, MatchFilter, { tenantId, createdBy, data }, total)
    },
    async clear(sql, set) {
      await members.markOrphanedSet(sql, set)
      await jobs.send(sql, ClearMembers, {})
    },
  }
}

/** Locks the filter, and returns it if this member set is still pending. A filter that was edited meanwhile has another member set. */
async function lockPending(sql: Sql, filter: FilterToMatch): Promise<store.FilterRow | undefined> {
  const row = await store.lockFilter(sql, filter)
  return row?.memberSet === filter.memberSet && row.status === 'pending' ? row : undefined
}

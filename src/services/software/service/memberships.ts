/**
 * Stores in the rows of endpoints which filters they match. The register is the source. An update first locks the row and then reads the
 * register, so that concurrent updates end with the latest matches. A filter is used in rollouts only when all rows are correct (`ready`).
 */
import type { Sql } from '../../../kernel/db.ts'
import type { Kit } from '../../../kernel/define-service.ts'
import { defineJob } from '../../../kernel/jobs.ts'
import type { Register } from '../../register/contract.ts'
import { type Matches, matchesOf } from '../plan.ts'
import * as store from '../store/filters.ts'
import { type ApplicationKey, lockApplication } from '../store/versions.ts'
import { announceChange } from './announce.ts'

export interface Memberships {
  /** Adds filters that versions now name, and removes filters that no version names. The application must be locked. */
  sync(sql: Sql, application: ApplicationKey): Promise<void>
  /** Reads which filters endpoints match, and stores the filters in their rows. Returns the endpoints whose filters changed. */
  refresh(sql: Sql, application: ApplicationKey, endpointIds: string[]): Promise<string[]>
  /** Reads which filters an endpoint without a row matches. */
  read(application: ApplicationKey, endpointId: string): Promise<Matches>
  /** Handles a change of a filter: its members are read again or, if the filter was deleted, the filter is removed with its bit. */
  filterChanged(sql: Sql, application: ApplicationKey, filterId: string): Promise<void>
  /** Returns whether versions of the application name this filter. */
  isNamed(sql: Sql, application: ApplicationKey, filterId: string): Promise<boolean>
}

/**
 * If there are at most this many endpoints, they are matched within the request that names a filter. Otherwise a job matches them in
 * batches of this size.
 */
const batchMax = 1000

interface FilterToMatch extends ApplicationKey {
  filterId: string
  generation: number
}
const MatchFilter = defineJob<FilterToMatch>('software.match-filter', { timeoutSeconds: 3600 })

export function createMemberships(kit: Kit, register: Register): Memberships {
  const { db, jobs } = kit

  async function matching(
    sql: Sql,
    application: ApplicationKey,
    endpointIds: string[],
  ): Promise<(Matches & { endpointId: string })[]> {
    const filters = await store.findFilters(sql, application)
    const bits = new Map(filters.map(({ filterId, bit }) => [filterId, bit]))
    const { tenantId } = application
    const found = await register.matchesOf(sql, { tenantId, endpointIds, filterIds: [...bits.keys()] })
    return endpointIds.map((endpointId) => ({
      endpointId,
      ...matchesOf((found.get(endpointId) ?? []).map((filterId) => bits.get(filterId)!)),
    }))
  }

  async function refresh(sql: Sql, application: ApplicationKey, endpointIds: string[]): Promise<string[]> {
    const locked = await store.lockEndpoints(sql, application, endpointIds)
    return locked.length === 0
      ? []
      : await store.updateMatches(sql, application, await matching(sql, application, locked))
  }

  const isActive = async (sql: Sql, { tenantId }: ApplicationKey, filterId: string) =>
    (await register.findFilters(sql, tenantId, [filterId]))[0]?.status === 'active'

  /** Matches a new filter immediately if there are few endpoints, otherwise in a job. */
  async function begin(sql: Sql, application: ApplicationKey, filterId: string, generation: number) {
    const endpointIds = await store.findEndpointIds(sql, application, { after: '', limit: batchMax + 1 })
    const { tenantId, applicationName } = application
    if (endpointIds.length > batchMax)
      return await jobs.send(sql, MatchFilter, { tenantId, applicationName, filterId, generation })
    await refresh(sql, application, endpointIds)
    if (await isActive(sql, application, filterId)) await store.markReady(sql, application, { filterId, generation })
  }

  jobs.handle(MatchFilter, async ({ filterId, generation, ...application }, { signal }) => {
    for (let after = ''; ; ) {
      signal.throwIfAborted()
      const current = await store.findFilter(db.sql, application, filterId)
      if (current?.generation !== generation) return
      const endpointIds = await store.findEndpointIds(db.sql, application, { after, limit: batchMax })
      if (endpointIds.length > 0) await db.tx((sql) => refresh(sql, application, endpointIds))
      if (endpointIds.length < batchMax) break
      after = endpointIds.at(-1)!
    }
    await db.tx(async (sql) => {
      await lockApplication(sql, application)
      if (!(await isActive(sql, application, filterId))) return
      if (await store.markReady(sql, application, { filterId, generation })) await announceChange(kit, sql, application)
    })
  })

  return {
    refresh,
    read: async (application, endpointId) => (await matching(db.sql, application, [endpointId]))[0]!,
    isNamed: async (sql, application, filterId) => (await store.findFilter(sql, application, filterId)) !== undefined,

    async sync(sql, application) {
      const named = new Set(await store.findNamedFilters(sql, application))
      const known = await store.findFilters(sql, application)
      const unused = known.filter(({ filterId }) => !named.has(filterId))
      if (unused.length > 0)
        await store.deleteFilters(
          sql,
          application,
          unused.map(({ filterId }) => filterId),
        )
      const used = known.filter(({ filterId }) => named.has(filterId))
      const taken = new Set(used.map(({ bit }) => bit))
      const missing = [...named].filter((filterId) => !used.some((one) => one.filterId === filterId))
      const exist = await register.findFilters(sql, application.tenantId, missing)
      for (const { filterId } of exist) {
        let bit = 0
        while (taken.has(bit)) bit++
        taken.add(bit)
        await store.insertFilter(sql, application, filterId, bit)
        await begin(sql, application, filterId, (await store.findFilter(sql, application, filterId))!.generation)
      }
    },

    async filterChanged(sql, application, filterId) {
      if (!(await store.findFilter(sql, application, filterId))) return
      await lockApplication(sql, application)
      const [filter] = await register.findFilters(sql, application.tenantId, [filterId])
      if (!filter) await store.deleteFilters(sql, application, [filterId])
      else {
        const generation = await store.resetFilter(sql, application, filterId)
        if (filter.status === 'active') await begin(sql, application, filterId, generation)
      }
      await announceChange(kit, sql, application)
    },
  }
}

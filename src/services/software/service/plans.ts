/** Caches the plans of applications. The revision in the database decides whether a cached plan is current. */
import { createCache } from '../../../kernel/cache.ts'
import type { Sql } from '../../../kernel/db.ts'
import type { Kit } from '../../../kernel/define-service.ts'
import { SoftwareChanged } from '../events.ts'
import { type Plan, planOf } from '../plan.ts'
import { findPlan, type Place } from '../store/versions.ts'

export interface Plans {
  /** Returns the plan of this revision, or a newer one. */
  at(place: Place, revision: number): Promise<Plan>
  /** Returns the plan in the cache, which follows changes of other nodes within a second. Undefined without software. */
  latest(place: Place): Promise<Plan | undefined>
  /** Reads the plan in a transaction. */
  read(sql: Sql, place: Place): Promise<Plan>
}

const plansMax = 2000
const keyOf = ({ tenantId, applicationName }: Place) => `${tenantId}\n${applicationName}`

export function createPlans({ db, bus }: Pick<Kit, 'db' | 'bus'>): Plans {
  const cache = createCache<{ plan: Plan | undefined }>({ max: plansMax, bus })
  cache.dropOn(SoftwareChanged, keyOf)

  async function read(sql: Sql, place: Place): Promise<Plan | undefined> {
    const found = await findPlan(sql, place)
    return found && planOf(found.revision, found.versions)
  }
  const latest = async (place: Place) =>
    (await cache.read(keyOf(place), async () => ({ plan: await read(db.sql, place) })))?.plan

  return {
    latest,
    async at(place, revision) {
      const known = await latest(place)
      if (known?.revision === revision) return known
      cache.drop(keyOf(place))
      return (await latest(place)) ?? planOf(revision, [])
    },
    read: async (sql, place) => (await read(sql, place)) ?? planOf(0, []),
  }
}

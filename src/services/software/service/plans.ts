/** Caches the plans of applications. The revision in the database decides whether a cached plan is current. */
import { createCache } from '../../../kernel/cache.ts'
import type { Sql } from '../../../kernel/db.ts'
import type { Kit } from '../../../kernel/define-service.ts'
import { SoftwareChanged } from '../events.ts'
import { type Plan, planOf } from '../plan.ts'
import { type ApplicationKey, findPlan } from '../store/versions.ts'

export interface Plans {
  /** Returns the plan of this revision, or a newer plan. */
  at(application: ApplicationKey, revision: number): Promise<Plan>
  /** Returns the cached plan. Changes by other nodes reach the cache within a second. Undefined if the application has no software. */
  latest(application: ApplicationKey): Promise<Plan | undefined>
  /** Reads the plan in a transaction. */
  read(sql: Sql, application: ApplicationKey): Promise<Plan>
}

const plansMax = 2000
const keyOf = ({ tenantId, applicationName }: ApplicationKey) => `${tenantId}\n${applicationName}`

export function createPlans({ db, bus }: Pick<Kit, 'db' | 'bus'>): Plans {
  const cache = createCache<{ plan: Plan | undefined }>({ max: plansMax, bus })
  cache.dropOn(SoftwareChanged, keyOf)

  async function read(sql: Sql, application: ApplicationKey): Promise<Plan | undefined> {
    const found = await findPlan(sql, application)
    return found && planOf(found.revision, found.versions)
  }
  const latest = async (application: ApplicationKey) =>
    (await cache.read(keyOf(application), async () => ({ plan: await read(db.sql, application) })))?.plan

  return {
    latest,
    async at(application, revision) {
      const known = await latest(application)
      if (known?.revision === revision) return known
      cache.drop(keyOf(application))
      return (await latest(application)) ?? planOf(revision, [])
    },
    read: async (sql, application) => (await read(sql, application)) ?? planOf(0, []),
  }
}

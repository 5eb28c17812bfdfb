/** The plan of each version that talks, as this process remembers it. */
import type { Bus } from '../../kernel/bus.ts'
import type { Log } from '../../kernel/log.ts'
import type { Applications } from '../applications/contract.ts'
import { ConfigurationChanged } from '../applications/events.ts'
import { type Plan, planOf } from './plan.ts'

export const instance = 'epts'

interface OfVersion {
  tenantId: string
  applicationName: string
  versionName: string
}

export interface Plans {
  /** At once when it is remembered. */
  of(version: OfVersion): Plan | Promise<Plan>
  /** Of an application without a version. */
  ofApplication(application: { tenantId: string; applicationName: string }): Promise<Plan>
}

const plansMax = 10_000

export function createPlans({ bus, log }: { bus: Bus; log: Log }, applications: Applications): Plans {
  /** By version: their names are unique on the platform. */
  const known = new Map<string, Plan | Promise<Plan>>()
  bus.hear(ConfigurationChanged, (changed) => {
    if (changed.instance === instance) known.clear()
  })
  bus.onGap(() => known.clear())

  async function load(of: { tenantId: string; applicationName: string; versionName?: string }): Promise<Plan> {
    const { plan, problems } = planOf(await applications.configuration({ ...of, instance }))
    if (problems.length > 0) log.warn({ ...of, problems }, 'parts of the configuration of epts are left out')
    return plan
  }

  return {
    of({ tenantId, applicationName, versionName }) {
      const found = known.get(versionName)
      if (found) return found
      if (known.size >= plansMax) known.clear()
      const loading: Promise<Plan> = load({ tenantId, applicationName, versionName }).then(
        (plan) => {
          if (known.get(versionName) === loading) known.set(versionName, plan)
          return plan
        },
        (error) => {
          if (known.get(versionName) === loading) known.delete(versionName)
          throw error
        },
      )
      known.set(versionName, loading)
      return loading
    },
    ofApplication: load,
  }
}

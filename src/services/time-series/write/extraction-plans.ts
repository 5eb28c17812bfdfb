/** The plan of each version that talks. */
import type { Log } from '../../../kernel/log.ts'
import type { Applications, ApplicationVersionRef } from '../../applications/contract.ts'
import { type Plan, planOf } from './extraction-plan.ts'

export const instance = 'epts'

export interface Plans {
  /** At once when it is remembered. */
  of(version: ApplicationVersionRef): Plan | Promise<Plan>
  /** Of an application without a version. */
  ofApplication(application: { tenantId: string; applicationName: string }): Promise<Plan>
}

export function createPlans(log: Log, applications: Applications): Plans {
  function read(config: Record<string, unknown>, of: object): Plan {
    const { plan, problems } = planOf(config)
    if (problems.length > 0) log.warn({ ...of, problems }, 'parts of the configuration of epts are left out')
    return plan
  }
  return {
    of: applications.follow(instance, read),
    ofApplication: async (of) => read(await applications.configuration({ ...of, instance }), of),
  }
}

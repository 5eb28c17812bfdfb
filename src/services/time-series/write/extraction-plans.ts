/** The plan of each version that talks. */
import type { Applications, ApplicationVersionRef } from '../../applications/contract.ts'
import { timeSeriesInstance as instance } from '../configuration.ts'
import { type Plan, planOf } from './extraction-plan.ts'

export interface Plans {
  /** At once when it is remembered. */
  of(version: ApplicationVersionRef): Plan | Promise<Plan>
  /** Of an application without a version. */
  ofApplication(application: { tenantId: string; applicationName: string }): Promise<Plan>
}

export const createPlans = (applications: Applications): Plans => ({
  of: applications.follow(instance, planOf),
  ofApplication: async (of) => planOf((await applications.configuration({ ...of, instance })).config),
})

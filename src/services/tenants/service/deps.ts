import type { Identity } from '../../../identity/contract.ts'
import type { Kit } from '../../../kernel/define-service.ts'
import type { defineBuildJob } from '../build-job.ts'

/** Everything that the operations on tenants use. */
export interface TenantDeps {
  kit: Pick<Kit, 'db' | 'bus' | 'jobs' | 'secrets' | 'now' | 'newId'>
  identity: Identity
  buildJob: Pick<ReturnType<typeof defineBuildJob>, 'finish'>
}

import type { Identity } from '../../../identity/contract.ts'
import type { Kit } from '../../../kernel/define-service.ts'
import type { defineBuilding } from '../build-job.ts'

/** Everything that the operations on tenants use. */
export interface TenantDeps {
  kit: Pick<Kit, 'db' | 'bus' | 'jobs' | 'secrets' | 'now' | 'newId'>
  identity: Identity
  building: Pick<ReturnType<typeof defineBuilding>, 'finish'>
}

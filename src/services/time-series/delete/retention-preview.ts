/** Who may ask what a retention would delete: whoever may read the configuration that it is part of. */
import { authorizeOn, type Ctx } from '../../../kernel/contract.ts'
import { onResource } from '../../../kernel/permissions.ts'
import type { Applications } from '../../applications/contract.ts'
import { applicationResource } from '../../register/contract.ts'
import type { RetentionConfiguration } from '../configuration.ts'
import type { TimeSeries, WouldGo } from '../contract.ts'
import { NoApplication } from '../errors.ts'

export interface RetentionPreview {
  /** Without a proposal, of the retention that is configured. */
  of(ctx: Ctx, applicationName: string, proposed?: RetentionConfiguration): Promise<WouldGo>
}

const access = { read: 'application:read', scope: 'application:timeseries-config:read' }

export function createRetentionPreview(deps: {
  applications: Applications
  wouldGo: TimeSeries['retentionWouldDelete']
}): RetentionPreview {
  return {
    async of(ctx, applicationName, proposed) {
      const { tenantId } = ctx
      const missing = () => NoApplication({ applicationName })
      if (!(await deps.applications.exists(ctx, { name: applicationName }))) throw missing()
      authorizeOn(ctx, access, onResource(tenantId, applicationResource(applicationName)), missing)
      return await deps.wouldGo({ tenantId, applicationName }, proposed)
    },
  }
}

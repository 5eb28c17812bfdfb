import type { Kit } from '../../kernel/define-service.ts'
import { TenantDeleted } from '../tenants/events.ts'
import type { JobsService } from './service.ts'

export function registerEventHandlers({ bus }: Pick<Kit, 'bus'>, jobs: JobsService) {
  bus.handle('jobs.forget-tenant', TenantDeleted, (sql, { tenantId }) => jobs.deleteTenant(sql, tenantId))
}

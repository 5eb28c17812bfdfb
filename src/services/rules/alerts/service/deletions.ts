/** Deletes alerts that are too old, and alerts of unregistered endpoints and deleted tenants (document 5, 1.10). */
import type { Kit } from '../../../../kernel/define-service.ts'
import { defineJob } from '../../../../kernel/jobs.ts'
import type { PeriodicTask } from '../../../../kernel/periodic.ts'
import type { Register } from '../../../register/contract.ts'
import { EndpointUnregistered } from '../../../register/events.ts'
import { TenantDeleted } from '../../../tenants/events.ts'
import type { RulesSettings } from '../../settings.ts'
import * as store from '../store/alerts.ts'

const batchMax = 1000

const ForgetEndpoints = defineJob<{ tenantId: string; endpointIds: string[]; until: string }>(
  'rules.forget-alerts-of-endpoints',
  { timeoutSeconds: 3600 },
)
const ForgetTenant = defineJob<{ tenantId: string }>('rules.forget-alerts-of-tenant', { timeoutSeconds: 3600 })

export function createAlertDeletions(
  { db, bus, jobs, settings }: Pick<Kit<RulesSettings>, 'db' | 'bus' | 'jobs' | 'settings'>,
  register: Pick<Register, 'relation'>,
): PeriodicTask[] {
  jobs.handle(ForgetEndpoints, async ({ until, ...endpoints }) => {
    const unregistered = { ...endpoints, until: new Date(until), limit: batchMax }
    while ((await store.deleteOfEndpoints(db.sql, register.relation, unregistered)) === batchMax);
  })
  jobs.handle(ForgetTenant, async ({ tenantId }) => {
    while ((await store.deleteOfTenant(db.sql, tenantId, batchMax)) === batchMax);
  })
  bus.handle(
    'rules.forget-alerts-of-endpoints',
    EndpointUnregistered,
    async (sql, { tenantId, endpointIds, unregisteredDate }) => {
      if (await store.hasAlertsOf(sql, tenantId, endpointIds))
        await jobs.send(sql, ForgetEndpoints, { tenantId, endpointIds, until: unregisteredDate })
    },
  )
  bus.handle('rules.forget-alerts-of-tenant', TenantDeleted, (sql, { tenantId }) =>
    jobs.send(sql, ForgetTenant, { tenantId }),
  )
  return [
    {
      name: 'rules.alert-retention',
      everySeconds: 600,
      async run() {
        if (settings.alertDays > 0) while ((await store.deleteOld(db.sql, settings.alertDays, batchMax)) === batchMax);
      },
    },
    { name: 'rules.alert-counts', everySeconds: 10, run: store.addUpCounts },
  ]
}

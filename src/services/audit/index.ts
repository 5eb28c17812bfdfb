import { heldBy } from '../../identity/contract.ts'
import { defineService } from '../../kernel/define-service.ts'
import { Audit } from './contract.ts'
import { registerEventHandlers } from './event-handlers.ts'
import { routes } from './routes.ts'
import { createAuditService } from './service.ts'

export default defineService({
  name: 'audit',
  provides: Audit,
  scopeNouns: { audit: 'the audit log', usage: 'the usage of quotas' },
  scopes: { 'tenant:audit:read': heldBy.tenantAdmins, 'tenant:usage:read': heldBy.tenantAdmins },
  build(kit) {
    const service = createAuditService(kit)
    registerEventHandlers(kit.bus, service)
    return {
      api: {},
      http: [
        {
          name: 'audit',
          title: 'Audit log and usage of a tenant',
          roots: ['/api/v1/audit', '/audit/api/v1'],
          routes: (http) => routes(http, service),
        },
      ],
      periodic: [{ name: 'audit.prune', everySeconds: 3600, run: service.prune }],
    }
  },
})

/** An identity service that only remembers what it was told: for tests beside the code of services that need one. */
import { Identity } from '../../src/identity/contract.ts'
import { defineService } from '../../src/kernel/define-service.ts'

type Told = Pick<Identity, 'authenticate' | 'realm' | 'grantCreator' | 'forgetResource'>

export function anIdentityStandIn({ tenants = ['platform', 'default'] }: { tenants?: string[] } = {}) {
  const granted: { tenantId: string; subject: string; resource: string }[] = []
  const forgotten: { tenantId: string; resource: string }[] = []
  const told: Told = {
    authenticate: async () => undefined,
    realm: async (tenantId) =>
      tenants.includes(tenantId)
        ? {
            tenantId,
            status: 'AVAILABLE',
            issuer: `http://waypost.test/auth/realms/${tenantId}`,
            frontendClientId: 'frontend',
            backendClientId: 'backend',
            backendClientSecret: 'secret',
          }
        : undefined,
    async grantCreator(_sql, ctx, resource) {
      granted.push({ tenantId: ctx.tenantId, subject: ctx.caller.subject.id, resource })
    },
    async forgetResource(_sql, tenantId, resource) {
      forgotten.push({ tenantId, resource })
    },
  }
  // The rest of the contract is not for services that only make resources.
  const service = defineService<Identity>({
    name: 'identity',
    provides: Identity,
    build: () => ({ api: told as Identity }),
  })
  return { service, granted, forgotten }
}

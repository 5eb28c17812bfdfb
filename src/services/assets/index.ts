import { heldBy, Identity, scopes } from '../../identity/contract.ts'
import { defineInstance } from '../../kernel/configuration.ts'
import { defineService } from '../../kernel/define-service.ts'
import { Register } from '../register/contract.ts'
import { Assets } from './contract.ts'
import { registerEventHandlers } from './event-handlers.ts'
import { routes } from './routes.ts'
import { createAssets } from './service.ts'

const existing = ['read', 'update', 'delete']

export default defineService({
  name: 'assets',
  provides: Assets,
  needs: { identity: Identity, register: Register },
  migrations: new URL('./migrations/', import.meta.url),
  instances: [
    defineInstance({ name: 'am', group: 'Identity management', description: 'Asset manager', urlPrefix: '/am' }),
  ],
  scopes: {
    'tenant:asset-type:create': heldBy.tenantAdmins,
    ...scopes('asset-type', existing, heldBy.tenantAdmins),
    'asset-type:asset:create': heldBy.tenantAdmins,
    ...scopes('asset', existing, heldBy.tenantAdmins),
  },
  build(kit, services) {
    const service = createAssets(kit, services)
    registerEventHandlers(kit.bus, service)
    return {
      api: {},
      http: [
        {
          name: 'assets',
          title: 'Asset types, assets and their relations',
          roots: ['/am'],
          routes: (http) => routes(http, service),
        },
      ],
    }
  },
})

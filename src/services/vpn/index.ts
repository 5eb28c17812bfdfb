import { heldBy, Identity, scopes } from '../../identity/contract.ts'
import { defineInstance } from '../../kernel/configuration.ts'
import { defineService } from '../../kernel/define-service.ts'
import { Register } from '../register/contract.ts'
import { Vpn } from './contract.ts'
import { registerEventHandlers } from './event-handlers.ts'
import { routes } from './routes.ts'
import { createVpn } from './service.ts'
import { vpnSettings } from './settings.ts'

export default defineService({
  name: 'vpn',
  provides: Vpn,
  needs: { identity: Identity, register: Register },
  migrations: new URL('./migrations/', import.meta.url),
  sealed: [
    { table: 'installation', column: 'sealed_key' },
    { table: 'installation', column: 'sealed_tls_crypt' },
    { table: 'installation', column: 'sealed_server_key' },
    { table: 'tenants', column: 'sealed_key' },
    { table: 'clients', column: 'sealed_key' },
  ],
  settings: vpnSettings,
  instances: [defineInstance({ name: 'vpms', group: 'Communication', description: 'VPN clients', urlPrefix: '/vpms' })],
  scopeNouns: { vpnclient: 'VPN clients' },
  scopes: scopes('vpnclient', ['create', 'read', 'update', 'delete'], heldBy.tenantAdmins),
  build(kit, services) {
    const service = createVpn(kit, services)
    registerEventHandlers(kit.bus, service)
    return {
      api: service.api,
      http: [
        {
          name: 'vpn',
          title: 'VPN clients and their configuration files',
          roots: ['/vpms/api/v1'],
          routes: (http) => routes(http, service.clients),
        },
      ],
      stop: service.stop,
    }
  },
})

import { Gateway } from '../../gateway/contract.ts'
import { heldBy, Identity, scopes } from '../../identity/contract.ts'
import { defineInstance } from '../../kernel/configuration.ts'
import { defineService } from '../../kernel/define-service.ts'
import { Applications } from '../applications/contract.ts'
import { Commands } from '../commands/contract.ts'
import { Register } from '../register/contract.ts'
import { TrafficLog } from '../traffic-log/contract.ts'
import { createCodecs } from './codecs.ts'
import { Lorawan } from './contract.ts'
import { registerEventHandlers } from './event-handlers.ts'
import { sandboxFailed } from './log-messages.ts'
import { routes } from './routes.ts'
import { createLorawan } from './service.ts'
import { createConnector } from './session/connector.ts'

const existing = ['read', 'update', 'delete']

export default defineService({
  name: 'lorawan',
  provides: Lorawan,
  needs: {
    identity: Identity,
    applications: Applications,
    register: Register,
    gateway: Gateway,
    commands: Commands,
    trafficLog: TrafficLog,
  },
  migrations: new URL('./migrations/', import.meta.url),
  sealed: [
    { table: 'app_integrations', column: 'net_api_key' },
    { table: 'account_integrations', column: 'net_api_key' },
  ],
  instances: [
    defineInstance({ name: 'netc', group: 'Communication', description: 'LoRaWAN connector', urlPrefix: '/netc' }),
  ],
  scopeNouns: {
    'net-app-integration': 'integrations of applications with LoRaWAN networks',
    'net-device-integration': 'integrations of LoRaWAN devices',
    'net-account-integration': 'integrations of the tenant with LoRaWAN networks',
    'net-gateway-integration': 'integrations of LoRaWAN gateways',
  },
  scopes: {
    'application:net-app-integration:create': heldBy.applicationAdmins,
    'net-app-integration:read': heldBy.applicationReaders,
    ...scopes('net-app-integration', ['update', 'delete'], heldBy.applicationAdmins),
    'net-app-integration:net-device-integration:create': heldBy.applicationAdmins,
    'net-device-integration:read': heldBy.applicationReaders,
    ...scopes('net-device-integration', ['update', 'delete'], heldBy.applicationAdmins),
    'tenant:net-account-integration:create': heldBy.tenantAdmins,
    ...scopes('net-account-integration', existing, heldBy.tenantAdmins),
    'net-account-integration:net-gateway-integration:create': heldBy.tenantAdmins,
    ...scopes('net-gateway-integration', existing, heldBy.tenantAdmins),
  },
  build(kit, services) {
    const codecs = createCodecs((error) => sandboxFailed(kit.log, { err: error }))
    const service = createLorawan({ kit, ...services, codecs })
    const connector = createConnector({ kit, ...services, codecs })
    registerEventHandlers(kit.bus, service.deletions)
    return {
      api: {},
      http: [
        {
          name: 'lorawan',
          title: 'LoRaWAN connector',
          roots: ['/api/v1', '/netc/api/v1', '/ttnc/api/v1'],
          alwaysAuthenticated: true,
          routes: (http) => routes(http, service),
        },
      ],
      periodic: connector.periodic,
      // Sessions are opened after the gateway, which handles the messages of sessions. They are closed with the listeners of the gateway.
      async open() {
        connector.start()
        return { addresses: {}, close: connector.stop }
      },
      stop: codecs.stop,
    }
  },
})

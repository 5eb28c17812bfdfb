import { Identity } from '../identity/contract.ts'
import { defineService } from '../kernel/define-service.ts'
import { Applications } from '../services/applications/contract.ts'
import { Credentials } from '../services/credentials/contract.ts'
import { Register } from '../services/register/contract.ts'
import { Tokens } from '../services/tokens/contract.ts'
import { TrafficLog } from '../services/traffic-log/contract.ts'
import { gatewayInstances } from './configuration.ts'
import { Gateway } from './contract.ts'
import { createGateway } from './gateway.ts'
import { deviceFormat, deviceOperation, deviceRoots, mountDeviceHttp } from './http/device-messages.ts'
import { acceptWebSockets } from './http/websocket.ts'
import { defineTopic } from './live.ts'
import { routes } from './routes.ts'
import { gatewaySettings } from './settings.ts'

export default defineService({
  name: 'gateway',
  provides: Gateway,
  needs: {
    identity: Identity,
    applications: Applications,
    register: Register,
    tokens: Tokens,
    credentials: Credentials,
    trafficLog: TrafficLog,
  },
  migrations: new URL('./migrations/', import.meta.url),
  sealed: [
    { table: 'sessions', column: 'subscriptions' },
    { table: 'session_messages', column: 'sealed' },
    { table: 'bindings', column: 'token_sealed' },
  ],
  settings: gatewaySettings,
  instances: gatewayInstances,
  build(kit, services) {
    const gateway = createGateway(kit, services)
    defineTopic(kit)
    return {
      api: gateway.api,
      http: [
        {
          name: 'device',
          title: 'Messages that devices send over HTTP',
          roots: deviceRoots,
          errorFormat: deviceFormat,
          routes() {},
          raw(app, record) {
            record(deviceOperation)
            mountDeviceHttp(app, gateway.deviceHttp)
            acceptWebSockets(app.server, gateway.webSockets)
          },
        },
        {
          name: 'gateway',
          title: 'Addresses that devices connect to, and their connections',
          roots: ['/kpc/api/v1'],
          routes: (http) => routes(http, gateway),
        },
      ],
      periodic: gateway.periodic,
      open: gateway.open,
      stop: gateway.stop,
    }
  },
})

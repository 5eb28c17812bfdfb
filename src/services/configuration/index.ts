import { Gateway } from '../../gateway/contract.ts'
import { heldBy, Identity, scopes } from '../../identity/contract.ts'
import { defineService } from '../../kernel/define-service.ts'
import { Applications } from '../applications/contract.ts'
import { Register } from '../register/contract.ts'
import { configurationInstances } from './configuration.ts'
import { Configuration } from './contract.ts'
import { endpointConfigurations } from './device.ts'
import { registerEventHandlers } from './event-handlers.ts'
import { routes } from './routes.ts'
import { createConfiguration } from './service.ts'

export default defineService({
  name: 'configuration',
  provides: Configuration,
  needs: { identity: Identity, applications: Applications, register: Register, gateway: Gateway },
  migrations: new URL('./migrations/', import.meta.url),
  instances: configurationInstances,
  scopeNouns: { 'endpoint-config': 'configurations of endpoints' },
  scopes: {
    'application:endpoint-config:read': heldBy.applicationReaders,
    ...scopes('application:endpoint-config', ['update', 'delete'], heldBy.applicationAdmins),
  },
  build(kit, services) {
    const service = createConfiguration(kit, services)
    registerEventHandlers(kit.bus, service)
    return {
      api: service.api,
      device: [endpointConfigurations(service.device, services.gateway)],
      http: [
        {
          name: 'configuration',
          title: 'Configurations of endpoints',
          roots: ['/ecr/api/v1'],
          routes: (http) => routes(http, service),
        },
      ],
      periodic: [{ name: 'configuration.sweep', everySeconds: 300, run: service.deletions.sweep }],
      stop: service.stop,
    }
  },
})

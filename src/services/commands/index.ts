import { Gateway } from '../../gateway/contract.ts'
import { heldBy } from '../../identity/contract.ts'
import { defineInstance } from '../../kernel/configuration.ts'
import { defineService } from '../../kernel/define-service.ts'
import { Applications } from '../applications/contract.ts'
import { Register } from '../register/contract.ts'
import { Commands } from './contract.ts'
import { commandExtension } from './device.ts'
import { registerEventHandlers } from './event-handlers.ts'
import { routes } from './routes.ts'
import { applicationScope } from './service/access.ts'
import { createCommands } from './service.ts'
import { commandsSettings } from './settings.ts'

export default defineService({
  name: 'commands',
  provides: Commands,
  needs: { gateway: Gateway, applications: Applications, register: Register },
  migrations: new URL('./migrations/', import.meta.url),
  settings: commandsSettings,
  instances: [defineInstance({ name: 'cex', group: 'Command invocation', description: 'Commands', urlPrefix: '/cex' })],
  scopeNouns: { 'endpoint-command': 'commands to endpoints' },
  scopes: { [applicationScope]: heldBy.endpointReaders },
  build(kit, services) {
    const service = createCommands(kit, services)
    registerEventHandlers(kit.bus, service.deletions)
    return {
      api: service.api,
      device: [commandExtension(service.device, services.gateway)],
      http: [
        {
          name: 'command',
          title: 'Commands to endpoints',
          roots: ['/cex/api/v1', '/rci/api/v1'],
          alwaysAuthenticated: true,
          routes: (http) => routes(http, service, kit.settings.awaitSecondsMax),
        },
      ],
      periodic: [service.deletions.periodic],
      stop: service.stop,
    }
  },
})

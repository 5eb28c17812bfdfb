import { Gateway } from '../../gateway/contract.ts'
import { heldBy, scopes } from '../../identity/contract.ts'
import { defineInstance } from '../../kernel/configuration.ts'
import { defineService } from '../../kernel/define-service.ts'
import { Applications } from '../applications/contract.ts'
import { BinaryData } from '../binary-data/contract.ts'
import { Register } from '../register/contract.ts'
import { Software } from './contract.ts'
import { softwareExtension } from './device.ts'
import { registerEventHandlers } from './event-handlers.ts'
import { routes } from './routes.ts'
import { createSoftware } from './service.ts'
import { softwareSettings } from './settings.ts'

export default defineService({
  name: 'software',
  provides: Software,
  needs: { applications: Applications, register: Register, gateway: Gateway, binaryData: BinaryData },
  migrations: new URL('./migrations/', import.meta.url),
  settings: softwareSettings,
  instances: [
    defineInstance({ name: 'otao', group: 'Software updates', description: 'Software versions', urlPrefix: '/otao' }),
    defineInstance({
      name: 'cmx_ota',
      serviceName: 'CMX',
      group: 'Software updates',
      description: 'Software update extension',
    }),
  ],
  scopeNouns: { software: 'software versions' },
  scopes: {
    'application:software:read': heldBy.applicationReaders,
    ...scopes('application:software', ['update', 'delete'], heldBy.applicationAdmins),
  },
  build(kit, services) {
    const service = createSoftware(kit, services)
    registerEventHandlers(kit.bus, service)
    return {
      api: {},
      http: [
        {
          name: 'software',
          title: 'Software versions, their files and rollouts',
          roots: ['/otao/api/v1'],
          alwaysAuthenticated: true,
          routes: (http) => routes(http, service),
        },
      ],
      device: [softwareExtension(service.devices, services.gateway)],
      start: service.start,
      stop: service.stop,
    }
  },
})

import { heldBy, Identity, scopes } from '../../identity/contract.ts'
import { defineService } from '../../kernel/define-service.ts'
import { applicationsInstances } from './configuration.ts'
import { Applications } from './contract.ts'
import { attributeDictionary } from './device.ts'
import { registerEventHandlers } from './event-handlers.ts'
import { attributeRoutes, routes } from './routes.ts'
import { createApplications } from './service.ts'
import { applicationsSettings } from './settings.ts'

export default defineService({
  name: 'applications',
  provides: Applications,
  needs: { identity: Identity },
  migrations: new URL('./migrations/', import.meta.url),
  settings: applicationsSettings,
  instances: applicationsInstances,
  scopeNouns: { configuration: 'configurations of tenants' },
  scopes: {
    'tenant:application:create': heldBy.applicationAdmins,
    'application:read': heldBy.applicationReaders,
    ...scopes('application', ['update', 'delete'], heldBy.applicationAdmins),
    ...scopes('tenant:configuration', ['read', 'update'], heldBy.tenantAdmins),
    ...scopes('platform:tenant:configuration', ['read', 'update'], heldBy.noOtherRole),
    ...scopes('platform:application', ['create', 'read', 'update'], heldBy.noOtherRole),
  },
  build(kit, { identity }) {
    const service = createApplications(kit, identity)
    registerEventHandlers(kit.bus, service)
    return {
      api: service.api,
      http: [
        {
          name: 'application',
          title: 'Applications, their versions and configurations',
          roots: ['/api/v1', '/tekton/api/v1'],
          routes: (http) => routes(http, service),
        },
        {
          name: 'adx',
          title: 'Attributes that devices of an application version look up',
          roots: ['/adx/api/v1'],
          routes: (http) => attributeRoutes(http, service),
        },
      ],
      device: [attributeDictionary(service.api)],
    }
  },
})

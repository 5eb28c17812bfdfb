import { heldBy, scopes } from '../../identity/contract.ts'
import { defineInstance } from '../../kernel/configuration.ts'
import { defineService } from '../../kernel/define-service.ts'
import { Credentials } from './contract.ts'
import { registerEventHandlers } from './event-handlers.ts'
import { certificateRoutes, routes } from './routes.ts'
import { certificatesRoot } from './service/authorities.ts'
import { createCredentials } from './service.ts'

export default defineService({
  name: 'credentials',
  provides: Credentials,
  migrations: new URL('./migrations/', import.meta.url),
  sealed: [{ table: 'authorities', column: 'sealed_key' }],
  instances: [
    defineInstance({ name: 'ccm', group: 'Identity management', description: 'Client credentials', urlPrefix: '/ccm' }),
  ],
  scopeNouns: {
    'basic-credentials': 'user names with passwords of MQTT clients',
    'x509-credentials': 'certificates of MQTT clients',
  },
  scopes: {
    ...scopes('tenant:basic-credentials', ['create', 'read', 'update'], heldBy.tenantAdmins),
    ...scopes('tenant:x509-credentials', ['create', 'read', 'update'], heldBy.tenantAdmins),
  },
  build(kit) {
    const service = createCredentials(kit)
    registerEventHandlers(kit.bus, service)
    return {
      api: service.api,
      http: [
        {
          name: 'credentials',
          title: 'Usernames with passwords and X.509 certificates of MQTT clients',
          roots: ['/api/v1', '/ccm/api/v1'],
          routes: (http) => routes(http, service),
        },
        {
          name: 'certificates',
          title: 'Root certificate and certificate revocation lists',
          roots: [certificatesRoot],
          routes: (http) => certificateRoutes(http, service),
        },
      ],
      periodic: [
        {
          name: 'credentials.expires-soon',
          everySeconds: 3600,
          run: (sql) => service.certificates.publishExpiring(sql),
        },
      ],
      stop: service.stop,
    }
  },
})

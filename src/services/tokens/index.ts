import { defineInstance } from '../../kernel/configuration.ts'
import { defineService } from '../../kernel/define-service.ts'
import { Applications } from '../applications/contract.ts'
import { Tokens } from './contract.ts'
import { registerEventHandlers } from './event-handlers.ts'
import { routes } from './routes.ts'
import { createTokens } from './service.ts'

export default defineService({
  name: 'tokens',
  provides: Tokens,
  needs: { applications: Applications },
  migrations: new URL('./migrations/', import.meta.url),
  sealed: [{ table: 'lookup_keys', column: 'sealed' }],
  instances: [
    defineInstance({ name: 'cm', group: 'Identity management', description: 'Endpoint tokens', urlPrefix: '/cm' }),
  ],
  build(kit, { applications }) {
    const service = createTokens(kit, applications)
    registerEventHandlers(kit.bus, service)
    return {
      api: service.api,
      http: [
        {
          name: 'token',
          title: 'Tokens that endpoints authenticate with',
          roots: ['/api/v1', '/cm/api/v1'],
          alwaysAuthenticated: true,
          routes: (http) => routes(http, service),
        },
      ],
      start: service.start,
    }
  },
})

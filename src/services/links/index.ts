import { Identity } from '../../identity/contract.ts'
import { defineService } from '../../kernel/define-service.ts'
import { Links } from './contract.ts'
import { routes } from './routes.ts'
import { createLinks } from './service.ts'

export default defineService({
  name: 'links',
  provides: Links,
  needs: { identity: Identity },
  build: (kit, { identity }) => ({
    api: {},
    http: [
      {
        name: 'links',
        title: 'Links that download a resource without a header',
        roots: ['/links/api/v1'],
        routes: (http) => routes(http, createLinks({ kit, identity })),
      },
    ],
  }),
})

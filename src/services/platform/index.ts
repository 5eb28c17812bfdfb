import { heldBy } from '../../identity/contract.ts'
import { defineService } from '../../kernel/define-service.ts'
import { Platform } from './contract.ts'
import { readScope, routes } from './routes.ts'
import { createPlatform } from './service.ts'

export default defineService({
  name: 'platform',
  provides: Platform,
  scopes: { [readScope]: heldBy.noOtherRole },
  scopeNouns: { status: 'nodes, database, queues, backups and settings' },
  build(kit) {
    const platform = createPlatform(kit)
    return {
      api: {},
      http: [
        {
          name: 'platform',
          title: 'Nodes, database, queues, backups and settings of the platform, for its administrators',
          roots: ['/platform/api/v1'],
          routes: (http) => routes(http, platform),
        },
      ],
    }
  },
})

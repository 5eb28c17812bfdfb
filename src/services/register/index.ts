import { Identity } from '../../identity/contract.ts'
import { defineService } from '../../kernel/define-service.ts'
import { Applications } from '../applications/contract.ts'
import { Tokens } from '../tokens/contract.ts'
import { createChanges } from './changes.ts'
import { followKeys } from './connectivity-keys.ts'
import { Register } from './contract.ts'
import { endpointMetadata } from './device.ts'
import { reactions } from './reactions.ts'
import { batchRoutes, endpointRoutes } from './routes/endpoints.ts'
import { filterRoutes } from './routes/filters.ts'
import { metadataRoutes } from './routes/metadata.ts'
import { relationRoutes } from './routes/relations.ts'
import { createFilterRules } from './service/filters.ts'
import { createMatching } from './service/matching.ts'
import { createRegister, foldAll } from './service.ts'
import { filterIndex } from './store/filter-members.ts'

export default defineService({
  name: 'register',
  provides: Register,
  needs: { identity: Identity, applications: Applications, tokens: Tokens },
  migrations: new URL('./migrations/', import.meta.url),
  build(kit, given) {
    const changes = createChanges()
    const matching = createMatching(kit, changes)
    const filters = createFilterRules(kit, { ...given, matching })
    const connectivityKeys = followKeys(kit.log, given.applications)
    const service = { ...createRegister(kit, given, { changes, filters: filterIndex, connectivityKeys }), filters }
    reactions(kit.bus, service)
    const routes = [endpointRoutes, batchRoutes, metadataRoutes, relationRoutes, filterRoutes]
    return {
      api: service.api,
      http: [
        {
          name: 'register',
          title: 'Endpoints, their metadata, relations and filters',
          roots: ['/epr/api/v1'],
          routes: (http) => routes.forEach((add) => void add(http, service)),
        },
      ],
      device: [endpointMetadata(service.api, given.applications, connectivityKeys)],
      periodic: [{ name: 'register.fold-counts', everySeconds: 10, run: foldAll }],
    }
  },
})

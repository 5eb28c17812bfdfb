import { heldBy, Identity, scopes } from '../../identity/contract.ts'
import { defineService } from '../../kernel/define-service.ts'
import { Applications } from '../applications/contract.ts'
import { Tokens } from '../tokens/contract.ts'
import { registerInstances } from './configuration.ts'
import { Register } from './contract.ts'
import { endpointMetadata } from './device.ts'
import { defineCountsTopic } from './directory/live.ts'
import { directoryRoutes } from './directory/routes.ts'
import { createChanges } from './endpoint-changes.ts'
import { batchRoutes, endpointRoutes } from './endpoints/routes.ts'
import { registerEventHandlers } from './event-handlers.ts'
import { createMatching } from './filters/matching.ts'
import { updateMembersOnChange } from './filters/membership.ts'
import { filterRoutes } from './filters/routes.ts'
import { createFilterOperations } from './filters/service.ts'
import { filterIndex } from './filters/store/members.ts'
import { createConnectivityKeys } from './metadata/connectivity-keys.ts'
import { metadataRoutes } from './metadata/routes.ts'
import { relationRoutes } from './relations/routes.ts'
import { createRegister, foldAllCounts } from './service.ts'

export default defineService({
  name: 'register',
  provides: Register,
  needs: { identity: Identity, applications: Applications, tokens: Tokens },
  migrations: new URL('./migrations/', import.meta.url),
  instances: registerInstances,
  scopeNouns: { 'endpoints-metadata-keys': 'metadata keys of endpoints' },
  scopes: {
    'application:endpoint:create': heldBy.endpointAdmins,
    'endpoint:read': heldBy.endpointReaders,
    ...scopes('endpoint', ['update', 'delete'], heldBy.endpointAdmins),
    'application:endpoints-metadata-keys:read': heldBy.endpointReaders,
    'application:endpoint-filter:read': heldBy.endpointReaders,
    ...scopes('application:endpoint-filter', ['create', 'update', 'delete'], heldBy.applicationAdmins),
  },
  build(kit, services) {
    const changes = createChanges()
    const matching = createMatching(kit)
    updateMembersOnChange(kit.bus, changes)
    const filters = createFilterOperations(kit, { ...services, matching })
    const connectivityKeys = createConnectivityKeys(services.applications)
    const service = { ...createRegister(kit, services, { changes, filters: filterIndex, connectivityKeys }), filters }
    registerEventHandlers(kit.bus, service)
    defineCountsTopic(kit.live, service.directory)
    const routes = [endpointRoutes, batchRoutes, directoryRoutes, metadataRoutes, relationRoutes, filterRoutes]
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
      device: [endpointMetadata(service.api, services.applications, connectivityKeys)],
      periodic: [
        { name: 'register.fold-counts', everySeconds: 10, run: foldAllCounts },
        service.directory.indexing.periodic,
      ],
      stop: service.directory.flush,
    }
  },
})

import { Identity } from '../../identity/contract.ts'
import { defineService } from '../../kernel/define-service.ts'
import { Applications } from '../applications/contract.ts'
import { Tokens } from '../tokens/contract.ts'
import { createChanges } from './changes.ts'
import { Register } from './contract.ts'
import { reactions } from './reactions.ts'
import { batchRoutes, endpointRoutes } from './routes/endpoints.ts'
import { metadataRoutes } from './routes/metadata.ts'
import { relationRoutes } from './routes/relations.ts'
import { createRegister } from './service.ts'
import { foldCounts } from './store/counts.ts'
import { noFilters } from './store/no-filters.ts'

export default defineService({
  name: 'register',
  provides: Register,
  needs: { identity: Identity, applications: Applications, tokens: Tokens },
  migrations: new URL('./migrations/', import.meta.url),
  build(kit, given) {
    const service = createRegister(kit, given, { changes: createChanges(), filters: noFilters })
    reactions(kit.bus, service)
    const routes = [endpointRoutes, batchRoutes, metadataRoutes, relationRoutes]
    return {
      api: service.api,
      http: [{ name: 'register', routes: (http) => routes.forEach((add) => void add(http, service)) }],
      periodic: [
        { name: 'register.fold-counts', everySeconds: 10, run: foldCounts },
        { name: 'register.forget-batches', everySeconds: 3600, run: service.batches.forgetOld },
      ],
    }
  },
})

import { defineService } from '../kernel/define-service.ts'
import { Identity } from './contract.ts'
import { createCore } from './core.ts'
import { createManagement } from './management.ts'
import { mountRealms } from './provider/edge.ts'
import { realmOperations } from './provider/reference.ts'

export default defineService({
  name: 'identity',
  provides: Identity,
  migrations: new URL('./migrations/', import.meta.url),
  build(kit) {
    const core = createCore(kit)
    const management = createManagement(kit, core)
    const { realms, accounts } = core
    const { authenticate, grantCreator, forgetResource, deleteUser } = management
    const { reserveRealm, buildRealm, setRealmStatus, realm } = realms
    const { createUser, findUsers } = accounts
    return {
      api: {
        authenticate,
        reserveRealm,
        buildRealm,
        setRealmStatus,
        realm,
        realms: realms.realms,
        createUser,
        findUsers,
        deleteUser,
        grantCreator,
        forgetResource,
      },
      http: [
        {
          name: 'identity',
          routes: management.routes,
          raw(app, record) {
            for (const operation of realmOperations) record(operation)
            mountRealms(app, kit, core)
          },
        },
      ],
      periodic: core.periodic,
      stop: management.stop,
    }
  },
})

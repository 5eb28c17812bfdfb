import { heldBy, Identity, scopes } from '../../identity/contract.ts'
import { defineService } from '../../kernel/define-service.ts'
import { Applications } from '../applications/contract.ts'
import { dashboardScopes } from './access.ts'
import { Dashboards } from './contract.ts'
import { registerEventHandlers } from './event-handlers.ts'
import { routes } from './routes.ts'
import { createDashboards } from './service.ts'

export default defineService({
  name: 'dashboards',
  provides: Dashboards,
  needs: { identity: Identity, applications: Applications },
  migrations: new URL('./migrations/', import.meta.url),
  scopes: {
    [dashboardScopes.create]: heldBy.endpointAdmins,
    // All users that may read endpoints may read dashboards, because a dashboard shows only data that the user may read anyway.
    [dashboardScopes.read]: heldBy.endpointReaders,
    ...scopes('dashboard', ['update', 'delete'], heldBy.applicationAdmins),
  },
  build(kit, { identity, applications }) {
    const service = createDashboards({ ...kit, identity, applications })
    registerEventHandlers(kit.bus, service)
    return {
      api: {},
      http: [
        {
          name: 'dashboards',
          title: 'Dashboards, their versions, and dashboard templates of application versions',
          roots: ['/dashboards/api/v1'],
          routes: (http) => routes(http, service),
        },
      ],
    }
  },
})

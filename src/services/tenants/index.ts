import { Identity } from '../../identity/contract.ts'
import { defineInstance } from '../../kernel/configuration.ts'
import { defineService } from '../../kernel/define-service.ts'
import { detailFormat, errorDetailsFormat } from '../../kernel/error-formats.ts'
import { defineBuildJob } from './build-job.ts'
import { createCatalogues } from './catalogue-service.ts'
import { Tenants } from './contract.ts'
import { defineSeeding } from './defaults.ts'
import { catalogueRoutes } from './routes/catalogues.ts'
import * as v1 from './routes/v1.ts'
import * as v2 from './routes/v2.ts'
import { userRoutes } from './routes/v2-users.ts'
import { tenantScopes } from './scopes.ts'
import { createTenants } from './service.ts'
import { findLimits } from './store/catalogues.ts'
import { createUsers } from './users.ts'

export default defineService({
  name: 'tenants',
  provides: Tenants,
  needs: { identity: Identity },
  migrations: new URL('./migrations/', import.meta.url),
  sealed: [
    { table: 'tenants', column: 'admin_password_sealed' },
    { table: 'tenants', column: 'objectstore_secret_sealed' },
  ],
  instances: [
    defineInstance({
      name: 'tenant-manager',
      group: 'Identity management',
      description: 'Tenant manager',
      urlPrefix: '/tenant-manager',
    }),
  ],
  scopeNouns: {
    idp: 'identity providers',
    'idp-server': 'servers of identity providers',
    'idp-roles-versions-mappings': 'roles of role versions',
    'idp-roles-scopes-mappings': 'scopes of roles',
    'js-policy': 'JavaScript policies',
    'tenant-user': 'users of tenants',
    'tenant-subscription': 'subscriptions of tenants',
  },
  scopes: tenantScopes,
  build(kit, { identity }) {
    kit.tenantLimits.setSource((tenantIds) => findLimits(kit.db.sql, tenantIds))
    const buildJob = defineBuildJob(kit, identity)
    const defaults = defineSeeding(kit, identity)
    const tenants = createTenants({ kit, identity, buildJob })
    const catalogues = createCatalogues(kit)
    const users = createUsers(kit, { identity, tenants })
    const routesV1 = (http: Parameters<typeof v1.tenantRoutes>[0]) => {
      v1.tenantRoutes(http, { tenants, identity, idps: catalogues.idp })
      catalogueRoutes(http, catalogues)
    }
    const routesV2 = (http: Parameters<typeof v2.tenantRoutes>[0]) => {
      const deps = { tenants, catalogues, identity, secrets: kit.secrets }
      v2.tenantRoutes(http, deps)
      v2.credentialRoutes(http, deps)
      v2.listRoutes(http, catalogues)
      userRoutes(http, users)
    }
    return {
      api: tenants,
      http: [
        {
          name: 'tenant-v1',
          title: 'Tenant manager v1: tenants and the templates that they are built from',
          roots: ['/api/v1', '/tenant-manager/api/v1'],
          errorFormat: detailFormat,
          routes: routesV1,
        },
        {
          name: 'tenant-v2',
          title: 'Tenant manager v2: tenants and their users',
          roots: ['/tenant-manager/api/v2', '/api/v2'],
          errorFormat: errorDetailsFormat,
          routes: routesV2,
        },
      ],
      periodic: [buildJob.retryStuckBuilds],
      start: defaults.seed,
    }
  },
})

import { defineService } from '../kernel/define-service.ts'
import { createAccountParts } from './account/parts.ts'
import { heldBy, Identity, scopes } from './contract.ts'
import { createCore } from './core.ts'
import { createManagement } from './management.ts'
import { createOrigins } from './origins.ts'
import { mountRealms } from './provider/realm-routes.ts'
import { realmOperations } from './provider/reference.ts'
import { identitySettings } from './settings.ts'

export default defineService({
  name: 'identity',
  provides: Identity,
  settings: identitySettings,
  migrations: new URL('./migrations/', import.meta.url),
  sealed: [
    { table: 'realms', column: 'cookie_key_sealed' },
    { table: 'clients', column: 'secret_sealed' },
    { table: 'clients', column: 'old_secrets', isJson: true },
    { table: 'signing_keys', column: 'private_jwk_sealed' },
    { table: 'second_factors', column: 'secret_sealed' },
    { table: 'artefacts', column: 'payload', isJson: true },
  ],
  scopeNouns: { 'api-key': 'API keys', realm: 'settings of logins', issuer: 'external issuers' },
  scopes: {
    ...scopes('identity:user', ['create', 'read', 'update', 'delete'], heldBy.tenantAdmins),
    ...scopes('identity:role', ['create', 'read', 'update', 'delete'], heldBy.tenantAdmins),
    ...scopes('identity:grant', ['create', 'read', 'delete'], heldBy.tenantAdmins),
    ...scopes('identity:api-key', ['create', 'read', 'delete'], heldBy.tenantAdmins),
    ...scopes('identity:client', ['read', 'update'], heldBy.tenantAdmins),
    ...scopes('identity:realm', ['read', 'update'], heldBy.tenantAdmins),
    ...scopes('identity:issuer', ['create', 'read', 'delete'], heldBy.tenantAdmins),
  },
  build(kit) {
    const core = createCore(kit)
    const account = createAccountParts(kit, core)
    const management = createManagement(kit, core, account)
    const { reserveRealm, buildRealm, setRealmStatus, realm, realms } = core.realms
    const { createUser, findUsers } = core.accounts
    const { authenticate, callerNow, mayActAs, grantCreator, forgetResource, deleteUser, operator, routes, stop } =
      management
    const forTenants = { reserveRealm, buildRealm, setRealmStatus, realm, realms, createUser, findUsers, deleteUser }
    return {
      api: {
        authenticate,
        callerNow,
        isOriginAllowed: createOrigins(kit, core.realms),
        mayActAs,
        grantCreator,
        forgetResource,
        operator,
        ...forTenants,
      },
      http: [
        {
          name: 'identity',
          title: 'Logins, users, roles, grants, API keys, clients and external issuers of a tenant',
          roots: ['/iam/api/v1'],
          routes,
          raw(app, record) {
            for (const operation of realmOperations) record(operation)
            mountRealms(app, kit, core, account.pages, account.hasReset)
          },
        },
      ],
      periodic: core.periodic,
      async stop() {
        account.stop()
        await stop()
      },
    }
  },
})

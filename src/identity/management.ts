/** Assembles authentication, permissions and the operations under /iam/api/v1. */
import type { Kit } from '../kernel/define-service.ts'
import type { Http } from '../kernel/http/routes.ts'
import { createAccess } from './access.ts'
import type { AccountParts } from './account/parts.ts'
import { createKeyAccess } from './api-key-access.ts'
import { createAuthenticate } from './authenticate.ts'
import { createCallerNow } from './caller-now.ts'
import type { Identity } from './contract.ts'
import type { Core } from './core.ts'
import { createExternalIssuers } from './external-issuers.ts'
import { createHeldPermissions } from './held-permissions.ts'
import { accessRoutes } from './iam/access/routes.ts'
import { createAccessExplanation } from './iam/access/service.ts'
import { apiKeyRoutes } from './iam/api-keys/routes.ts'
import { createApiKeys } from './iam/api-keys/service.ts'
import { clientRoutes } from './iam/clients/routes.ts'
import { createClients } from './iam/clients/service.ts'
import { mayActAs } from './iam/escalation.ts'
import { grantRoutes } from './iam/grants/routes.ts'
import { createGrants } from './iam/grants/service.ts'
import { issuerRoutes } from './iam/issuers/routes.ts'
import { createIssuers } from './iam/issuers/service.ts'
import { meRoutes } from './iam/me/routes.ts'
import { createMe } from './iam/me/service.ts'
import { realmRoutes } from './iam/realm/routes.ts'
import { createRealmSettings } from './iam/realm/service.ts'
import { roleRoutes } from './iam/roles/routes.ts'
import { createRoles } from './iam/roles/service.ts'
import { scopeRoutes } from './iam/scopes/routes.ts'
import { userRoutes } from './iam/users/routes.ts'
import { createUsers } from './iam/users/service.ts'
import { createOperator } from './operator.ts'
import type { IdentitySettings } from './settings.ts'

export interface Management
  extends Pick<
    Identity,
    'authenticate' | 'callerNow' | 'mayActAs' | 'grantCreator' | 'forgetResource' | 'deleteUser' | 'operator'
  > {
  routes(http: Http): void
  stop(): Promise<void>
}

export function createManagement(kit: Kit<IdentitySettings>, core: Core, account: AccountParts): Management {
  const held = createHeldPermissions()
  const access = createAccess(kit, held)
  const keyAccess = createKeyAccess(kit, access, held)
  const external = createExternalIssuers(kit)
  const users = createUsers(kit, { ...core, passwordRule: account.passwordRule })
  const grants = createGrants(kit, kit.settings.grantsPerSubject)
  const roles = createRoles(kit)
  const apiKeys = createApiKeys(kit)
  const clients = createClients(kit, core.realms)
  const issuers = createIssuers(kit)
  return {
    authenticate: createAuthenticate(kit, { verify: core.accessTokens.verify, external, access, keys: keyAccess }),
    callerNow: createCallerNow(kit, access),
    mayActAs: (ctx, tenantIds) => mayActAs(ctx, kit.db.sql, tenantIds),
    grantCreator: grants.grantCreator,
    forgetResource: grants.forgetResource,
    deleteUser: users.remove,
    operator: createOperator(kit, { users, apiKeys, signingKeys: core.signingKeys, links: account.passwordLinks }),
    routes(http) {
      meRoutes(http, createMe(kit, core), account.ownPassword)
      scopeRoutes(http, kit)
      accessRoutes(http, createAccessExplanation(kit))
      userRoutes(http, users)
      roleRoutes(http, roles)
      grantRoutes(http, grants)
      apiKeyRoutes(http, apiKeys)
      clientRoutes(http, clients)
      issuerRoutes(http, issuers)
      realmRoutes(http, createRealmSettings(kit, core.realms))
    },
    stop: keyAccess.stop,
  }
}

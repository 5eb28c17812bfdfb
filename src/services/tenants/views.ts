/** Converts a tenant to its representation in v1 and v2 (document 3, "People's side"). */
import type { RealmView, UserView } from '../../identity/contract.ts'
import type { TenantV1 } from './schemas/v1.ts'
import type { TenantV2 } from './schemas/v2.ts'
import type { Tenant } from './tenant.ts'

/** Returns the subscription as in v1, which has no value for a trial. */
export const subscriptionOf = (type: Tenant['subscriptionType']): TenantV1['subscription_type'] =>
  type === 'PERMANENT' ? 'PERMANENT' : 'RENEWAL'

/** Converts a tenant to v1. The secret and issuer of a deleted tenant are empty, and so is a secret that the caller may not see. */
export const asV1 = (tenant: Tenant, realm: RealmView | undefined, showsSecret: boolean): TenantV1 => ({
  id: tenant.tenantId,
  realm_name: tenant.tenantId,
  client_frontend_id: tenant.clientFrontendId,
  client_backend_id: tenant.clientBackendId,
  client_backend_secret: (showsSecret && realm?.backendClientSecret) || '',
  realm_template_version: tenant.realmTemplateVersion,
  realm_scopes_version: tenant.realmScopesVersion,
  client_backend_version: tenant.clientBackendVersion,
  client_frontend_version: tenant.clientFrontendVersion,
  roles_version: tenant.rolesVersion,
  resources_version: tenant.resourcesVersion,
  idp_version: tenant.idpVersion,
  ...(tenant.userTemplate !== null && { user: tenant.userTemplate }),
  user_roles: tenant.userRoles,
  issuer: realm?.issuer ?? '',
  status: tenant.status,
  ...(tenant.statusReason !== null && { status_reason: tenant.statusReason }),
  created: tenant.created,
  idp_server: tenant.idpServer,
  package_type: tenant.packageType,
  analytics_enabled: tenant.analyticsEnabled,
  js_policies: tenant.jsPolicies,
  subscription_type: subscriptionOf(tenant.subscriptionType),
})

export const irnOf = (tenantId: string, username: string) => `irn:${tenantId}:identity::user/${username}`

/**
 * Converts a tenant to v2. The fields of object store and analytics contain the tenant id, because the platform stores no values for them.
 */
export const asV2 = (tenant: Tenant): TenantV2 => {
  const status = tenant.status === 'DISABLED' ? 'SUSPENDED' : tenant.status
  return {
    id: tenant.id,
    name: tenant.name,
    tenant_id: tenant.tenantId,
    ...(tenant.loginTheme !== null && { login_theme: tenant.loginTheme }),
    status,
    ...(tenant.statusReason !== null && { status_reason: tenant.statusReason }),
    analytics_enabled: tenant.analyticsEnabled,
    subscription_type: tenant.subscriptionType,
    ...(tenant.packageName !== null && { package_type: tenant.packageName }),
    ...(tenant.adminId !== null && { admin: adminOf(tenant, tenant.adminId) }),
    objectstore: { key: tenant.tenantId, status },
    analytics: { key: tenant.tenantId, uuid: tenant.id, status: tenant.analyticsEnabled ? 'ENABLED' : 'DISABLED' },
    created: tenant.created,
    modified: tenant.modified,
  }
}

const adminOf = (tenant: Tenant, id: string) => ({
  id,
  irn: irnOf(tenant.tenantId, tenant.adminUsername ?? ''),
  email: tenant.adminEmail ?? '',
  username: tenant.adminUsername ?? '',
  first_name: tenant.adminFirstName ?? '',
  last_name: tenant.adminLastName ?? '',
})

export const asUser = (tenantId: string, user: UserView) => ({
  id: user.id,
  irn: irnOf(tenantId, user.username),
  email: user.email ?? '',
  username: user.username,
  first_name: user.firstName ?? '',
  last_name: user.lastName ?? '',
  enabled: user.enabled,
})

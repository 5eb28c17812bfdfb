/** The model of a tenant, which both APIs share. */
import type { SubscriptionType } from './schemas/common.ts'
import type { TenantStatus } from './states.ts'

/** Catalogue entries from which a realm is built. */
export interface RealmVersions {
  realmTemplateVersion: number
  realmScopesVersion: number
  clientBackendVersion: number
  clientFrontendVersion: number
  rolesVersion: number
  resourcesVersion: number
}

/** Other catalogue entries to which a tenant refers. */
export interface TenantChoices {
  packageType: number
  idpServer: number
  idpVersion: number
  userTemplate: number | null
  userRoles: number
}

export interface Tenant extends RealmVersions, TenantChoices {
  id: string
  tenantId: string
  name: string
  loginTheme: string | null
  status: TenantStatus
  statusReason: string | null
  builtIn: boolean
  subscriptionType: SubscriptionType
  packageName: string | null
  analyticsEnabled: boolean
  clientBackendId: string
  clientFrontendId: string
  adminId: string | null
  adminUsername: string | null
  adminEmail: string | null
  adminFirstName: string | null
  adminLastName: string | null
  adminPasswordSealed: string | null
  objectstoreSecretSealed: string
  jsPolicies: number[]
  created: Date
  modified: Date
}

/** Built-in entries, which have id 1 (migrations/0001_tenants.sql). */
export const defaultVersions: RealmVersions = {
  realmTemplateVersion: 1,
  realmScopesVersion: 1,
  clientBackendVersion: 1,
  clientFrontendVersion: 1,
  rolesVersion: 1,
  resourcesVersion: 1,
}

export const builtInTenants = ['platform', 'default']

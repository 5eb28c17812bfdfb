/** The tenant as the service knows it: one model behind both faces. */
import type { SubscriptionType } from './schemas/common.ts'
import type { TenantStatus } from './states.ts'

/** Which entries of the catalogues a realm is built from. */
export interface RealmVersions {
  realmTemplateVersion: number
  realmScopesVersion: number
  clientBackendVersion: number
  clientFrontendVersion: number
  rolesVersion: number
  resourcesVersion: number
}

/** Other catalogue entries that a tenant names. */
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

/** What ships with the platform under number 1 (migrations/0001_tenants.sql). */
export const defaultVersions: RealmVersions = {
  realmTemplateVersion: 1,
  realmScopesVersion: 1,
  clientBackendVersion: 1,
  clientFrontendVersion: 1,
  rolesVersion: 1,
  resourcesVersion: 1,
}

export const builtInTenants = ['platform', 'default']

import { type Authenticate, type Ctx, contract } from '../kernel/contract.ts'
import type { Sql } from '../kernel/db.ts'

/** AVAILABLE realms log in and talk, all others get 401. */
export type RealmStatus = 'AVAILABLE' | 'SUSPENDED' | 'DISABLED' | 'CREATING' | 'UPDATING' | 'FAILED' | 'DELETED'

export interface RoleSpec {
  name: string
  description?: string
  /** On tenant-system; a scope that starts with `platform:` is held on platform-system and only in realm `platform`. */
  scopes: string[]
}

export interface RealmSpec {
  tenantId: string
  displayName?: string
  loginTheme?: string
  accessTokenSeconds: number
  refreshTokenSeconds: number
  frontendClient: { id: string; redirectUris: string[]; webOrigins: string[] }
  backendClient: { id: string; roles: string[] }
  roles: RoleSpec[]
  resources: { name: string; type: string; displayName: string; scopes: string[] }[]
}

export interface RealmView {
  tenantId: string
  status: RealmStatus
  issuer: string
  frontendClientId: string
  backendClientId: string
  backendClientSecret: string
}

export interface NewUser {
  username: string
  email?: string
  firstName?: string
  lastName?: string
  /** Generated when absent. */
  password?: string
  roles: string[]
}

export interface Identity {
  /** Who presents this token or key; undefined when nothing is presented, 401 for anything false. */
  authenticate: Authenticate
  /** Makes the realm or brings it to this specification; users, keys and secrets stay. Safe to repeat. */
  buildRealm(sql: Sql, realm: RealmSpec): Promise<void>
  /** Takes effect within a second everywhere; DELETED also removes users, clients, keys, roles and grants. */
  setRealmStatus(sql: Sql, tenantId: string, status: RealmStatus): Promise<void>
  realm(tenantId: string): Promise<RealmView | undefined>
  /** The id of the user, and the password when it was generated. A taken username is returned as undefined. */
  createUser(sql: Sql, tenantId: string, user: NewUser): Promise<{ id: string; password?: string } | undefined>
  /** Who creates a resource holds every scope on it. */
  grantCreator(sql: Sql, ctx: Ctx, resource: string): Promise<void>
  /** The resource is gone: grants on it go too. */
  forgetResource(sql: Sql, tenantId: string, resource: string): Promise<void>
}
export const Identity = contract<Identity>('identity')

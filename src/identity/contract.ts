import { type Authenticate, type Ctx, contract } from '../kernel/contract.ts'
import type { Sql } from '../kernel/db.ts'

/** AVAILABLE realms log in and talk, all others get 401. */
export type RealmStatus = 'AVAILABLE' | 'SUSPENDED' | 'DISABLED' | 'CREATING' | 'UPDATING' | 'FAILED' | 'DELETED'

export interface RoleSpec {
  name: string
  description?: string
  /**
   * Where its scopes are held. `platform`: all of them on platform-system; such a role occurs only in realm `platform`.
   * `tenant`: on tenant-system, but a scope that starts with `platform:` on platform-system and only in realm `platform`.
   */
  on: 'platform' | 'tenant'
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

/** What must be known before a realm is built: the answer to a registration names its clients and the secret. */
export interface RealmReservation {
  tenantId: string
  frontendClientId: string
  backendClientId: string
}

export interface UserView {
  id: string
  username: string
  email?: string
  firstName?: string
  lastName?: string
  enabled: boolean
}

export interface NewUser {
  /** A UUID that the caller chose: the answer to a registration names its administrator before the realm is built. */
  id?: string
  username: string
  email?: string
  firstName?: string
  lastName?: string
  /** Generated when absent. */
  password?: string
  roles: string[]
}

/** For whoever holds the machine itself: no permission is asked, and what is changed takes effect as usual. */
export interface Operator {
  /** 400 for a role that does not exist or a name that cannot be shown, 409 for a taken name. */
  addUser(
    tenantId: string,
    user: { username: string; roles: string[]; password: string },
  ): Promise<{ id: string; username: string }>
  setPassword(tenantId: string, userId: string, password: string): Promise<void>
  removeUser(tenantId: string, userId: string): Promise<void>
  /** A key of this user or client, with all or some of its permissions; shown once. 403 for a scope that it does not hold. */
  createApiKey(
    tenantId: string,
    owner: { type: 'user' | 'client'; id: string },
    key: { name: string; scopes?: string[]; expiresAt?: string },
  ): Promise<{ id: string; key: string }>
  apiKeys(
    tenantId: string,
  ): Promise<{ id: string; name: string; owner: { type: string; id: string }; expiresAt?: Date }[]>
  revokeApiKey(tenantId: string, id: string): Promise<void>
  /** A new signing key; what the old one has signed stays valid until it expires. */
  rotateSigningKey(tenantId: string): Promise<void>
}

export interface Identity {
  /** Who presents this token or key; undefined when nothing is presented, 401 for anything false. */
  authenticate: Authenticate
  /**
   * A realm in status CREATING with its two client ids and a generated backend secret, and nothing else yet. buildRealm
   * keeps the secret. An existing realm stays as it is and is returned.
   */
  reserveRealm(sql: Sql, realm: RealmReservation): Promise<RealmView>
  /** Makes the realm or brings it to this specification; users, keys and secrets stay. Safe to repeat. */
  buildRealm(sql: Sql, realm: RealmSpec): Promise<void>
  /** Takes effect within a second everywhere; DELETED also removes users, clients, keys, roles and grants. */
  setRealmStatus(sql: Sql, tenantId: string, status: RealmStatus): Promise<void>
  realm(tenantId: string): Promise<RealmView | undefined>
  /** Many at once, for lists; a realm that does not exist is missing from the map. */
  realms(tenantIds: string[]): Promise<Map<string, RealmView>>
  /**
   * Of these tenants, those whose backend client holds nothing that the caller does not hold: only then may the caller
   * see its secret. While a realm is being built nobody knows what its client will hold, and every scope is asked for.
   */
  mayActAs(ctx: Ctx, tenantIds: readonly string[]): Promise<Set<string>>
  /** The id of the user, and the password when it was generated. A taken username is returned as undefined. */
  createUser(sql: Sql, tenantId: string, user: NewUser): Promise<{ id: string; password?: string } | undefined>
  /** Users of a realm by username; `search` is part of username, e-mail or a name. `limit` null is all. */
  findUsers(
    tenantId: string,
    filter: { search?: string; enabled?: boolean; offset: number; limit: number | null },
  ): Promise<{ count: number; users: UserView[] }>
  /** False when there is no such user. 409 for the last enabled administrator of the realm. */
  deleteUser(sql: Sql, tenantId: string, userId: string): Promise<boolean>
  operator: Operator
  /** Who creates a resource holds every scope on it. */
  grantCreator(sql: Sql, ctx: Ctx, resource: string): Promise<void>
  /** The resource is gone: grants on it go too. */
  forgetResource(sql: Sql, tenantId: string, resource: string): Promise<void>
}
export const Identity = contract<Identity>('identity')

/** Roles that every realm has from the start; `platform-admin` only realm `platform`. */
export const builtInRoles = {
  'tenant-admin': 'Everything in its tenant',
  service: "The tenant's backend client: every scope at tenant level",
  'application-admin': 'Applications and all that belongs to them',
  'application-reader': 'Reads applications and all that belongs to them',
  'endpoint-admin': 'Endpoints, their data, configuration and commands',
  'endpoint-reader': 'Reads endpoints and their data',
  'platform-admin': 'Everything on the platform; only in realm platform',
} as const
export type BuiltInRole = keyof typeof builtInRoles

type Holders = readonly BuiltInRole[]
const tenantAdmins: Holders = ['tenant-admin', 'service']
const applicationAdmins: Holders = [...tenantAdmins, 'application-admin']
const endpointAdmins: Holders = [...applicationAdmins, 'endpoint-admin']

/** Who holds a scope that a service declares. `platform-admin` holds every scope, those of `nobodyElse` alone. */
export const heldBy = {
  tenantAdmins,
  applicationAdmins,
  applicationReaders: [...applicationAdmins, 'application-reader'] as Holders,
  endpointAdmins,
  endpointReaders: [...endpointAdmins, 'application-reader', 'endpoint-reader'] as Holders,
  nobodyElse: [] as Holders,
}

/** `<prefix>:<verb>` for each of the verbs, all held by the same roles. */
export const scopes = (prefix: string, verbs: readonly string[], holders: Holders): Record<string, Holders> =>
  Object.fromEntries(verbs.map((verb) => [`${prefix}:${verb}`, holders]))

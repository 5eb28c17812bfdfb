import { type Authenticate, type Caller, type Ctx, contract } from '../kernel/contract.ts'
import type { Sql } from '../kernel/db.ts'

/** The status of a realm. Only users and devices of AVAILABLE realms are accepted; all others get 401. */
export type RealmStatus = 'AVAILABLE' | 'SUSPENDED' | 'DISABLED' | 'CREATING' | 'UPDATING' | 'FAILED' | 'DELETED'

export interface RoleSpec {
  name: string
  description?: string
  /**
   * The resource on which the role has its scopes. `platform`: platform-system; such roles exist only in realm `platform`.
   * `tenant`: tenant-system; scopes that start with `platform:` apply to platform-system, and only in realm `platform`.
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

/** Names the clients of a realm before it is built: the response to a registration contains them and the secret. */
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
  /** UUID chosen by the caller: the response to a registration names the administrator before the realm is built. */
  id?: string
  username: string
  email?: string
  firstName?: string
  lastName?: string
  /** A password is generated if this is absent. */
  password?: string
  roles: string[]
}

/** Operations of the command line. They need no permission; changes take effect as with the API. */
export interface Operator {
  /** Creates a user; 400 for an unknown role or a name with invisible characters, 409 for a taken name. */
  addUser(
    tenantId: string,
    user: { username: string; roles: string[]; password: string },
  ): Promise<{ id: string; username: string }>
  setPassword(tenantId: string, userId: string, password: string): Promise<void>
  /** Returns the path of a link, below the public address, by which the user chooses a password: once, within 15 minutes. */
  createPasswordLink(tenantId: string, userId: string): Promise<string>
  /** Removes the second factors of a user who lost them, and ends its logins. */
  removeSecondFactors(tenantId: string, userId: string): Promise<void>
  removeUser(tenantId: string, userId: string): Promise<void>
  /** Creates a key with all or some permissions of its owner; 403 for a scope that the owner does not have. */
  createApiKey(
    tenantId: string,
    owner: { type: 'user' | 'client'; id: string },
    key: { name: string; scopes?: string[]; expiresAt?: string },
  ): Promise<{ id: string; key: string }>
  apiKeys(
    tenantId: string,
  ): Promise<{ id: string; name: string; owner: { type: string; id: string }; expiresAt?: Date }[]>
  revokeApiKey(tenantId: string, id: string): Promise<void>
  /** Creates a new signing key. Tokens signed with the old one stay valid until they expire. */
  rotateSigningKey(tenantId: string): Promise<void>
}

export interface Identity {
  /** Returns the caller; undefined without token and key, 401 if one of them is invalid. */
  authenticate: Authenticate
  /** Returns whether web pages of this origin may call the platform: for some tenant, or for this one (CORS). */
  isOriginAllowed(origin: string, tenantId?: string): Promise<boolean>
  /** Returns a subject with its present permissions; undefined if it is deleted, disabled or expired, or its realm is not available. */
  callerNow(tenantId: string, subject: { type: string; id: string }): Promise<Caller | undefined>
  /**
   * Creates a realm in status CREATING with its two client ids and a generated backend secret, which `buildRealm` keeps.
   * An existing realm is returned unchanged.
   */
  reserveRealm(sql: Sql, realm: RealmReservation): Promise<RealmView>
  /** Creates the realm or updates it to this specification; users, keys and secrets stay. Idempotent. */
  buildRealm(sql: Sql, realm: RealmSpec): Promise<void>
  /** Changes the status, on all nodes within a second. DELETED also removes users, clients, keys, roles and grants. */
  setRealmStatus(sql: Sql, tenantId: string, status: RealmStatus): Promise<void>
  realm(tenantId: string): Promise<RealmView | undefined>
  /** Returns several realms by tenant id. Realms that do not exist are not in the map. */
  realms(tenantIds: string[]): Promise<Map<string, RealmView>>
  /**
   * Returns the tenants whose backend client has no permission that the caller lacks; only then may the caller see its
   * secret. Until a realm is built its client's permissions are unknown, so the caller needs every scope.
   */
  mayActAs(ctx: Ctx, tenantIds: readonly string[]): Promise<Set<string>>
  /** Returns the id of the user, and the password if it was generated; undefined if another user has the username or e-mail address. */
  createUser(sql: Sql, tenantId: string, user: NewUser): Promise<{ id: string; password?: string } | undefined>
  /** Returns users in order of username. `search` is part of username, e-mail or a name; `limit` null means all. */
  findUsers(
    tenantId: string,
    filter: { search?: string; enabled?: boolean; offset: number; limit: number | null },
  ): Promise<{ count: number; users: UserView[] }>
  /**
   * Deletes a user; false if there is no such user, 409 for the last enabled administrator of the realm. With `ctx`, 403 if the user has
   * a permission that the caller lacks.
   */
  deleteUser(sql: Sql, tenantId: string, userId: string, ctx?: Ctx): Promise<boolean>
  operator: Operator
  /** Grants the creator of a resource every scope on it. */
  grantCreator(sql: Sql, ctx: Ctx, resource: string): Promise<void>
  /** Deletes the grants on a resource that was deleted. */
  forgetResource(sql: Sql, tenantId: string, resource: string): Promise<void>
}
export const Identity = contract<Identity>('identity')

/** Roles that every realm has from the start; only realm `platform` has `platform-admin`. */
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

/** Sets of built-in roles that get a declared scope. `platform-admin` has every scope; `nobodyElse` adds no other role. */
export const heldBy = {
  tenantAdmins,
  applicationAdmins,
  applicationReaders: [...applicationAdmins, 'application-reader'] as Holders,
  endpointAdmins,
  endpointReaders: [...endpointAdmins, 'application-reader', 'endpoint-reader'] as Holders,
  nobodyElse: [] as Holders,
}

/** Declares the scope `<prefix>:<verb>` for each verb, with the same roles. */
export const scopes = (prefix: string, verbs: readonly string[], holders: Holders): Record<string, Holders> =>
  Object.fromEntries(verbs.map((verb) => [`${prefix}:${verb}`, holders]))

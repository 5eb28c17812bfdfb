import { type Authenticate, type Caller, type Ctx, contract } from '../kernel/contract.ts'
import type { Sql } from '../kernel/db.ts'

/** The status of a realm. Users and devices are accepted only if it is AVAILABLE; otherwise they get 401. */
export type RealmStatus = 'AVAILABLE' | 'SUSPENDED' | 'DISABLED' | 'CREATING' | 'UPDATING' | 'FAILED' | 'DELETED'

export interface RoleSpec {
  name: string
  description?: string
  /**
   * The resource to which the scopes of the role apply. `platform` means platform-system; only realm `platform` gets such roles. `tenant`
   * means tenant-system. Scopes that start with `platform:` always apply to platform-system, and other realms than `platform` do not get
   * them.
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

/** Ids of the two clients of a realm that is not built yet. The response to a registration already contains them and the backend secret. */
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
  /**
   * A UUID that the caller chooses, because the response to a registration contains the id of the administrator before the realm is built.
   */
  id?: string
  username: string
  email?: string
  firstName?: string
  lastName?: string
  /** A password is generated if this is absent. */
  password?: string
  roles: string[]
}

/** Operations of the command line. They need no permission. Their changes take effect in the same way as changes through the API. */
export interface Operator {
  /** Creates a user. Throws 400 for an unknown role or a name with invisible characters, and 409 for a name that is taken. */
  addUser(
    tenantId: string,
    user: { username: string; roles: string[]; password: string },
  ): Promise<{ id: string; username: string }>
  setPassword(tenantId: string, userId: string, password: string): Promise<void>
  /**
   * Returns the path, below the public address, of a link with which the user chooses a password. The link can be used once, within 15
   * minutes.
   */
  createPasswordLink(tenantId: string, userId: string): Promise<string>
  /** Removes the second factors of a user who lost them, and ends the user's logins. */
  removeSecondFactors(tenantId: string, userId: string): Promise<void>
  removeUser(tenantId: string, userId: string): Promise<void>
  /** Creates a key with all or some permissions of its owner. Throws 403 for a scope that the owner does not have. */
  createApiKey(
    tenantId: string,
    owner: { type: 'user' | 'client'; id: string },
    key: { name: string; scopes?: string[]; expiresAt?: string },
  ): Promise<{ id: string; key: string }>
  apiKeys(
    tenantId: string,
  ): Promise<{ id: string; name: string; owner: { type: string; id: string }; expiresAt?: Date }[]>
  revokeApiKey(tenantId: string, id: string): Promise<void>
  /** Creates a new signing key. Tokens that were signed with the old key stay valid until they expire. */
  rotateSigningKey(tenantId: string): Promise<void>
}

export interface Identity {
  /** Returns the caller. Returns undefined if the request has neither a token nor a key. Throws 401 if the token or the key is invalid. */
  authenticate: Authenticate
  /**
   * Returns whether web pages of this origin may call the platform (CORS). Without a tenant, it is enough that one tenant allows the
   * origin.
   */
  isOriginAllowed(origin: string, tenantId?: string): Promise<boolean>
  /**
   * Returns a subject with its current permissions. Returns undefined if the subject is deleted, disabled or expired, or its realm is not
   * available.
   */
  callerNow(tenantId: string, subject: { type: string; id: string }): Promise<Caller | undefined>
  /**
   * Creates a realm in status CREATING, with its two clients and a generated secret of the backend client. `buildRealm` keeps this secret.
   * If the realm exists, it is returned unchanged.
   */
  reserveRealm(sql: Sql, realm: RealmReservation): Promise<RealmView>
  /** Creates the realm, or updates it to this specification. Users, keys and secrets stay. Can be called repeatedly. */
  buildRealm(sql: Sql, realm: RealmSpec): Promise<void>
  /** Changes the status. It takes effect on all nodes within a second. DELETED also removes users, clients, keys, roles and grants. */
  setRealmStatus(sql: Sql, tenantId: string, status: RealmStatus): Promise<void>
  realm(tenantId: string): Promise<RealmView | undefined>
  /** Returns several realms by tenant id. Realms that do not exist are not in the map. */
  realms(tenantIds: string[]): Promise<Map<string, RealmView>>
  /**
   * Returns the tenants whose backend client has no permission that the caller lacks. The caller may see the secrets of these clients only.
   * While a realm is not built, the permissions of its client are unknown, so the caller needs every scope on the tenant.
   */
  mayActAs(ctx: Ctx, tenantIds: readonly string[]): Promise<Set<string>>
  /**
   * Creates a user. Returns the id, and the password if it was generated. Returns undefined if another user has the username or e-mail
   * address.
   */
  createUser(sql: Sql, tenantId: string, user: NewUser): Promise<{ id: string; password?: string } | undefined>
  /**
   * Returns users in the order of usernames. `search` is a part of the username, the e-mail address or a name. A `limit` of null means all.
   */
  findUsers(
    tenantId: string,
    filter: { search?: string; enabled?: boolean; offset: number; limit: number | null },
  ): Promise<{ count: number; users: UserView[] }>
  /**
   * Deletes a user. Returns false if there is no such user. Throws 409 for the last enabled administrator of the realm. If `ctx` is given
   * and the user has a permission that the caller lacks, throws 403.
   */
  deleteUser(sql: Sql, tenantId: string, userId: string, ctx?: Ctx): Promise<boolean>
  operator: Operator
  /** Grants the creator of a resource every scope on it. */
  grantCreator(sql: Sql, ctx: Ctx, resource: string): Promise<void>
  /** Deletes the grants on a resource that was deleted. */
  forgetResource(sql: Sql, tenantId: string, resource: string): Promise<void>
}
export const Identity = contract<Identity>('identity')

/** Roles that every realm has from the start. Only realm `platform` has `platform-admin`. */
export const builtInRoles = {
  'tenant-admin': 'Everything in its tenant',
  service: "Every scope in the tenant; the role of the tenant's backend client",
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

/**
 * Sets of built-in roles. A service that declares a scope names the set whose roles get the scope. `platform-admin` has every scope and is
 * in no set; with `noOtherRole`, no other role gets the scope.
 */
export const heldBy = {
  tenantAdmins,
  applicationAdmins,
  applicationReaders: [...applicationAdmins, 'application-reader'] as Holders,
  endpointAdmins,
  endpointReaders: [...endpointAdmins, 'application-reader', 'endpoint-reader'] as Holders,
  noOtherRole: [] as Holders,
}

/** Declares the scope `<prefix>:<verb>` for each verb, with the same roles. */
export const scopes = (prefix: string, verbs: readonly string[], holders: Holders): Record<string, Holders> =>
  Object.fromEntries(verbs.map((verb) => [`${prefix}:${verb}`, holders]))

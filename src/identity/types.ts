/** Types that several parts of identity use. */
import type { RealmStatus } from './contract.ts'

/** An immutable snapshot of a realm. A change creates another revision. */
export interface Realm {
  tenantId: string
  displayName: string | undefined
  loginTheme: string | undefined
  status: RealmStatus
  accessTokenSeconds: number
  refreshTokenSeconds: number
  /** The rule for second factors of users. */
  secondFactor: 'off' | 'optional' | 'required'
  frontendClientId: string
  backendClientId: string
  cookieKeySealed: string
  /** Increases with every change of the realm, its clients or its keys. */
  revision: number
  clients: Client[]
  /** The signing keys, newest first. The first key signs new tokens; tokens of all keys are accepted. */
  keys: SigningKey[]
}

export interface Client {
  id: string
  kind: 'frontend' | 'backend'
  redirectUris: string[]
  webOrigins: string[]
  /** True if logins of this client require PKCE. */
  pkceRequired: boolean
  /** Roles of the service account. */
  roles: string[]
  secretSealed: string | undefined
  /** Secrets from before a change, each of them with the end of its validity. */
  oldSecrets: { sealed: string; until: Date }[]
}

export interface PublicJwk {
  kty: 'RSA'
  n: string
  e: string
}

export interface SigningKey {
  kid: string
  publicJwk: PublicJwk
  privateJwkSealed: string
  createdAt: Date
  retiredAt: Date | undefined
}

export interface User {
  id: string
  username: string
  email: string | undefined
  firstName: string | undefined
  lastName: string | undefined
  enabled: boolean
  roles: string[]
}

/** Owner of a verified access token. */
export interface TokenOwner {
  tenantId: string
  /** The id of the user or of the client. */
  sub: string
  subjectType: 'user' | 'client'
  /** The client that requested the token. */
  azp: string
  /** Id of the token's login; undefined for service accounts. */
  sid: string | undefined
  jti: string
  /** Expiry in seconds since the epoch. */
  exp: number
}

/** The shapes that the parts of identity hand each other. */
import type { RealmStatus } from './contract.ts'

/** One realm as its caches hold it: a snapshot, never changed; a change is another revision. */
export interface Realm {
  tenantId: string
  displayName: string | undefined
  loginTheme: string | undefined
  status: RealmStatus
  accessTokenSeconds: number
  refreshTokenSeconds: number
  frontendClientId: string
  backendClientId: string
  cookieKeySealed: string
  /** Grows with every change of the realm, its clients or its keys. */
  revision: number
  clients: Client[]
  /** The newest first: the first one signs, all of them verify. */
  keys: SigningKey[]
}

export interface Client {
  id: string
  kind: 'frontend' | 'backend'
  redirectUris: string[]
  webOrigins: string[]
  /** Roles of the service account. */
  roles: string[]
  secretSealed: string | undefined
  oldSecretSealed: string | undefined
  oldSecretUntil: Date | undefined
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

/** Who a verified access token belongs to. */
export interface TokenOwner {
  tenantId: string
  /** The user's id, or the client's. */
  sub: string
  subjectType: 'user' | 'client'
  /** The client that asked for the token. */
  azp: string
  /** The login that the token came from; service accounts have none. */
  sid: string | undefined
  jti: string
  /** Epoch seconds. */
  exp: number
}

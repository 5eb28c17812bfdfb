/** Distinguishes access tokens of external issuers from other tokens that they sign with the same keys (document 5, 10.5). */
import type { JWTPayload } from 'jose'

/** Values of Keycloak's `typ` claim for tokens that are not access tokens. */
const otherTypes = new Set(['ID', 'Refresh', 'Offline', 'Logout'])
/** Claims that only ID tokens and logout tokens have. */
const otherClaims = ['at_hash', 'c_hash', 's_hash', 'events']
/** Claims that define what a token permits, or for which client it was issued. ID tokens have no such claims. */
const accessClaims = ['scope', 'scp', 'client_id', 'cid', 'appid', 'permissions', 'gty']
/** Claims that describe how the user logged in. */
const loginClaims = ['auth_time', 'amr', 'acr']

/** Returns whether the token may be an access token. `headerType` is the `typ` of its header. */
export function isAccessToken(headerType: string | undefined, claims: JWTPayload): boolean {
  const has = (name: string) => claims[name] !== undefined
  const type = headerType?.toLowerCase().replace(/^application\//, '')
  // RFC 8725, 3.11: tokens of other kinds have types such as `logout+jwt`.
  if (type !== undefined && type !== 'jwt' && type !== 'at+jwt') return false
  if (otherClaims.some(has) || otherTypes.has(String(claims.typ))) return false
  // Amazon Cognito writes `id` or `access`.
  if (has('token_use') && claims.token_use !== 'access') return false
  if (type === 'at+jwt' || typeof claims.typ === 'string' || accessClaims.some(has)) return true
  return !has('nonce') && !loginClaims.some(has) && !isIssuedToItself(claims)
}

/** Returns whether the token is for the client that it was issued to. This is so for ID tokens (OpenID Connect Core, 2). */
const isIssuedToItself = ({ azp, aud }: JWTPayload) => azp !== undefined && [aud].flat().includes(azp as string)

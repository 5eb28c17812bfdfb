/**
 * Gives refresh tokens the form of a JWT, because existing clients read their `exp`. The claim `jti` is the library's opaque token, which
 * is the actual secret. The signature is therefore not checked when a client presents the token.
 */
import { decodeJwt, type JWTPayload } from 'jose'
import type { Form } from './library.ts'

export const refreshType = 'Refresh'

export const refreshClaims = (value: string, claims: JWTPayload): JWTPayload => ({
  ...claims,
  jti: value,
  typ: refreshType,
})

/** Returns the library's token inside our JWT. Other texts are returned unchanged. */
export function opaqueToken(value: string): string {
  if (value.split('.').length !== 3) return value
  try {
    const { typ, jti } = decodeJwt(value)
    return typ === refreshType && typeof jti === 'string' ? jti : value
  } catch {
    return value
  }
}

/** Returns the login that the refresh token names. The token is not verified: the login only selects the lock of the request. */
export function loginOf(value: string): string {
  try {
    const { typ, sid } = decodeJwt(value)
    return typ === refreshType && typeof sid === 'string' ? sid : value
  } catch {
    return value
  }
}

export function withOpaqueTokens(form: Form): Form {
  const opened = { ...form }
  for (const name of ['refresh_token', 'token'])
    if (typeof opened[name] === 'string') opened[name] = opaqueToken(opened[name])
  return opened
}

/** Verifies access tokens of our realms. Every invalid token gets the same 401 without a reason. */
import { decodeJwt, decodeProtectedHeader, type JWTPayload } from 'jose'
import type { Kit } from '../kernel/define-service.ts'
import type { DeniedTokens } from './denied-tokens.ts'
import { invalidToken } from './invalid-token.ts'
import type { Realms } from './realms.ts'
import { verifySignature } from './signing-keys.ts'
import type { Realm, TokenOwner } from './types.ts'

export interface AccessTokens {
  verify(token: string): Promise<TokenOwner>
  /** Returns all claims of a token if it is valid in this realm. Otherwise returns undefined. */
  read(realm: Realm, token: string): Promise<JWTPayload | undefined>
}

export function createAccessTokens({ now }: Pick<Kit, 'now'>, realms: Realms, denied: DeniedTokens): AccessTokens {
  async function read(realm: Realm, token: string): Promise<JWTPayload | undefined> {
    let claims: JWTPayload
    try {
      claims = await verifySignature(realm, token, realms.issuerOf(realm.tenantId), now())
    } catch {
      return undefined
    }
    const seconds = now().getTime() / 1000
    const { iat, jti, sid, typ } = claims
    if (typ !== 'Bearer') return undefined // This is another kind of token, such as an id_token.
    // If the configured lifetime was shortened, existing tokens end earlier too. An entry that denies a token is kept for the configured
    // lifetime, so no token outlives its entry.
    if (iat! + realm.accessTokenSeconds <= seconds) return undefined
    if (await denied.has(realm.tenantId, { jti: jti!, sid: sid as string | undefined })) return undefined
    return claims
  }

  return {
    read,
    async verify(token) {
      const { tenantId, kid } = readUnverified(token, realms)
      let realm = await realms.get(tenantId)
      // Another node may have created this key a moment ago, so the realm is read again.
      if (realm && !realm.keys.some((key) => key.kid === kid)) realm = await realms.refresh(tenantId)
      if (realm?.status !== 'AVAILABLE') throw invalidToken()
      const claims = await read(realm, token)
      if (!claims) throw invalidToken()
      const { sub, azp, sid, jti, exp } = claims
      return {
        tenantId,
        sub: sub!,
        // Tokens without a login belong to service accounts.
        subjectType: sid === undefined ? 'client' : 'user',
        azp: azp as string,
        sid: sid as string | undefined,
        jti: jti!,
        exp: exp!,
      }
    },
  }
}

/** Reads the tenant and key id from the token. Both values are untrusted until the signature is verified. */
function readUnverified(token: string, realms: Realms) {
  try {
    const { kid } = decodeProtectedHeader(token)
    const { iss } = decodeJwt(token)
    const tenantId = realms.tenantOfIssuer(iss ?? '')
    if (tenantId !== undefined && kid !== undefined) return { tenantId, kid }
  } catch {
    // The text is not a JWT.
  }
  throw invalidToken()
}

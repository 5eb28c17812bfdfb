/** Reads access tokens: who presents this one? Everything false is a 401 that says no more. */
import { decodeJwt, decodeProtectedHeader, type JWTPayload } from 'jose'
import type { Kit } from '../kernel/define-service.ts'
import { Unauthenticated } from '../kernel/errors.ts'
import type { Denied } from './denied.ts'
import { verifySignature } from './keys.ts'
import type { Realms } from './realms.ts'
import type { Realm, TokenOwner } from './types.ts'

export interface AccessTokens {
  verify(token: string): Promise<TokenOwner>
  /** The same for one realm, with all claims; undefined for anything false. */
  read(realm: Realm, token: string): Promise<JWTPayload | undefined>
}

export function createAccessTokens({ now }: Pick<Kit, 'now'>, realms: Realms, denied: Denied): AccessTokens {
  async function read(realm: Realm, token: string): Promise<JWTPayload | undefined> {
    let claims: JWTPayload
    try {
      claims = await verifySignature(realm, token, realms.issuerOf(realm.tenantId), now())
    } catch {
      return undefined
    }
    const seconds = now().getTime() / 1000
    const { iat, jti, sid, typ } = claims
    if (typ !== 'Bearer') return undefined // an id_token, for example
    // A lifetime that was shortened holds for what is out already; so a denial need not outlive the current lifetime.
    if (iat! + realm.accessTokenSeconds <= seconds) return undefined
    if (await denied.has(realm.tenantId, { jti: jti!, sid: sid as string | undefined })) return undefined
    return claims
  }

  return {
    read,
    async verify(token) {
      const { tenantId, kid } = namesIn(token, realms)
      let realm = await realms.get(tenantId)
      // Another process may have made this key a moment ago.
      if (realm && !realm.keys.some((key) => key.kid === kid)) realm = await realms.refresh(tenantId)
      if (realm?.status !== 'AVAILABLE') throw refused()
      const claims = await read(realm, token)
      if (!claims) throw refused()
      const { sub, azp, sid, jti, exp } = claims
      return {
        tenantId,
        sub: sub!,
        // Only service accounts have tokens without a login.
        subjectType: sid === undefined ? 'client' : 'user',
        azp: azp as string,
        sid: sid as string | undefined,
        jti: jti!,
        exp: exp!,
      }
    },
  }
}

const refused = () => Unauthenticated({}, { headers: { 'www-authenticate': 'Bearer error="invalid_token"' } })

/** What the token says of itself; nothing of it is believed before the signature is checked. */
function namesIn(token: string, realms: Realms) {
  try {
    const { kid } = decodeProtectedHeader(token)
    const { iss } = decodeJwt(token)
    const tenantId = realms.tenantOf(iss ?? '')
    if (tenantId !== undefined && kid !== undefined) return { tenantId, kid }
  } catch {
    // not a token at all
  }
  throw refused()
}

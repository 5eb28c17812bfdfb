/**
 * Authenticates requests by access token or API key (document 4, section 1). Verified tokens are cached by their SHA-256 for at most a
 * minute. Events that end a token, login, realm or issuer invalidate the cached tokens, on other nodes within a second.
 */
import { hash } from 'node:crypto'
import { decodeJwt } from 'jose'
import { createCache } from '../kernel/cache.ts'
import type { Authenticate, Caller } from '../kernel/contract.ts'
import type { Kit } from '../kernel/define-service.ts'
import { type Access, cacheMs, type Subject } from './access.ts'
import { type KeyAccess, keyPrefix } from './api-key-access.ts'
import { IssuersChanged, RealmChanged, RealmStatusChanged, TokensDenied } from './events.ts'
import type { ExternalIssuers } from './external-issuers.ts'
import { invalidToken } from './invalid-token.ts'
import type { TokenOwner } from './types.ts'

const tokensMax = 10_000
const recentMax = 200
/** Maximum length of a token. The HTTP server rejects requests with longer headers anyway. */
const tokenLengthMax = 16 * 1024

interface CachedToken {
  tenantId: string
  subject: Subject
  validUntil: number
  /** Ids by which `TokensDenied` can end the token: of the token and of its login. Empty for a token of an external issuer. */
  ids: string[]
}

export function createAuthenticate(
  { bus, now, baseUrl }: Pick<Kit, 'bus' | 'now' | 'baseUrl'>,
  deps: { verify(token: string): Promise<TokenOwner>; external: ExternalIssuers; access: Access; keys: KeyAccess },
): Authenticate {
  const { access, keys, external } = deps
  const tokens = createCache<CachedToken>({
    max: tokensMax,
    groupOf: ({ tenantId }) => tenantId,
    isExpired: ({ validUntil }) => validUntil <= now().getTime(),
    bus,
  })
  const invalidateTenant = ({ tenantId }: { tenantId: string }) => tokens.dropGroup(tenantId)
  bus.subscribe(RealmChanged, invalidateTenant)
  bus.subscribe(RealmStatusChanged, invalidateTenant)
  bus.subscribe(IssuersChanged, invalidateTenant)
  bus.subscribe(TokensDenied, ({ tenantId, ids }) => {
    const denied = new Set(ids)
    tokens.dropGroup(tenantId, (token) => token.ids.some((id) => denied.has(id)))
  })

  async function verify(token: string): Promise<CachedToken> {
    const { iss } = decodeClaims(token)
    if (typeof iss !== 'string') throw invalidToken()
    const cachedUntil = (exp: number) => Math.min(exp * 1000, now().getTime() + cacheMs)
    if (iss.startsWith(`${baseUrl()}/auth/realms/`)) {
      const { tenantId, sub, subjectType, jti, sid, exp } = await deps.verify(token)
      const subject = access.subjectOf({ tenantId, type: subjectType, id: sub })
      return { tenantId, subject, validUntil: cachedUntil(exp), ids: [`jti:${jti}`, ...(sid ? [`sid:${sid}`] : [])] }
    }
    const { tenantId, userId, user, exp } = await external.verify(token, iss)
    const subject = access.subjectOf({ tenantId, type: 'user', id: userId, external: user })
    return { tenantId, subject, validUntil: cachedUntil(exp), ids: [] }
  }

  async function lookUp(token: string, tokenHash: string): Promise<Caller> {
    const cached = (await tokens.read(tokenHash, () => verify(token)))!
    cached.subject = access.subjectOf(cached.subject.key)
    return await access.callerOf(cached.subject)
  }

  // Hashing a token takes 5 % of the time of a read request, so the hashes of recent tokens are cached.
  const recentHashes = new Map<string, string>()
  function hashOf(token: string): string {
    let tokenHash = recentHashes.get(token)
    if (tokenHash === undefined) {
      tokenHash = hash('sha256', token, 'base64')
      if (recentHashes.size >= recentMax) recentHashes.clear()
      recentHashes.set(token, tokenHash)
    }
    return tokenHash
  }

  function authenticateBearer(authorization: string): Promise<Caller> {
    const token = readBearerToken(authorization)
    if (token === undefined) return Promise.reject(invalidToken())
    if (token.startsWith(keyPrefix)) return keys.callerOf(token)
    const tokenHash = hashOf(token)
    const cached = tokens.get(tokenHash)
    if (cached !== undefined) {
      const at = now().getTime()
      const { cachedCaller, validUntil } = cached.subject
      if (cachedCaller !== undefined && validUntil > at) return cachedCaller
    }
    return lookUp(token, tokenHash)
  }

  return ({ authorization, apiKey }) => {
    const byToken = authorization ? authenticateBearer(authorization) : undefined
    if (!apiKey) return byToken ?? anonymous
    const byKey = keys.callerOf(apiKey)
    // If a request has a token and a key, both must be valid. The caller is then the owner of the token.
    return byToken ? Promise.all([byToken, byKey]).then(([caller]) => caller) : byKey
  }
}

const anonymous = Promise.resolve(undefined)

/** Parses `Bearer <token>`. The scheme is case-insensitive (RFC 9110, 11.1). */
function readBearerToken(authorization: string): string | undefined {
  if (authorization.length > tokenLengthMax) return undefined
  if (authorization.startsWith('Bearer ') && authorization.charCodeAt(7) !== 32) return authorization.slice(7)
  return /^bearer +(\S+) *$/i.exec(authorization)?.[1]
}

function decodeClaims(token: string) {
  try {
    return decodeJwt(token)
  } catch {
    throw invalidToken()
  }
}

/**
 * Who presents this token or key (document 4, section 1). A verified token is known by its SHA-256 for a minute at
 * most; only the last few hundred are held as they came. Whatever ends a token, a login, a realm or an issuer
 * drops what is known at once here, and within a second in other processes.
 */
import { hash } from 'node:crypto'
import { decodeJwt } from 'jose'
import { createCache } from '../kernel/cache.ts'
import type { Authenticate, Caller } from '../kernel/contract.ts'
import type { Kit } from '../kernel/define-service.ts'
import { type Access, keptMs, type Subject } from './access.ts'
import type { KeyAccess } from './api-key-access.ts'
import { IssuersChanged, RealmChanged, RealmStatusChanged, TokensDenied } from './events.ts'
import type { ExternalIssuers } from './external-issuers.ts'
import { refused } from './refused.ts'
import type { TokenOwner } from './types.ts'

const tokensMax = 10_000
const recentMax = 200
/** Longer ones do not fit into a request's headers. */
const tokenLengthMax = 16 * 1024

interface KnownToken {
  tenantId: string
  subject: Subject
  until: number
  /** As in TokensDenied; a token of another provider has none. */
  ids: string[]
}

export function createAuthenticate(
  { bus, now, baseUrl }: Pick<Kit, 'bus' | 'now' | 'baseUrl'>,
  given: { verify(token: string): Promise<TokenOwner>; external: ExternalIssuers; access: Access; keys: KeyAccess },
): Authenticate {
  const { access, keys, external } = given
  const tokens = createCache<KnownToken>({
    max: tokensMax,
    groupOf: ({ tenantId }) => tenantId,
    isExpired: ({ until }) => until <= now().getTime(),
    bus,
  })
  const forgetTenant = ({ tenantId }: { tenantId: string }) => tokens.dropGroup(tenantId)
  bus.hear(RealmChanged, forgetTenant)
  bus.hear(RealmStatusChanged, forgetTenant)
  bus.hear(IssuersChanged, forgetTenant)
  bus.hear(TokensDenied, ({ tenantId, ids }) => {
    const denied = new Set(ids)
    tokens.dropGroup(tenantId, (token) => token.ids.some((id) => denied.has(id)))
  })

  async function verify(token: string): Promise<KnownToken> {
    const { iss } = claimsOf(token)
    if (typeof iss !== 'string') throw refused()
    const until = (exp: number) => Math.min(exp * 1000, now().getTime() + keptMs)
    if (iss.startsWith(`${baseUrl()}/auth/realms/`)) {
      const { tenantId, sub, subjectType, jti, sid, exp } = await given.verify(token)
      const subject = access.subjectOf({ tenantId, type: subjectType, id: sub })
      return { tenantId, subject, until: until(exp), ids: [`jti:${jti}`, ...(sid ? [`sid:${sid}`] : [])] }
    }
    const { tenantId, userId, user, exp } = await external.verify(token, iss)
    const subject = access.subjectOf({ tenantId, type: 'user', id: userId, external: user })
    return { tenantId, subject, until: until(exp), ids: [] }
  }

  async function lookUp(token: string, name: string): Promise<Caller> {
    const known = (await tokens.read(name, () => verify(token)))!
    known.subject = access.subjectOf(known.subject.key)
    return await access.callerOf(known.subject)
  }

  // The hash of a kilobyte is a twentieth of a read: whoever asks again within the moment is spared it.
  const recent = new Map<string, string>()
  function nameOf(token: string): string {
    let name = recent.get(token)
    if (name === undefined) {
      name = hash('sha256', token, 'base64')
      if (recent.size >= recentMax) recent.clear()
      recent.set(token, name)
    }
    return name
  }

  function bearer(authorization: string): Promise<Caller> {
    const token = tokenIn(authorization)
    if (token === undefined) return Promise.reject(refused())
    const name = nameOf(token)
    const known = tokens.get(name)
    if (known !== undefined) {
      const at = now().getTime()
      const { ready, until } = known.subject
      if (ready !== undefined && until > at) return ready
    }
    return lookUp(token, name)
  }

  return ({ authorization, apiKey }) => {
    const byToken = authorization ? bearer(authorization) : undefined
    if (!apiKey) return byToken ?? nobody
    const byKey = keys.callerOf(apiKey)
    // Both: anything false is refused, and the token says who it is.
    return byToken ? Promise.all([byToken, byKey]).then(([caller]) => caller) : byKey
  }
}

const nobody = Promise.resolve(undefined)

/** `Bearer <token>`; the scheme's letters may be of either case (RFC 9110, 11.1). */
function tokenIn(authorization: string): string | undefined {
  if (authorization.length > tokenLengthMax) return undefined
  if (authorization.startsWith('Bearer ') && authorization.charCodeAt(7) !== 32) return authorization.slice(7)
  return /^bearer +(\S+) *$/i.exec(authorization)?.[1]
}

function claimsOf(token: string) {
  try {
    return decodeJwt(token)
  } catch {
    throw refused()
  }
}

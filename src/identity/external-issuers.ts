/**
 * Tokens of other OpenID Connect providers that a tenant registered. Their keys come from the issuer's own discovery
 * document, fetched as anything that a user names: to public addresses only, bounded, kept, and not again and again.
 */
import { createRemoteJWKSet, customFetch, type JWTPayload, type JWTVerifyGetKey, jwtVerify } from 'jose'
import { type Cache, createCache } from '../kernel/cache.ts'
import type { Kit } from '../kernel/define-service.ts'
import { addressProblem, safeFetch } from '../kernel/safe-fetch.ts'
import { IssuersChanged } from './events.ts'
import { refused } from './refused.ts'
import * as store from './store/access.ts'

/** A shared secret would have to be known to both: only keys that can be published. */
const algorithms = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519']
/** Keycloak's `typ` claim: what is signed with the same keys and is no access token. */
const otherTypes = new Set(['ID', 'Refresh', 'Offline', 'Logout'])

const keptMs = 60_000
const rowsMax = 1000
const rolesMax = 200
/** As long as a registration may be. */
export const issuerLengthMax = 500

export interface ExternalToken {
  tenantId: string
  /** `<id of the registration>:<sub>`: never the id of a user of ours. */
  userId: string
  exp: number
  user: store.ExternalUser
}

export interface ExternalIssuers {
  verify(token: string, issuer: string): Promise<ExternalToken>
}

/** How long a failed fetch counts, and how soon an unknown key id makes us ask again. */
export interface Cooldowns {
  failureMs: number
  rotationMs: number
}

interface State extends Pick<Kit, 'db' | 'now' | 'log' | 'platform'> {
  cooldowns: Cooldowns
  known: Cache<Registrations>
  keySets: Cache<KeySet>
}

interface Registrations {
  rows: readonly store.IssuerRow[]
  until: number
}

interface KeySet {
  keys: Promise<JWTVerifyGetKey>
  retryAt: number
}

export function createExternalIssuers(
  kit: Pick<Kit, 'db' | 'bus' | 'now' | 'log' | 'platform'>,
  cooldowns: Cooldowns = { failureMs: 10_000, rotationMs: 30_000 },
): ExternalIssuers {
  const { bus, now } = kit
  const known = createCache<Registrations>({
    max: rowsMax,
    isExpired: ({ until }) => until <= now().getTime(),
    bus,
  })
  // They come from elsewhere: a reset of our own messages says nothing about them.
  const keySets = createCache<KeySet>({ max: rowsMax })
  known.dropOn(IssuersChanged, ({ issuer }) => issuer)
  bus.hear(IssuersChanged, ({ issuer }) => keySets.drop(issuer))
  const state: State = { ...kit, cooldowns, known, keySets }
  return { verify: (token, issuer) => verify(state, token, issuer) }
}

async function verify(state: State, token: string, issuer: string): Promise<ExternalToken> {
  const { now, log } = state
  if (issuer.length > issuerLengthMax || hasControls(issuer)) throw refused()
  const rows = await find(state, issuer)
  if (rows.length === 0) throw refused()
  let payload: JWTPayload
  try {
    const options = {
      issuer,
      algorithms,
      requiredClaims: ['exp', 'sub'],
      currentDate: now(),
      clockTolerance: 5,
    }
    payload = (await jwtVerify(token, await keysOf(state, issuer), options)).payload
  } catch (error) {
    log.debug({ err: error, issuer }, 'a token of an external issuer was refused')
    throw refused()
  }
  const row = tenantOf(state, issuer, rows, payload.aud)
  const { sub, exp } = payload
  if (typeof sub !== 'string' || sub === '' || sub.length > 255 || hasControls(sub)) throw refused()
  if (typeof payload.typ === 'string' && otherTypes.has(payload.typ)) throw refused()
  return {
    tenantId: row.tenantId,
    userId: `${row.id}:${sub}`,
    exp: exp!,
    user: {
      roles: rolesOf(payload, row.rolesClaim),
      username: textOf(payload.preferred_username),
      email: textOf(payload.email),
    },
  }
}

async function find({ db, now, known }: State, issuer: string): Promise<readonly store.IssuerRow[]> {
  const found = await known.read(issuer, async () => ({
    rows: await store.findIssuers(db.sql, issuer),
    until: now().getTime() + keptMs,
  }))
  return found!.rows
}

/** Whose token this is. Where that cannot be told, it is nobody's: it must not act in a tenant that it was not made for. */
function tenantOf({ log }: State, issuer: string, rows: readonly store.IssuerRow[], aud: unknown): store.IssuerRow {
  const meant = matching(rows, aud)
  if (meant.length === 1) return meant[0]!
  const tenants = rows.map(({ tenantId }) => tenantId)
  const audiences = [aud].flat()
  if (tenants.length > 1)
    log.warn({ issuer, tenants, audiences }, 'several tenants registered this issuer and the token fits not just one')
  throw refused()
}

async function get({ platform }: State, address: string): Promise<Response> {
  return await safeFetch(address, {
    headers: { accept: 'application/json' },
    allowPrivate: platform.allowPrivateAddresses,
    timeoutMs: 5000,
    maxBytes: 256 * 1024,
  })
}

async function discover(state: State, issuer: string): Promise<JWTVerifyGetKey> {
  const answer = await get(state, `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`)
  if (answer.status !== 200) throw new Error(`discovery answered with status ${answer.status}`)
  const document = (await answer.json()) as { issuer?: unknown; jwks_uri?: unknown } | null
  if (document?.issuer !== issuer) throw new Error('the discovery document names another issuer')
  const address = document.jwks_uri
  if (typeof address !== 'string') throw new Error('the discovery document has no jwks_uri')
  const problem = addressProblem(address, { allowPrivate: state.platform.allowPrivateAddresses })
  if (problem) throw new Error(`jwks_uri: ${problem}`)
  return remoteKeys(state, new URL(address))
}

/** The published keys; after a failure they are not fetched again for a while. */
function remoteKeys(state: State, address: URL): JWTVerifyGetKey {
  const { now, cooldowns } = state
  let failedUntil = 0
  return createRemoteJWKSet(address, {
    cooldownDuration: cooldowns.rotationMs,
    cacheMaxAge: 600_000,
    [customFetch]: async (url) => {
      if (failedUntil > now().getTime()) throw new Error('the keys could not be fetched a moment ago')
      try {
        const keys = await get(state, url)
        if (keys.status !== 200) throw new Error(`jwks_uri answered with status ${keys.status}`)
        const set = (await keys.json()) as { keys?: unknown } | null
        if (!Array.isArray(set?.keys)) throw new Error('jwks_uri has no keys')
        return Response.json({ keys: set.keys.filter((key) => typeof key === 'object' && key !== null) })
      } catch (error) {
        failedUntil = now().getTime() + cooldowns.failureMs
        throw error
      }
    },
  })
}

function keysOf(state: State, issuer: string): Promise<JWTVerifyGetKey> {
  const { now, log, keySets, cooldowns } = state
  const at = now().getTime()
  const kept = keySets.get(issuer)
  if (kept && kept.retryAt > at) return kept.keys
  const entry = { keys: discover(state, issuer), retryAt: at + 3_600_000 }
  entry.keys.catch((error) => {
    entry.retryAt = now().getTime() + cooldowns.failureMs
    log.warn({ err: error, issuer }, 'the keys of an external issuer could not be fetched')
  })
  keySets.set(issuer, entry)
  return entry.keys
}

/** Without an audience, a registration means all tokens of the issuer, which it can do only where it is alone. */
export function matching<R extends { audience: string | null }>(rows: readonly R[], aud: unknown): readonly R[] {
  const audiences = [aud].flat()
  if (rows.length === 1 && rows[0]!.audience === null) return rows
  return rows.filter(({ audience }) => audience !== null && audiences.includes(audience))
}

const hasControls = (text: string) => /\p{Cc}/u.test(text) || !text.isWellFormed()

const textOf = (value: unknown) =>
  typeof value === 'string' && value !== '' && value.length <= 255 && !hasControls(value) ? value : undefined

/** A claim may have dots in its own name (`https://acme.example/roles`): the whole name first, then as a path. */
function claimAt(payload: Record<string, unknown>, path: string): unknown {
  if (Object.hasOwn(payload, path)) return payload[path]
  let value: unknown = payload
  for (const step of path.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) return undefined
    value = (value as Record<string, unknown>)[step]
  }
  return value
}

/** Names of the tenant's roles: a list, or words in one text. Sorted, each once. */
export function rolesOf(payload: Record<string, unknown>, rolesClaim: string | null): string[] {
  const claims = rolesClaim === null ? ['realm_access.roles', 'roles'] : [rolesClaim]
  for (const claim of claims) {
    const value = claimAt(payload, claim)
    const list = typeof value === 'string' ? value.split(/[\s,]+/) : value
    if (!Array.isArray(list)) continue
    const names = list.filter((name) => textOf(name) !== undefined) as string[]
    return [...new Set(names)].sort().slice(0, rolesMax)
  }
  return []
}

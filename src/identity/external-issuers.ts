/**
 * Verifies tokens of external OpenID Connect issuers that a tenant has registered. The keys come from the issuer's discovery document. They
 * are fetched only from public addresses, with a size limit, a time-out and a cooldown after a failure, and are cached.
 */
import { createRemoteJWKSet, customFetch, type JWTPayload, type JWTVerifyGetKey, jwtVerify } from 'jose'
import { type Cache, createCache } from '../kernel/cache.ts'
import type { Kit } from '../kernel/define-service.ts'
import { addressProblem, safeFetch } from '../kernel/safe-fetch.ts'
import { IssuersChanged } from './events.ts'
import { invalidToken } from './invalid-token.ts'
import { externalKeysNotFetched } from './log-messages.ts'
import * as store from './store/access.ts'
import { isAccessToken } from './token-kind.ts'

/** Only asymmetric algorithms are allowed, because an issuer publishes public keys and never a shared secret. */
const algorithms = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519']

const cacheMs = 60_000
const rowsMax = 1000
const rolesMax = 200
/** Maximum length of a registered issuer. */
export const issuerLengthMax = 500

export interface ExternalToken {
  tenantId: string
  /** The id `<id of the registration>:<sub>`. It never equals the id of a user in our realms. */
  userId: string
  exp: number
  user: store.ExternalUser
}

export interface ExternalIssuers {
  verify(token: string, issuer: string): Promise<ExternalToken>
}

/** Minimum times between two fetches: `failureMs` after a failed fetch, `rotationMs` when tokens have an unknown key id. */
export interface Cooldowns {
  failureMs: number
  rotationMs: number
}

interface State extends Pick<Kit, 'db' | 'now' | 'log' | 'platform'> {
  cooldowns: Cooldowns
  registrations: Cache<Registrations>
  keySets: Cache<KeySet>
}

interface Registrations {
  rows: readonly store.IssuerRow[]
  validUntil: number
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
  const registrations = createCache<Registrations>({
    max: rowsMax,
    isExpired: ({ validUntil }) => validUntil <= now().getTime(),
    bus,
  })
  // A reset of the bus does not clear this cache, because the keys do not come from our database.
  const keySets = createCache<KeySet>({ max: rowsMax })
  registrations.dropOn(IssuersChanged, ({ issuer }) => issuer)
  bus.subscribe(IssuersChanged, ({ issuer }) => keySets.drop(issuer))
  const state: State = { ...kit, cooldowns, registrations, keySets }
  return { verify: (token, issuer) => verify(state, token, issuer) }
}

async function verify(state: State, token: string, issuer: string): Promise<ExternalToken> {
  const { now, log } = state
  if (issuer.length > issuerLengthMax || hasControls(issuer)) throw invalidToken()
  const rows = await findRegistrations(state, issuer)
  if (rows.length === 0) throw invalidToken()
  let payload: JWTPayload
  let headerType: string | undefined
  try {
    const options = {
      issuer,
      algorithms,
      requiredClaims: ['exp', 'sub'],
      currentDate: now(),
      clockTolerance: 5,
    }
    const verified = await jwtVerify(token, await findKeys(state, issuer), options)
    payload = verified.payload
    headerType = verified.protectedHeader.typ
  } catch (error) {
    log.debug({ err: error, issuer }, 'token of an external issuer rejected')
    throw invalidToken()
  }
  if (!isAccessToken(headerType, payload)) throw invalidToken()
  const row = selectRegistration(rows, payload.aud)
  const { sub, exp } = payload
  if (typeof sub !== 'string' || sub === '' || sub.length > 255 || hasControls(sub)) throw invalidToken()
  return {
    tenantId: row.tenantId,
    userId: `${row.id}:${sub}`,
    exp: exp!,
    user: {
      roles: rolesOf(payload, row.rolesClaim),
      username: validText(payload.preferred_username),
      email: validText(payload.email),
    },
  }
}

async function findRegistrations(
  { db, now, registrations }: State,
  issuer: string,
): Promise<readonly store.IssuerRow[]> {
  const cached = await registrations.read(issuer, async () => ({
    rows: await store.findIssuers(db.sql, issuer),
    validUntil: now().getTime() + cacheMs,
  }))
  return cached!.rows
}

/**
 * Returns the oldest registration that matches the audience, so that a later registration cannot take over its tokens. Throws 401 if no
 * registration matches.
 */
function selectRegistration(rows: readonly store.IssuerRow[], aud: unknown): store.IssuerRow {
  const audiences = [aud].flat()
  const row = rows.find(({ audience }) => audience !== null && audiences.includes(audience))
  if (!row) throw invalidToken()
  return row
}

async function fetchJson({ platform }: State, address: string): Promise<Response> {
  return await safeFetch(address, {
    headers: { accept: 'application/json' },
    allowPrivate: platform.allowPrivateAddresses,
    timeoutMs: 5000,
    maxBytes: 256 * 1024,
  })
}

async function discover(state: State, issuer: string): Promise<JWTVerifyGetKey> {
  const response = await fetchJson(state, `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`)
  if (response.status !== 200) throw new Error(`discovery answered with status ${response.status}`)
  const document = (await response.json()) as { issuer?: unknown; jwks_uri?: unknown } | null
  if (document?.issuer !== issuer) throw new Error('the discovery document names another issuer')
  const address = document.jwks_uri
  if (typeof address !== 'string') throw new Error('the discovery document has no jwks_uri')
  const problem = addressProblem(address, { allowPrivate: state.platform.allowPrivateAddresses })
  if (problem) throw new Error(`jwks_uri: ${problem}`)
  return remoteKeys(state, new URL(address))
}

/** Fetches the published keys, with a cooldown after a failure. */
function remoteKeys(state: State, address: URL): JWTVerifyGetKey {
  const { now, cooldowns } = state
  let failedUntil = 0
  return createRemoteJWKSet(address, {
    cooldownDuration: cooldowns.rotationMs,
    cacheMaxAge: 600_000,
    [customFetch]: async (url) => {
      if (failedUntil > now().getTime()) throw new Error('the keys could not be fetched a moment ago')
      try {
        const keys = await fetchJson(state, url)
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

function findKeys(state: State, issuer: string): Promise<JWTVerifyGetKey> {
  const { now, log, keySets, cooldowns } = state
  const at = now().getTime()
  const cached = keySets.get(issuer)
  if (cached && cached.retryAt > at) return cached.keys
  const entry = { keys: discover(state, issuer), retryAt: at + 3_600_000 }
  entry.keys.catch((error) => {
    entry.retryAt = now().getTime() + cooldowns.failureMs
    externalKeysNotFetched(log, { err: error, issuer })
  })
  keySets.set(issuer, entry)
  return entry.keys
}

const hasControls = (text: string) => /\p{Cc}/u.test(text) || !text.isWellFormed()

const validText = (value: unknown) =>
  typeof value === 'string' && value !== '' && value.length <= 255 && !hasControls(value) ? value : undefined

/** Returns a claim. It is looked up by its whole name, which may contain dots (`https://acme.example/roles`), otherwise by its path. */
function claimAt(payload: Record<string, unknown>, path: string): unknown {
  if (Object.hasOwn(payload, path)) return payload[path]
  let value: unknown = payload
  for (const step of path.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) return undefined
    value = (value as Record<string, unknown>)[step]
  }
  return value
}

/** Returns role names from a list, or from a text with spaces or commas. They are sorted and without duplicates. */
export function rolesOf(payload: Record<string, unknown>, rolesClaim: string | null): string[] {
  const claims = rolesClaim === null ? ['realm_access.roles', 'roles'] : [rolesClaim]
  for (const claim of claims) {
    const value = claimAt(payload, claim)
    const list = typeof value === 'string' ? value.split(/[\s,]+/) : value
    if (!Array.isArray(list)) continue
    const names = list.filter((name) => validText(name) !== undefined) as string[]
    return [...new Set(names)].sort().slice(0, rolesMax)
  }
  return []
}

/** Signing keys of realms. A realm gets its first key when it is first used. */
import { generateKeyPair } from 'node:crypto'
import { promisify } from 'node:util'
import { type CryptoKey, calculateJwkThumbprint, importJWK, type JWTPayload, jwtVerify, SignJWT } from 'jose'
import type { Sql } from '../kernel/db.ts'
import type { Kit } from '../kernel/define-service.ts'
import { createSingleFlight } from '../kernel/single-flight.ts'
import { NoSuchRealm } from './errors.ts'
import type { Realms } from './realms.ts'
import * as store from './store/keys.ts'
import { lockRealm } from './store/realms.ts'
import type { PublicJwk, Realm } from './types.ts'

const generate = promisify(generateKeyPair)

/** Maximum duration of a login. A retired key verifies tokens, such as an id_token_hint, for as long. */
export const loginSecondsMax = 36_000

export type PrivateJwk = PublicJwk & { kid: string; alg: 'RS256'; use: 'sig'; d: string }

export interface SigningKeys {
  /** Returns the realm with an active key. Creates a key if there is no key. */
  ensure(realm: Realm): Promise<Realm>
  /** Replaces the active key. Tokens signed with the old keys stay valid, and logins continue. */
  rotate(tenantId: string): Promise<void>
  prune(sql: Sql): Promise<void>
}

export function createSigningKeys(
  { db, now, secrets }: Pick<Kit, 'db' | 'now' | 'secrets'>,
  realms: Realms,
): SigningKeys {
  const once = createSingleFlight<Realm>()

  async function newKey(): Promise<store.NewKey> {
    const { privateKey } = await generate('rsa', { modulusLength: 2048 })
    const jwk = privateKey.export({ format: 'jwk' }) as PublicJwk
    const publicJwk = { kty: jwk.kty, n: jwk.n, e: jwk.e }
    const kid = await calculateJwkThumbprint(publicJwk)
    const whole = { ...jwk, kid, alg: 'RS256', use: 'sig' }
    return { kid, publicJwk, privateJwkSealed: secrets.seal(JSON.stringify(whole)), createdAt: now() }
  }

  /**
   * Creates the first key. It is generated before the lock is taken, because this takes 250 ms, and discarded if another node was faster.
   */
  async function createFirstKey(tenantId: string): Promise<Realm> {
    const key = await newKey()
    await db.tx(async (sql) => {
      if (!(await lockRealm(sql, tenantId)) || (await store.hasSigningKey(sql, tenantId))) return
      await store.insertKey(sql, tenantId, key)
      await realms.changed(sql, tenantId)
    })
    // Another node may have created a key whose event has not arrived yet.
    const realm = await realms.refresh(tenantId)
    if (!realm) throw NoSuchRealm({ tenantId })
    return realm
  }

  return {
    async ensure(realm) {
      if (realm.keys.some(({ retiredAt }) => retiredAt === undefined)) return realm
      return await once(realm.tenantId, () => createFirstKey(realm.tenantId))
    },
    async rotate(tenantId) {
      const key = await newKey()
      await db.tx(async (sql) => {
        if (!(await lockRealm(sql, tenantId))) throw NoSuchRealm({ tenantId })
        await store.retireKeys(sql, tenantId, now())
        await store.insertKey(sql, tenantId, key)
        await realms.changed(sql, tenantId)
      })
    },
    async prune(sql) {
      const before = new Date(now().getTime() - loginSecondsMax * 1000)
      for (const tenantId of await store.deleteRetiredKeys(sql, before)) await realms.changed(sql, tenantId)
    },
  }
}

/** Creates a signer with the newest key of the realm. */
export async function createSigner(realm: Realm, secrets: Kit['secrets']) {
  const jwks = realm.keys.map(({ privateJwkSealed }) => JSON.parse(secrets.open(privateJwkSealed)) as PrivateJwk)
  const [active] = jwks
  if (!active) throw new Error(`realm ${realm.tenantId} has no signing key`)
  const key = await importJWK(active, 'RS256')
  return {
    jwks,
    sign: (claims: JWTPayload) =>
      new SignJWT(claims).setProtectedHeader({ alg: 'RS256', typ: 'JWT', kid: active.kid }).sign(key),
  }
}

const imported = new WeakMap<PublicJwk, Promise<CryptoKey>>()
const importOnce = (jwk: PublicJwk) => {
  let key = imported.get(jwk)
  if (!key) {
    key = importJWK({ ...jwk }, 'RS256') as Promise<CryptoKey>
    imported.set(jwk, key)
  }
  return key
}

/** Returns the claims if a key of the realm signed them with RS256 for this issuer. Throws otherwise. */
export async function verifySignature(realm: Realm, token: string, issuer: string, now: Date): Promise<JWTPayload> {
  const { payload } = await jwtVerify(
    token,
    ({ kid }) => {
      const key = realm.keys.find((candidate) => candidate.kid === kid)
      if (!key) throw new Error('unknown key')
      return importOnce(key.publicJwk)
    },
    { issuer, algorithms: ['RS256'], currentDate: now, requiredClaims: ['exp', 'iat', 'jti', 'sub', 'azp'] },
  )
  return payload
}

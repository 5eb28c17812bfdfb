/**
 * Hashes tokens for lookups, with an HMAC of the application and the token. The key is created once for each platform and stored sealed. A
 * copy of the database is therefore not enough to guess tokens.
 */
import { createHmac, createSecretKey, type KeyObject } from 'node:crypto'
import type { Sql } from '../../kernel/db.ts'
import type { Kit } from '../../kernel/define-service.ts'
import { newSecret } from '../../kernel/ids.ts'
import * as store from './store.ts'

export interface LookupKey {
  /** Creates the key if it does not exist. */
  prepare(): Promise<void>
  /** Hashes a token. Inside a transaction, pass it as `sql`, so that no second connection is needed. */
  hashOf(sql: Sql, applicationName: string, token: string): Promise<string>
  /** Returns the function that hashes many tokens. It is returned as a promise only if the key must be loaded. */
  hasher(sql: Sql): HashToken | Promise<HashToken>
}

export type HashToken = (applicationName: string, token: string) => string

const hasherWith =
  (key: KeyObject): HashToken =>
  (applicationName, token) =>
    createHmac('sha256', key).update(`${applicationName}\0${token}`).digest('base64url')

export function createLookupKey({ db, bus, secrets }: Pick<Kit, 'db' | 'bus' | 'secrets'>): LookupKey {
  let cachedHasher: HashToken | undefined
  let resets = 0
  // A restore of the database may also replace the key, and the restored hashes need the restored key.
  bus.onReset(() => {
    cachedHasher = undefined
    resets++
  })

  async function load(sql: Sql): Promise<HashToken> {
    const resetsBefore = resets
    const sealed = (await store.findLookupKey(sql)) ?? (await createKey())
    const hasher = hasherWith(createSecretKey(secrets.open(sealed), 'base64url'))
    if (resets === resetsBefore) cachedHasher = hasher
    return hasher
  }

  /** Inserts the key outside of the caller's transaction, because that transaction may be rolled back. */
  async function createKey(): Promise<string> {
    await store.insertLookupKey(db.sql, secrets.seal(newSecret()))
    return (await store.findLookupKey(db.sql))!
  }

  return {
    async prepare() {
      await load(db.sql)
    },
    async hashOf(sql, applicationName, token) {
      const hash = cachedHasher ?? (await load(sql))
      return hash(applicationName, token)
    },
    hasher: (sql) => cachedHasher ?? load(sql),
  }
}

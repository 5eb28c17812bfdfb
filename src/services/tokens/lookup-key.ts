/**
 * Hashes tokens for lookups: HMAC of application and text. The key is created once per platform and stored sealed, so a
 * copy of the database does not suffice to guess tokens.
 */
import { createHmac, createSecretKey, type KeyObject } from 'node:crypto'
import type { Sql } from '../../kernel/db.ts'
import type { Kit } from '../../kernel/define-service.ts'
import { newSecret } from '../../kernel/ids.ts'
import * as store from './store.ts'

export interface LookupKey {
  /** Creates the key if there is none. */
  prepare(): Promise<void>
  /** Hashes a token. Pass the open transaction as `sql`, so that no second connection is needed. */
  hashOf(sql: Sql, applicationName: string, token: string): Promise<string>
}

export function createLookupKey({ db, bus, secrets }: Pick<Kit, 'db' | 'bus' | 'secrets'>): LookupKey {
  let cachedKey: KeyObject | undefined
  let resets = 0
  // After a restore the hashes belong to the restored key.
  bus.onReset(() => {
    cachedKey = undefined
    resets++
  })

  async function load(sql: Sql): Promise<KeyObject> {
    const resetsBefore = resets
    const sealed = (await store.findLookupKey(sql)) ?? (await createKey())
    const key = createSecretKey(secrets.open(sealed), 'base64url')
    if (resets === resetsBefore) cachedKey = key
    return key
  }

  /** Inserts the key outside of the caller's transaction, which may roll back. */
  async function createKey(): Promise<string> {
    await store.insertLookupKey(db.sql, secrets.seal(newSecret()))
    return (await store.findLookupKey(db.sql))!
  }

  return {
    async prepare() {
      await load(db.sql)
    },
    async hashOf(sql, applicationName, token) {
      const key = cachedKey ?? (await load(sql))
      return createHmac('sha256', key).update(`${applicationName}\0${token}`).digest('base64url')
    },
  }
}

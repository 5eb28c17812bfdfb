/**
 * Tokens are found by a keyed hash of application and text. The key is made once for the platform and stored sealed: a
 * copy of the database alone does not let anybody try out tokens.
 */
import { createHmac, createSecretKey, type KeyObject } from 'node:crypto'
import type { Sql } from '../../kernel/db.ts'
import type { Kit } from '../../kernel/define-service.ts'
import { newSecret } from '../../kernel/ids.ts'
import * as store from './store.ts'

export interface LookupKey {
  /** Makes sure that there is a key. */
  prepare(): Promise<void>
  /** `sql`: whoever holds a transaction asks with it; a second connection might never come free. */
  hashOf(sql: Sql, applicationName: string, token: string): Promise<string>
}

export function createLookupKey({ db, bus, secrets }: Pick<Kit, 'db' | 'bus' | 'secrets'>): LookupKey {
  let known: KeyObject | undefined
  let gaps = 0
  // A restore brings the key that the restored hashes were made with.
  bus.onGap(() => {
    known = undefined
    gaps++
  })

  async function load(sql: Sql): Promise<KeyObject> {
    const before = gaps
    const sealed = (await store.findLookupKey(sql)) ?? (await make())
    const key = createSecretKey(secrets.open(sealed), 'base64url')
    if (gaps === before) known = key
    return key
  }

  /** Never in a transaction of others, which could take it back. */
  async function make(): Promise<string> {
    await store.insertLookupKey(db.sql, secrets.seal(newSecret()))
    return (await store.findLookupKey(db.sql))!
  }

  return {
    async prepare() {
      await load(db.sql)
    },
    async hashOf(sql, applicationName, token) {
      const key = known ?? (await load(sql))
      return createHmac('sha256', key).update(`${applicationName}\0${token}`).digest('base64url')
    },
  }
}

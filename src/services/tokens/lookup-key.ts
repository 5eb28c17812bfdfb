/**
 * Hashes tokens for lookups, with an HMAC of the application and the token. The key is created once for each platform and stored sealed. A
 * copy of the database is therefore not enough to guess tokens.
 */
import { hash } from 'node:crypto'
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

const blockBytes = 64
const hashBytes = 32
/** Room for the text of an application and a token: names have at most a few hundred characters, of at most three bytes each. */
const textBytesMax = 8192

/**
 * Returns a function that computes HMAC-SHA-256 as two plain hashes (RFC 2104). This takes 2 µs; `createHmac` takes 5 µs, because it makes
 * an object for each token. `key` must have at most 64 bytes.
 */
export function hasherWith(key: Buffer): HashToken {
  if (key.length > blockBytes) throw new Error(`a key of ${key.length} bytes is too long`)
  const inner = Buffer.alloc(blockBytes + textBytesMax, 0x36)
  const outer = Buffer.alloc(blockBytes + hashBytes, 0x5c)
  for (const [index, byte] of key.entries()) {
    inner[index] = byte ^ 0x36
    outer[index] = byte ^ 0x5c
  }
  return (applicationName, token) => {
    const text = `${applicationName}\0${token}`
    if (text.length * 3 > textBytesMax) throw new Error('the token is too long to be hashed')
    const end = blockBytes + inner.write(text, blockBytes)
    hash('sha256', inner.subarray(0, end), 'buffer').copy(outer, blockBytes)
    return hash('sha256', outer, 'base64url')
  }
}

export function createLookupKey({ db, bus, secrets }: Pick<Kit, 'db' | 'bus' | 'secrets'>): LookupKey {
  let cachedHasher: HashToken | undefined
  let resets = 0
  // After a restore, the hashes belong to the restored key.
  bus.onReset(() => {
    cachedHasher = undefined
    resets++
  })

  async function load(sql: Sql): Promise<HashToken> {
    const resetsBefore = resets
    const sealed = (await store.findLookupKey(sql)) ?? (await createKey())
    const hasher = hasherWith(Buffer.from(secrets.open(sealed), 'base64url'))
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

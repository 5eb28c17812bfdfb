/**
 * Encrypts secrets at rest with a data key in the database (AES-256-GCM), which the master key encrypts in turn. The master key is never in
 * the database: a copy of the database alone opens nothing, and a backup moves to another master key by encrypting one value again.
 */
import { createCipheriv, createDecipheriv, createHash, createSecretKey, type KeyObject, randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Sql } from './db.ts'

export interface Secrets {
  seal(text: string): string
  open(sealed: string): string
}

const sealWith = (key: Buffer | KeyObject, text: string) => {
  const iv = randomBytes(12)
  const cipher = createCipheriv('aes-256-gcm', key, iv)
  const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
  return `v1.${Buffer.concat([iv, cipher.getAuthTag(), sealed]).toString('base64url')}`
}

const openWith = (key: Buffer | KeyObject, sealed: string) => {
  const bytes = Buffer.from(sealed.replace(/^v1\./, ''), 'base64url')
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, 12))
  decipher.setAuthTag(bytes.subarray(12, 28))
  return Buffer.concat([decipher.update(bytes.subarray(28)), decipher.final()]).toString('utf8')
}

const masterKeyFile = (directory: string) => join(directory, 'keys', 'master.key')

/** Returns the master key from the setting (a text of at least 32 characters), or from a file in the data directory, created if missing. */
export function loadMasterKey(setting: string | undefined, directory: string): Buffer {
  const known = findMasterKey(setting, directory)
  if (known) return known
  const file = masterKeyFile(directory)
  mkdirSync(join(directory, 'keys'), { recursive: true, mode: 0o700 })
  writeFileSync(file, randomBytes(32).toString('base64url'), { mode: 0o600, flag: 'wx', flush: true })
  return readMasterKey(file)
}

/** Returns the master key from the setting or the data directory; undefined if there is none yet. */
export function findMasterKey(setting: string | undefined, directory: string): Buffer | undefined {
  if (setting !== undefined) return masterKeyOf(setting, 'WAYPOST_MASTER_KEY')
  const file = masterKeyFile(directory)
  return existsSync(file) ? readMasterKey(file) : undefined
}

/** Reads a master key from a file: `keys/master.key` of a data directory, or one with the text of a WAYPOST_MASTER_KEY. */
export const readMasterKey = (file: string): Buffer => masterKeyOf(readFileSync(file, 'utf8').trim(), file)

function masterKeyOf(text: string, source: string): Buffer {
  if (text.length < 32) throw new Error(`${source} must have at least 32 characters`)
  return createHash('sha256').update(text).digest()
}

export async function loadDataKey(sql: Sql, masterKey: Buffer): Promise<Buffer> {
  const fresh = sealWith(masterKey, randomBytes(32).toString('base64url'))
  await sql`insert into kernel.data_keys (id, sealed) values (1, ${fresh}) on conflict do nothing`
  return (await readDataKey(sql, masterKey))!
}

/** Returns undefined if no platform has ever started on this database. */
export async function readDataKey(sql: Sql, masterKey: Buffer): Promise<Buffer | undefined> {
  const [row] = await sql`select sealed from kernel.data_keys`
  if (!row) return undefined
  try {
    return Buffer.from(openWith(masterKey, row.sealed), 'base64url')
  } catch {
    throw new Error(
      'The master key does not open this database, which was created with another one. Set the right WAYPOST_MASTER_KEY or WAYPOST_DATA',
    )
  }
}

/** Stores the data key of a restored backup, encrypted with this installation's master key. */
export async function storeDataKey(sql: Sql, masterKey: Buffer, dataKey: Buffer) {
  const sealed = sealWith(masterKey, dataKey.toString('base64url'))
  await sql`insert into kernel.data_keys (id, sealed) values (1, ${sealed}) on conflict (id) do update set sealed = ${sealed}`
}

/** Creates the service for secrets. `renew` replaces the data key when a restore has changed it while the process runs. */
export function createSecrets(dataKey: Buffer): Secrets & { setDataKey(dataKey: Buffer): void } {
  // A key object is created once: Node.js would create one from bytes in every call, which takes three times as long as encrypting.
  let current = createSecretKey(dataKey)
  return {
    seal: (text) => sealWith(current, text),
    open: (sealed) => openWith(current, sealed),
    setDataKey(next) {
      current = createSecretKey(next)
    },
  }
}

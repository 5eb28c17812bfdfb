/**
 * Encrypts secrets at rest with a data key (AES-256-GCM). The data key is in the database, encrypted with the master key, which is never in
 * the database. A copy of the database alone therefore reveals no secret. To move a backup to another master key, only the data key is
 * encrypted again.
 */
import { createCipheriv, createDecipheriv, createHash, createSecretKey, type KeyObject, randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Sql } from './db.ts'

export interface Secrets {
  seal(text: string): string
  open(sealed: string): string
}

/** A key with the name by which sealed values refer to it. */
export interface NamedKey {
  name: string
  key: KeyObject
}

/** Names a key by a hash, which only shows whether two keys are the same. */
export const namedKey = (bytes: Buffer): NamedKey => ({
  name: createHash('sha256').update('waypost key name\n').update(bytes).digest('hex').slice(0, 12),
  // The key object is created once. From bytes, Node.js would create a key object in every call, which takes three times as long as the
  // encryption.
  key: createSecretKey(bytes),
})

/** Returns the prefix of every text that was sealed with this key. */
export const sealedPrefix = ({ name }: NamedKey) => `v2.${name}.`

function sealWith(named: NamedKey, text: string): string {
  const iv = randomBytes(12)
  const cipher = createCipheriv('aes-256-gcm', named.key, iv)
  const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
  return sealedPrefix(named) + Buffer.concat([iv, cipher.getAuthTag(), sealed]).toString('base64url')
}

function decrypt(key: KeyObject, text: string): string {
  const bytes = Buffer.from(text, 'base64url')
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, 12))
  decipher.setAuthTag(bytes.subarray(12, 28))
  return Buffer.concat([decipher.update(bytes.subarray(28)), decipher.final()]).toString('utf8')
}

/** Opens a text with one of several keys. Texts of the first format (`v1.`) do not name their key. */
function openWith(keys: Iterable<NamedKey>, sealed: string): string {
  const [version, second = '', third = '', ...more] = sealed.split('.')
  if (more.length > 0 || version !== (third === '' ? 'v1' : 'v2')) throw new Error('this is not a sealed text')
  if (version === 'v2') {
    for (const { name, key } of keys) if (name === second) return decrypt(key, third)
    throw new Error('no known key has sealed this text')
  }
  let failure: unknown
  for (const { key } of keys)
    try {
      return decrypt(key, second)
    } catch (error) {
      failure = error
    }
  throw failure
}

export const masterKeyFile = (directory: string) => join(directory, 'keys', 'master.key')

export const nextMasterKeyFile = (directory: string) => join(directory, 'keys', 'master.key.next')
export const oldMasterKeyFile = (directory: string) => join(directory, 'keys', 'master.key.old')

/**
 * Returns the master key. It is taken from the setting (a text of at least 32 characters), or from a file in the data directory, which is
 * created if it is missing.
 */
export function loadMasterKey(setting: string | undefined, directory: string): Buffer {
  const known = findMasterKey(setting, directory)
  if (known) return known
  const file = masterKeyFile(directory)
  mkdirSync(join(directory, 'keys'), { recursive: true, mode: 0o700 })
  writeFileSync(file, randomBytes(32).toString('base64url'), { mode: 0o600, flag: 'wx', flush: true })
  return readMasterKey(file)
}

/** Returns the master key from the setting or the data directory, or undefined if there is no key yet. */
export function findMasterKey(setting: string | undefined, directory: string): Buffer | undefined {
  if (setting !== undefined) return masterKeyOf(setting, 'WAYPOST_MASTER_KEY')
  const file = masterKeyFile(directory)
  return existsSync(file) ? readMasterKey(file) : undefined
}

/** Reads a master key from a file: `keys/master.key` of a data directory, or a file with the text of a WAYPOST_MASTER_KEY. */
export const readMasterKey = (file: string): Buffer => masterKeyOf(readFileSync(file, 'utf8').trim(), file)

export function masterKeyOf(text: string, source: string): Buffer {
  if (text.length < 32) throw new Error(`${source} must have at least 32 characters`)
  return createHash('sha256').update(text).digest()
}

export const newKey = () => randomBytes(32)

export const sealKey = (masterKey: Buffer, key: Buffer) => sealWith(namedKey(masterKey), key.toString('base64url'))
const openKey = (masterKey: Buffer, sealed: string) => Buffer.from(openWith([namedKey(masterKey)], sealed), 'base64url')

/**
 * The phases of a rotation. `adding`: nodes load the new data key. `sealing`: nodes seal with the new key, and stored values are sealed
 * again. `sealed`: all values are sealed with the new key.
 */
export type RotationPhase = 'adding' | 'sealing' | 'sealed'

export interface DataKeys {
  /** The key that seals new values. */
  current: Buffer
  /** The other key of a rotation that is in progress. */
  other?: Buffer
  /** The rotation that is in progress. `opensWith` says whether the given master key is the old or the new one. */
  rotation?: { phase: RotationPhase; opensWith: 'old' | 'new' }
}

export async function loadDataKey(sql: Sql, masterKey: Buffer): Promise<DataKeys> {
  await sql`insert into kernel.data_keys (id, sealed) values (1, ${sealKey(masterKey, newKey())}) on conflict do nothing`
  return (await readDataKeys(sql, masterKey))!
}

/** Returns the keys of this database; undefined if no platform has ever started on it. */
export async function readDataKeys(sql: Sql, masterKey: Buffer): Promise<DataKeys | undefined> {
  // The column names have no underscores, because backups use a pool that does not translate them.
  const [row] = await sql`
    select k.sealed, r.phase, r.old_key_by_old as oldold, r.old_key_by_new as oldnew, r.new_key_by_old as newold,
      r.new_key_by_new as newnew
    from kernel.data_keys k left join kernel.key_rotation r on true`
  if (!row) return undefined
  if (row.phase === null) return { current: openOrExplain(masterKey, [row.sealed]).key }
  const old = openOrExplain(masterKey, [row.oldold, row.oldnew])
  const { key: next } = openOrExplain(masterKey, [row.newold, row.newnew])
  const rotation = {
    phase: row.phase as RotationPhase,
    opensWith: old.index === 0 ? ('old' as const) : ('new' as const),
  }
  return row.phase === 'adding'
    ? { current: old.key, other: next, rotation }
    : { current: next, other: old.key, rotation }
}

/** Returns the only data key, or undefined if no platform has ever started on this database. Throws while a rotation is in progress. */
export async function readDataKey(sql: Sql, masterKey: Buffer): Promise<Buffer | undefined> {
  const [exists] = await sql`select to_regclass('kernel.key_rotation') is not null as yes`
  if (!exists?.yes) {
    const [row] = await sql`select sealed from kernel.data_keys`
    return row && openOrExplain(masterKey, [row.sealed]).key
  }
  const keys = await readDataKeys(sql, masterKey)
  if (keys?.rotation) throw new RotationUnderWay(keys.rotation.phase)
  return keys?.current
}

export class RotationUnderWay extends Error {
  override readonly name = 'RotationUnderWay'
  /** The step of an operator that completes the rotation. */
  readonly nextStep: string
  constructor(phase: RotationPhase) {
    const nextStep =
      phase === 'sealed'
        ? 'Give every node the new master key, restart it, then run: waypost secrets finish'
        : 'If no process runs the rotation, continue it with: waypost secrets rotate'
    super(`The keys of this installation are being rotated. ${nextStep}`)
    this.nextStep = nextStep
  }
}

function openOrExplain(masterKey: Buffer, candidates: string[]): { key: Buffer; index: number } {
  for (const [index, sealed] of candidates.entries())
    try {
      return { key: openKey(masterKey, sealed), index }
    } catch {
      // Another copy of the data key may be sealed with this master key, so the loop continues.
    }
  throw new Error(
    'The master key does not open this database, which was created with another key. Set the right WAYPOST_MASTER_KEY or WAYPOST_DATA',
  )
}

/** Stores the data key of a restored backup, sealed with this installation's master key. This ends a rotation that is in progress. */
export async function storeDataKey(sql: Sql, masterKey: Buffer, dataKey: Buffer) {
  const sealed = sealKey(masterKey, dataKey)
  await sql`insert into kernel.data_keys (id, sealed) values (1, ${sealed}) on conflict (id) do update set sealed = ${sealed}`
  const [exists] = await sql`select to_regclass('kernel.key_rotation') is not null as yes`
  if (exists?.yes) await sql`delete from kernel.key_rotation`
}

/** Creates the functions that seal and open secrets with these keys. */
export function createSecrets(keys: DataKeys | Buffer): Secrets & { setDataKeys(keys: DataKeys): void } {
  /**
   * The keys of this process; the current key is the first. Keys are never dropped while the process runs, because caches may contain
   * values that an older key sealed.
   */
  let known: NamedKey[] = []
  function setDataKeys({ current, other }: DataKeys) {
    const added = [current, ...(other ? [other] : [])].map(namedKey)
    known = [...added, ...known.filter(({ name }) => !added.some((one) => one.name === name))]
  }
  setDataKeys(Buffer.isBuffer(keys) ? { current: keys } : keys)
  return {
    seal: (text) => sealWith(known[0]!, text),
    open: (sealed) => openWith(known, sealed),
    setDataKeys,
  }
}

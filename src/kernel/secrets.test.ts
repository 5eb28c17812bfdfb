import assert from 'node:assert/strict'
import { createCipheriv } from 'node:crypto'
import { rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { freshDatabase, migrateKernel, temporaryDirectory } from '../../test/harness/database.ts'
import { connect } from './db.ts'
import { createSecrets, loadDataKey, loadMasterKey, storeDataKey } from './secrets.ts'

async function aDatabase() {
  const connection = await freshDatabase()
  await migrateKernel(connection)
  return connect(connection, { max: 1 })
}

test('a sealed text can be opened; sealing the same text twice gives different results, and a changed sealed text is rejected', async () => {
  const secrets = createSecrets(Buffer.alloc(32, 7))
  const sealed = secrets.seal('größtes Geheimnis')
  assert.equal(secrets.open(sealed), 'größtes Geheimnis')
  assert.notEqual(secrets.seal('größtes Geheimnis'), sealed)
  const last = sealed.at(-1) === 'A' ? 'B' : 'A'
  assert.throws(() => secrets.open(sealed.slice(0, -2) + last + last))
  assert.throws(() => createSecrets(Buffer.alloc(32, 8)).open(sealed))
})

test('a text of the first version, which does not name its key, opens with any of several keys', () => {
  const iv = Buffer.alloc(12, 3)
  const cipher = createCipheriv('aes-256-gcm', Buffer.alloc(32, 7), iv)
  const text = Buffer.concat([cipher.update('from before', 'utf8'), cipher.final()])
  const sealed = `v1.${Buffer.concat([iv, cipher.getAuthTag(), text]).toString('base64url')}`
  const secrets = createSecrets({ current: Buffer.alloc(32, 8), other: Buffer.alloc(32, 7) })
  assert.equal(secrets.open(sealed), 'from before')
  assert.throws(() => createSecrets(Buffer.alloc(32, 8)).open(sealed))
})

test('new texts are sealed with the current key, and texts that were sealed with older keys can be opened', () => {
  const secrets = createSecrets(Buffer.alloc(32, 1))
  const before = secrets.seal('before')
  secrets.setDataKeys({ current: Buffer.alloc(32, 2) })
  assert.equal(secrets.open(before), 'before')
  assert.throws(() => createSecrets(Buffer.alloc(32, 1)).open(secrets.seal('after')), /no known key/)
})

test('the master key is created once per directory, and only its owner can read it', () => {
  const [one, two] = [temporaryDirectory(), temporaryDirectory()]
  const key = loadMasterKey(undefined, one)
  assert.deepEqual(loadMasterKey(undefined, one), key)
  assert.notDeepEqual(loadMasterKey(undefined, two), key)
  assert.equal(statSync(join(one, 'keys', 'master.key')).mode & 0o777, 0o600)
  for (const directory of [one, two]) rmSync(directory, { recursive: true })
})

test('a short master key is rejected', () => {
  assert.throws(() => loadMasterKey('short', '/nowhere'), /at least 32 characters/)
})

test('the data key survives a restart, and another master key does not open it', async () => {
  const pool = await aDatabase()
  const master = Buffer.alloc(32, 1)
  const key = await loadDataKey(pool, master)
  assert.deepEqual(await loadDataKey(pool, master), key)
  await assert.rejects(loadDataKey(pool, Buffer.alloc(32, 2)), /master key does not open/)
  await storeDataKey(pool, Buffer.alloc(32, 2), key.current)
  assert.deepEqual(await loadDataKey(pool, Buffer.alloc(32, 2)), key)
  await pool.end()
})

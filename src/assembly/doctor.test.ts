import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  administrationOf,
  freshDatabase,
  independentPool,
  migrateKernel,
  temporaryDirectory,
} from '../../test/harness/database.ts'
import { databaseUrl } from '../../test/harness/postgres-server.ts'
import { loadConfig } from '../config.ts'
import type { ConnectionOptions } from '../kernel/db.ts'
import { createLog } from '../kernel/log.ts'
import { loadDataKey, masterKeyOf, sealKey } from '../kernel/secrets.ts'
import { examine } from './doctor.ts'

async function findingsWith(connection: ConnectionOptions, more: Record<string, string> = {}) {
  const WAYPOST_DATABASE_URL = await databaseUrl(connection)
  const config = loadConfig({ WAYPOST_DATA: temporaryDirectory(), WAYPOST_DATABASE_URL, ...more })
  const log = await createLog({ level: 'silent', format: 'json' })
  return await Array.fromAsync(examine(config, log))
}

test('the doctor warns if the database role is a superuser, and does not warn if the role only owns the database', async () => {
  const connection = await freshDatabase()
  const aboutRole = (findings: Awaited<ReturnType<typeof findingsWith>>) =>
    findings.filter(({ text }) => text.includes('superuser'))
  const [warning, ...more] = aboutRole(await findingsWith(await administrationOf(connection)))
  assert.equal(warning?.state, 'warning')
  assert.match(warning.text, /connects as waypost, a superuser of the database/)
  assert.match(warning.todo ?? '', /WAYPOST_DATABASE_URL/)
  assert.deepEqual(more, [])
  const findings = await findingsWith(connection)
  assert.deepEqual(aboutRole(findings), [])
  assert.ok(findings.some(({ state, text }) => state === 'ok' && text.startsWith('The database answers')))
})

test('during a rotation of the keys, the doctor accepts both master keys and names the next step', async () => {
  const connection = await freshDatabase()
  await migrateKernel(connection)
  const pool = independentPool(connection)
  const [before, after, other] = ['before', 'after', 'other'].map((name) => name.padEnd(32, '-'))
  const [old, next] = [before!, after!].map((text) => masterKeyOf(text, 'the test'))
  const { current } = await loadDataKey(pool, old!)
  const key = { byOld: sealKey(old!, current), byNew: sealKey(next!, current) }
  await pool`
    insert into kernel.key_rotation (id, phase, old_key_by_old, old_key_by_new, new_key_by_old, new_key_by_new)
    values (1, 'sealed', ${key.byOld}, ${key.byNew}, ${key.byOld}, ${key.byNew})`
  const aboutKeys = async (masterKey: string) =>
    (await findingsWith(connection, { WAYPOST_MASTER_KEY: masterKey })).filter(({ text }) => /key/.test(text))
  for (const masterKey of [before!, after!]) {
    const [opens, warning, ...more] = await aboutKeys(masterKey)
    assert.equal(opens?.state, 'ok')
    assert.equal(warning?.state, 'warning')
    assert.match(warning.todo ?? '', /secrets finish$/)
    assert.deepEqual(more, [])
  }
  const [problem] = await aboutKeys(other!)
  assert.equal(problem?.state, 'error')
})

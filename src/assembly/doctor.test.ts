import assert from 'node:assert/strict'
import { test } from 'node:test'
import { administrationOf, freshDatabase, temporaryDirectory } from '../../test/harness/database.ts'
import { databaseUrl } from '../../test/harness/postgres-server.ts'
import { loadConfig } from '../config.ts'
import type { ConnectionOptions } from '../kernel/db.ts'
import { createLog } from '../kernel/log.ts'
import { examine } from './doctor.ts'

async function findingsWith(connection: ConnectionOptions) {
  const config = loadConfig({ WAYPOST_DATA: temporaryDirectory(), WAYPOST_DATABASE_URL: await databaseUrl(connection) })
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

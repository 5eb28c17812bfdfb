/** Tests deletions, expiry, and the removal of incomplete uploads after a crash. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { dirname, join } from 'node:path'
import { before, test } from 'node:test'
import { backUp, connectionOf, restore } from '../../../test/harness/backup.ts'
import { type Endpoint, openBinaryData, root } from '../../../test/harness/binary-data.ts'
import { independentPool, temporaryDirectory } from '../../../test/harness/database.ts'
import { eventually } from '../../../test/harness/eventually.ts'
import { contentTables, migrationSources } from '../../assembly/build.ts'
import { Identity } from '../../identity/contract.ts'
import { backupKeyOf } from '../../kernel/backup/authentication.ts'
import { newBlobKey, pathOfKey } from '../../kernel/blobs/blobs.ts'
import { createFileBlobs } from '../../kernel/blobs/files.ts'
import { pauseRemovals } from '../../kernel/blobs/removal-lock.ts'
import { readMigrations } from '../../kernel/migrate.ts'
import { TenantDeleted } from '../tenants/events.ts'
import binaryData from './index.ts'

let fixture: Awaited<ReturnType<typeof openBinaryData>>
let app: string
let clockAheadMs = 0
const masterKey = 'the master key of the tests of endings'
const now = () => new Date(Date.now() + clockAheadMs)
before(async () => {
  const environment = { WAYPOST_UPLOAD_TOKEN_TTL_SECONDS: '600', WAYPOST_MASTER_KEY: masterKey }
  fixture = await openBinaryData({ now, environment })
  app = await fixture.anApplication()
})

const directory = () => fixture.waypost.kit.platform.blobs.directory
const sql = () => fixture.waypost.kit.db.sql
const mark = '0'.repeat(32)
/** Lists all contents in the folder of blobs. */
const files = () =>
  existsSync(directory())
    ? readdirSync(directory(), { recursive: true, encoding: 'utf8' }).filter(
        (name) => statSync(join(directory(), name)).isFile() && !name.endsWith(mark),
      )
    : []
const count = async (table: string) => (await sql()`select count(*) from ${sql()(`binary_data.${table}`)}`)[0]?.count
const periodic = (name: string) =>
  fixture.waypost.kit.db.tx((tx) =>
    fixture.waypost.built
      .get('binary-data')!
      .periodic!.find((task) => task.name === name)!
      .run(tx),
  )
const settled = () =>
  eventually(async () => {
    assert.equal(await count('leavings'), 0)
    assert.equal(files().length, await count('items'))
    const { kept, summed } = await fixture.usage()
    assert.equal(kept, summed)
  })
const tryUpload = async (token: string, where = '/files/x') =>
  (await fixture.send(`POST ${root}${where}`, { 'x-auth-token': token }, 'x')).status

test('an upload token expires after the configured time', async () => {
  const token = await fixture.aToken(await fixture.anEndpoint(app))
  clockAheadMs = 599_000
  assert.equal(await tryUpload(token), 204)
  clockAheadMs = 601_000
  assert.equal(await tryUpload(token), 403)
  await periodic('binary-data.sweep')
  assert.equal(await count('upload_tokens'), 0)
  clockAheadMs = 0
})

test('upload tokens are random and not stored in plain text', async () => {
  const endpoint = await fixture.anEndpoint(app)
  const [token, otherToken] = [await fixture.aToken(endpoint), await fixture.aToken(endpoint)]
  assert.notEqual(token, otherToken)
  assert.match(token, /^[\w-]{43}$/)
  const rows = await sql()`select token_hash from binary_data.upload_tokens`
  assert.ok(rows.every(({ tokenHash }) => tokenHash !== token && tokenHash !== otherToken))
  assert.equal(await tryUpload(token), 204)
  assert.equal(await tryUpload(otherToken), 204)
})

test('an endpoint whose only token is revoked cannot upload until it gets another token', async () => {
  const endpoint = await fixture.anEndpoint(app)
  const token = await fixture.aToken(endpoint)
  const tokens = `/api/v1/endpoints/${endpoint.endpointId}/tokens`
  const { body } = await fixture.admin(`GET ${tokens}`)
  assert.equal(
    (await fixture.admin(`PUT ${tokens}/${body.content[0].endpointTokenId}/status`, { status: 'Revoked' })).status,
    204,
  )
  assert.equal(await tryUpload(token), 403)
  assert.equal((await fixture.admin(`POST ${tokens}`, { applicationName: app })).status, 201)
  assert.equal(await tryUpload(token), 204)
})

test('endpoints of a suspended tenant cannot upload', async () => {
  const other = await fixture.anApplication('other')
  const token = await fixture.aToken(await fixture.anEndpoint(other, { tenantId: 'other' }))
  const set = (status: 'SUSPENDED' | 'AVAILABLE') =>
    fixture.waypost.kit.db.tx((tx) => fixture.waypost.ask(Identity).setRealmStatus(tx, 'other', status))
  await set('SUSPENDED')
  assert.equal(await tryUpload(token), 403)
  await set('AVAILABLE')
  assert.equal(await tryUpload(token), 204)
})

test('deleting an endpoint deletes its files, blobs and tokens', async () => {
  const [endpoint, stays] = [await fixture.anEndpoint(app), await fixture.anEndpoint(app)]
  const token = await fixture.aToken(endpoint)
  for (const each of [endpoint, stays])
    for (let n = 0; n < 3; n++) {
      await fixture.upload(each, `/files/${n}`, `file ${n}`)
      await fixture.upload(each, '/binary-data', `blob ${n}`)
    }
  assert.equal((await fixture.admin(`DELETE /epr/api/v1/endpoints/${endpoint.endpointId}`)).status, 204)
  assert.equal(await tryUpload(token), 403)
  await eventually(async () => {
    const { body } = await fixture.admin(`GET ${root}/applications/${app}/files?endpointId=${endpoint.endpointId}`)
    assert.equal(body.totalElements, 0)
    assert.equal((await fixture.admin(`GET ${root}${endpoint.path}/binary-data/data/last`)).status, 404)
  })
  await settled()
  assert.equal((await fixture.admin(`GET ${root}${stays.path}/files/2`)).text, 'file 2')
})

test('an endpoint that is registered again with the same id has no files and blobs of the earlier endpoint', async () => {
  const endpoint = await fixture.anEndpoint(app)
  await fixture.upload(endpoint, '/files/old', 'old')
  const old = await fixture.aToken(endpoint)
  assert.equal((await fixture.admin(`DELETE /epr/api/v1/endpoints/${endpoint.endpointId}`)).status, 204)
  clockAheadMs += 5
  const reregistered = await fixture.anEndpoint(app, { endpointId: endpoint.endpointId })
  await fixture.upload(reregistered, '/files/new', 'new')
  await eventually(async () =>
    assert.equal((await fixture.admin(`GET ${root}${reregistered.path}/files/old`)).status, 404),
  )
  assert.equal(await tryUpload(old), 403)
  await settled()
  assert.equal((await fixture.admin(`GET ${root}${reregistered.path}/files/new`)).text, 'new')
})

test('if an endpoint id was registered by another tenant before, an upload replaces the old file of that tenant and reduces its usage', async () => {
  const otherApp = await fixture.anApplication('other')
  const former = await fixture.anEndpoint(otherApp, { tenantId: 'other' })
  await fixture.upload(former, '/files/x', 'former')
  const endpoint = await fixture.anEndpoint(app)
  const { endpointId, path } = endpoint
  // The files of an unregistered endpoint remain until a job has deleted them.
  await sql()`update binary_data.items set endpoint_id = ${endpointId} where endpoint_id = ${former.endpointId}`
  await fixture.upload(endpoint, '/files/x', 'mine')
  assert.equal((await fixture.admin(`GET ${root}${path}/files/x`)).text, 'mine')
  const formerPath = `${root}/applications/${otherApp}/endpoints/${endpointId}/files/x`
  assert.equal((await fixture.adminOf('other')(`GET ${formerPath}`)).status, 404)
  const { kept, summed } = await fixture.usage('other')
  assert.equal(kept, summed)
  await settled()
})

test('files and upload tokens of an unregistered endpoint are deleted even if the clock of the node is behind', async () => {
  clockAheadMs += 3_600_000
  const endpoint = await fixture.anEndpoint(app)
  await fixture.upload(endpoint, '/files/x', 'x')
  const token = await fixture.aToken(endpoint)
  clockAheadMs -= 3_600_000
  assert.equal((await fixture.admin(`DELETE /epr/api/v1/endpoints/${endpoint.endpointId}`)).status, 204)
  await eventually(async () => assert.equal((await fixture.admin(`GET ${root}${endpoint.path}/files/x`)).status, 404))
  assert.equal(await tryUpload(token), 403)
  await settled()
})

/** Starts an upload and sends half of its body. */
async function half(endpoint: Endpoint) {
  const before = await count('uploads')
  const token = await fixture.aToken(endpoint)
  const socket = connect(fixture.port, '127.0.0.1')
  let answer = ''
  socket.on('data', (data) => (answer += data))
  socket.write(`POST ${root}/files/half HTTP/1.1\r\nhost: x\r\nx-auth-token: ${token}\r\ncontent-length: 8\r\n\r\nhalf`)
  await eventually(async () => {
    assert.equal(await count('uploads'), before + 1)
    assert.ok(files().some((name) => name.startsWith('unfinished/') && statSync(join(directory(), name)).size === 4))
  })
  return { socket, answer: () => answer }
}

test('an upload that ends after the deletion of its endpoint is rejected and removed', async () => {
  const endpoint = await fixture.anEndpoint(app)
  const { socket, answer } = await half(endpoint)
  assert.equal((await fixture.admin(`DELETE /epr/api/v1/endpoints/${endpoint.endpointId}`)).status, 204)
  await eventually(async () => assert.equal((await sql()`select refused from binary_data.uploads`)[0]?.refused, true))
  socket.write('half')
  await eventually(() => assert.match(answer(), /^HTTP\/1\.1 403/))
  socket.destroy()
  await settled()
})

test('an upload that a crash interrupted is removed after an hour, and not earlier', async () => {
  // The test creates the state after a node was killed: the upload is recorded, and half of its content is written.
  const key = newBlobKey()
  const draft = join(directory(), 'unfinished', key)
  mkdirSync(dirname(draft), { recursive: true })
  writeFileSync(draft, 'half')
  await sql()`
    insert into binary_data.uploads (content_key, endpoint_id, tenant_id, token_issued_at, touched_at)
    values (${key}, 'ep', 'default', ${now()}, ${now()})`
  await periodic('binary-data.sweep')
  assert.ok(existsSync(draft))
  clockAheadMs += 3_601_000
  await periodic('binary-data.sweep')
  await settled()
  assert.ok(!existsSync(draft))
  assert.equal(await count('uploads'), 0)
})

test('contents that are deleted during a backup are kept until the backup ends', async () => {
  const endpoint = await fixture.anEndpoint(app)
  await fixture.upload(endpoint, '/files/a', 'old')
  await settled()
  const before = files()
  await independentPool(connectionOf(fixture.waypost)).begin(async (backup) => {
    await pauseRemovals(backup)
    await fixture.upload(endpoint, '/files/a', 'new')
    assert.equal((await fixture.admin(`DELETE ${root}${endpoint.path}/files/a`)).status, 204)
    await periodic('binary-data.sweep')
    assert.equal(await count('leavings'), 2)
    for (const name of before) assert.ok(existsSync(join(directory(), name)))
  })
  await periodic('binary-data.sweep')
  await settled()
})

/** Counts the jobs that compare the store with the database. */
async function comparisons(): Promise<{ completed: number; unfinished: number }> {
  const states = (await sql()`select state from jobs.job where name = 'binary-data.compare'`).map(({ state }) => state)
  const completed = states.filter((state) => state === 'completed').length
  return { completed, unfinished: states.length - completed }
}

test('restoring a backup while the platform runs restores its contents, and removes contents that the backup does not have', async () => {
  const endpoint = await fixture.anEndpoint(app)
  await fixture.upload(endpoint, '/files/kept', 'kept')
  await fixture.upload(endpoint, '/files/changed', 'before')
  await periodic('binary-data.compare')
  // The test waits until no job is active. A job that is active in the backup would stay active after the restore until it expires, and the
  // next comparison would wait for it.
  await eventually(async () => assert.equal((await comparisons()).unfinished, 0))
  assert.ok(existsSync(join(directory(), pathOfKey(mark))))
  const [connection, path] = [connectionOf(fixture.waypost), join(temporaryDirectory(), 'a.backup')]
  const blobs = createFileBlobs(directory())
  const keys = { masterKey: createHash('sha256').update(masterKey).digest() }
  const contents = { blobs, tables: contentTables([binaryData]) }
  const backup = await backUp(connection, path, { ...keys, contents })
  assert.equal(backup.contents?.count, await count('items'))
  assert.equal(backup.contents?.missing, 0)

  assert.equal((await fixture.admin(`DELETE ${root}${endpoint.path}/files/kept`)).status, 204)
  await fixture.upload(endpoint, '/files/changed', 'after')
  await settled()
  const unreferenced = files()
  const migrations = readMigrations(migrationSources(fixture.waypost.services))
  await restore(connection, path, migrations, { ...keys, authentication: backupKeyOf(keys.masterKey), contents })
  assert.equal((await fixture.admin(`GET ${root}${endpoint.path}/files/kept`)).text, 'kept')
  assert.equal((await fixture.admin(`GET ${root}${endpoint.path}/files/changed`)).text, 'before')
  for (const name of unreferenced) utimesSync(join(directory(), name), new Date(0), new Date(0))
  await periodic('binary-data.compare')
  await settled()
})

test('the daily comparison removes orphans, and keeps new contents and contents to which an item refers', async () => {
  const endpoint = await fixture.anEndpoint(app)
  await fixture.upload(endpoint, '/files/named', 'named')
  const aged = (key: string, path = pathOfKey(key)) => {
    const file = join(directory(), path)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, 'x')
    const hours = new Date(Date.now() - 2 * 3_600_000)
    utimesSync(file, hours, hours)
    return file
  }
  clockAheadMs = 0
  const [orphan, draftKey, fresh] = [newBlobKey(), newBlobKey(), newBlobKey()]
  const oldFiles = [aged(orphan), aged(draftKey, `unfinished/${draftKey}`)]
  const stays = join(directory(), pathOfKey(fresh))
  mkdirSync(dirname(stays), { recursive: true })
  writeFileSync(stays, 'x')
  const foreign = aged('', 'somebody/elses/file.txt')
  await periodic('binary-data.compare')
  await eventually(() => assert.ok(!oldFiles.some(existsSync)))
  assert.ok(existsSync(stays) && existsSync(foreign))
  assert.equal((await fixture.admin(`GET ${root}${endpoint.path}/files/named`)).text, 'named')
})

test('the daily comparison removes no content from a store that belongs to another database', async () => {
  // The test waits for the job of the previous test, because that job could remove the file.
  await eventually(async () => assert.equal((await comparisons()).unfinished, 0))
  const { completed } = await comparisons()
  await sql()`update binary_data.store_mark set mark = 'another'`
  const orphan = join(directory(), pathOfKey(newBlobKey()))
  mkdirSync(dirname(orphan), { recursive: true })
  writeFileSync(orphan, 'of another database')
  utimesSync(orphan, new Date(0), new Date(0))
  await periodic('binary-data.compare')
  await eventually(async () => assert.equal((await comparisons()).completed, completed + 1))
  assert.ok(existsSync(orphan))
  rmSync(orphan)
})

test('deleting a tenant deletes its contents, its tokens and its usage', async () => {
  const doomed = await fixture.anApplication('doomed')
  const endpoint = await fixture.anEndpoint(doomed, { tenantId: 'doomed' })
  const token = await fixture.aToken(endpoint)
  for (let n = 0; n < 5; n++) await fixture.upload(endpoint, `/files/${n}`, 'x')
  const keys = (await sql()`select content_key from binary_data.items where tenant_id = 'doomed'`).map(
    ({ contentKey }) => contentKey,
  )
  assert.equal(keys.length, 5)
  await fixture.waypost.kit.db.tx((tx) => fixture.waypost.kit.bus.publish(tx, TenantDeleted, { tenantId: 'doomed' }))
  await eventually(async () => {
    assert.equal((await sql()`select id from binary_data.items where tenant_id = 'doomed'`).length, 0)
    assert.equal((await sql()`select bytes from binary_data.usage where tenant_id = 'doomed'`).length, 0)
    assert.ok(!keys.some((key) => existsSync(join(directory(), pathOfKey(key)))))
  })
  assert.equal(await tryUpload(token), 403)
})

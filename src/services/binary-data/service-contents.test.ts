import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { existsSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { before, test } from 'node:test'
import { bytesOf, openBinaryData } from '../../../test/harness/binary-data.ts'
import { eventually } from '../../../test/harness/eventually.ts'
import { pathOfKey } from '../../kernel/blobs/blobs.ts'
import { createFileBlobs } from '../../kernel/blobs/files.ts'
import { TenantDeleted } from '../tenants/events.ts'
import { BinaryData, type NewContent, type ServiceContents, type StoredContent } from './contract.ts'

let fixture: Awaited<ReturnType<typeof openBinaryData>>
let contents: ServiceContents
const directory = () => fixture.waypost.kit.platform.blobs.directory
const sql = () => fixture.waypost.kit.db.sql
before(async () => {
  fixture = await openBinaryData({ environment: { WAYPOST_BLOB_QUOTA_MB: '1' } })
  contents = fixture.waypost.ask(BinaryData).contents
})

async function* once(bytes: Uint8Array | string) {
  yield Buffer.from(bytes)
}
const put = (bytes: Uint8Array | string, more: Partial<NewContent> = {}) =>
  contents.write(
    { tenantId: 'default', service: 'test', content: once(bytes), ...more },
    async (_sql, stored) => stored,
  )
const release = (tenantId: string, keys: string[]) =>
  fixture.waypost.kit.db.tx((tx) => contents.release(tx, tenantId, keys))
const usage = async () => (await fixture.usage()).kept
const rows = async () =>
  (
    await sql()`select (select count(*) from binary_data.service_contents)::int as kept,
    (select count(*) from binary_data.uploads)::int as uploads,
    (select count(*) from binary_data.leavings)::int as orphans`
  )[0]
const isStored = ({ contentKey }: StoredContent) => existsSync(join(directory(), pathOfKey(contentKey)))

test('a content of a service is stored with its checksum, read completely and in part, and released', async () => {
  const stored = await put('firmware')
  assert.equal(stored.size, 8)
  assert.equal(stored.checksum, createHash('sha256').update('firmware').digest('hex'))
  assert.equal(await usage(), 8)
  assert.equal(await text((await contents.read(stored.contentKey))!), 'firmware')
  assert.equal(await text((await contents.read(stored.contentKey, { first: 4, last: 7 }))!), 'ware')
  await release('other', [stored.contentKey])
  assert.equal(await usage(), 8)
  await release('default', [stored.contentKey])
  await eventually(() => assert.ok(!isStored(stored)))
  assert.equal(await usage(), 0)
  assert.equal(await contents.read(stored.contentKey), undefined)
  await release('default', [stored.contentKey])
  assert.equal(await usage(), 0)
})

test('no file and no row remain of a content that is too large, has a wrong checksum or whose transaction fails', async () => {
  const digest = { header: 'Content-Digest', sha256: createHash('sha256').update('other').digest('hex') }
  await assert.rejects(put(bytesOf(1_000_001)), { status: 413 })
  await assert.rejects(put('x', { length: 1_000_001 }), { status: 413 })
  await assert.rejects(put('firmware', { digest }), { status: 400 })
  const failedWrite = contents.write({ tenantId: 'default', service: 'test', content: once('x') }, async () => {
    throw new Error('not kept')
  })
  await assert.rejects(failedWrite, /not kept/)
  await eventually(async () => assert.deepEqual(await rows(), { kept: 0, uploads: 0, orphans: 0 }))
  assert.equal(await usage(), 0)
  const remaining = []
  for await (const { key } of createFileBlobs(directory()).keys()) remaining.push(key)
  assert.deepEqual(
    remaining.filter((key) => !/^0+$/.test(key)),
    [],
  )
})

test('a content that replaces another content uses quota only for the difference of their sizes', async () => {
  const old = await put(bytesOf(900_000))
  await assert.rejects(put(bytesOf(200_000)), { status: 413 })
  const content = { tenantId: 'default', service: 'test', content: once(bytesOf(950_000)), replacedBytes: old.size }
  const fresh = await contents.write(content, async (tx, stored) => {
    await contents.release(tx, 'default', [old.contentKey])
    return stored
  })
  assert.equal(await usage(), 950_000)
  await eventually(() => assert.ok(!isStored(old)))
  await release('default', [fresh.contentKey])
})

test('the daily comparison keeps contents of services, and the deletion of a tenant deletes the contents of this tenant', async () => {
  const stored = await put('kept')
  const doomed = await put('doomed', { tenantId: 'doomed' })
  const task = fixture.waypost.built.get('binary-data')!.periodic!.find(({ name }) => name === 'binary-data.compare')!
  const completed = async () =>
    (await sql()`select id from jobs.job where name = 'binary-data.compare' and state = 'completed'`).length
  utimesSync(join(directory(), pathOfKey(stored.contentKey)), new Date(0), new Date(0))
  const before = await completed()
  await fixture.waypost.kit.db.tx((tx) => task.run(tx))
  await eventually(async () => assert.equal(await completed(), before + 1))
  assert.deepEqual((await rows())?.orphans, 0)
  assert.ok(isStored(stored))
  await fixture.waypost.kit.db.tx((tx) => fixture.waypost.kit.bus.publish(tx, TenantDeleted, { tenantId: 'doomed' }))
  await eventually(() => assert.ok(!isStored(doomed)), { withinMs: 15_000 })
  assert.ok(isStored(stored))
})

import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { bytesOf, type Endpoint, openBinaryData, root } from '../../../test/harness/binary-data.ts'
import { aPlatformAdmin } from '../../../test/harness/builders.ts'
import { eventually } from '../../../test/harness/eventually.ts'

let fixture: Awaited<ReturnType<typeof openBinaryData>>
let endpoint: Endpoint
let token: string
const megabyte = 1_000_000
before(async () => {
  fixture = await openBinaryData({ environment: { WAYPOST_BLOB_QUOTA_MB: '2' } })
  endpoint = await fixture.anEndpoint(await fixture.anApplication())
  token = await fixture.aToken(endpoint)
})

async function* pieces(total: number) {
  for (let sent = 0; sent < total; sent += 50_000) yield bytesOf(50_000)
}
const put = (name: string, body: Uint8Array | AsyncIterable<Uint8Array>) =>
  fixture.send(`POST ${root}/files/${name}`, { 'x-auth-token': token }, body)
const remove = async (name: string) =>
  assert.equal((await fixture.admin(`DELETE ${root}${endpoint.path}/files/${name}`)).status, 204)

test('an upload above the quota gets 413 and stores nothing, with or without a Content-Length', async () => {
  for (const body of [bytesOf(2 * megabyte + 1), pieces(3 * megabyte), pieces(40 * megabyte)]) {
    const answer = await put('much', body)
    assert.equal(answer.status, 413, answer.text)
    assert.match(answer.text, /quota of the tenant, 2000000 bytes/)
  }
  await eventually(async () => assert.deepEqual(await fixture.usage(), { kept: 0, summed: 0 }))
  assert.equal((await fixture.admin(`GET ${root}${endpoint.path}/files/much`)).status, 404)
})

test('a compressed upload gets 415 and stores nothing, because a download would not be decompressed', async () => {
  const send = (encoding: string) =>
    fixture.send(`POST ${root}/files/zipped`, { 'x-auth-token': token, 'content-encoding': encoding }, 'zipped')
  assert.equal((await send('gzip')).status, 415)
  assert.equal((await fixture.admin(`GET ${root}${endpoint.path}/files/zipped`)).status, 404)
  assert.equal((await send('utf-8')).status, 204)
  await remove('zipped')
})

test('contents of exactly the quota are accepted, one byte more is rejected, and a deletion frees quota', async () => {
  assert.equal((await put('one', bytesOf(megabyte))).status, 204)
  assert.equal((await put('two', bytesOf(megabyte))).status, 204)
  assert.equal((await put('three', bytesOf(1))).status, 413)
  await remove('two')
  assert.equal((await put('three', bytesOf(1))).status, 204)
  await remove('three')
  await remove('one')
})

test('an upload may use the space of the file that it replaces', async () => {
  assert.equal((await put('same', bytesOf(1.5 * megabyte))).status, 204)
  assert.equal((await put('same', bytesOf(2 * megabyte))).status, 204)
  assert.equal((await put('same', pieces(2 * megabyte))).status, 204)
  assert.equal((await put('same', bytesOf(2 * megabyte + 1))).status, 413)
  assert.equal((await fixture.usage()).kept, 2 * megabyte)
  await remove('same')
})

test('concurrent uploads cannot exceed the quota together', async () => {
  const answers = await Promise.all(Array.from({ length: 8 }, (_, n) => put(`at-once-${n}`, pieces(megabyte))))
  const stored = answers.filter(({ status }) => status === 204).length
  assert.ok(stored <= 2, String(stored))
  assert.ok(answers.every(({ status }) => status === 204 || status === 413))
  const { kept, summed } = await fixture.usage()
  assert.equal(kept, stored * megabyte)
  assert.equal(kept, summed)
})

test('each tenant has its own quota', async () => {
  const ofOtherTenant = await fixture.anEndpoint(await fixture.anApplication('other'), { tenantId: 'other' })
  assert.equal((await fixture.upload(ofOtherTenant, '/files/a', bytesOf(2 * megabyte))).status, 204)
})

test('the quota of a tenant package overrides the setting, and a change applies immediately to all tenants of this package only', async () => {
  const platform = fixture.waypost.as(aPlatformAdmin())
  const created = await platform('POST /tenant-manager/api/v1/packages-types', { name: 'small', disk_size: 1000 })
  assert.equal(created.status, 201, created.text)
  const aTenant = async (tenantId: string, packageType: string) => {
    const admin = { email: 'a@b.example', username: 'a', first_name: 'A', last_name: 'B' }
    const body = { name: tenantId, tenant_id: tenantId, package_type: packageType, admin }
    const answer = await platform('POST /tenant-manager/api/v2/tenants', body)
    assert.equal(answer.status, 202, answer.text)
    const path = `/tenant-manager/api/v2/tenants/${answer.body.id}`
    await eventually(async () => assert.equal((await platform(`GET ${path}`)).body.status, 'AVAILABLE'))
    const ofOtherTenant = await fixture.anEndpoint(await fixture.anApplication(tenantId), { tenantId })
    const theirToken = await fixture.aToken(ofOtherTenant)
    const store = async (name: string, size: number) =>
      (await fixture.send(`POST ${root}/files/${name}`, { 'x-auth-token': theirToken }, bytesOf(size))).status
    const change = async (to: string) => assert.equal((await platform(`PUT ${path}`, { package_type: to })).status, 200)
    return { store, change }
  }
  const [little, much] = [await aTenant('little', 'small'), await aTenant('much', 'default')]
  assert.equal(await little.store('a', 1000), 204)
  assert.equal(await little.store('b', 1), 413)
  assert.equal(await much.store('a', 1001), 204)

  await little.change('default')
  assert.equal(await little.store('b', 2 * megabyte - 1000), 204)
  assert.equal(await little.store('c', 1), 413)
  await little.change('small')
  assert.equal(await little.store('c', 1), 413)
  assert.equal(await little.store('b', 2 * megabyte - 999), 413)
  assert.equal(await little.store('b', megabyte), 204, 'a smaller content must be accepted, even above the quota')
  assert.equal(await much.store('b', megabyte), 204)

  const package_ = `/tenant-manager/api/v1/packages-types/${created.body.id}`
  const larger = await platform(`PUT ${package_}`, { name: 'small', disk_size: megabyte + 2000 })
  assert.equal(larger.status, 200, larger.text)
  assert.equal(await little.store('c', 1000), 204)
  assert.equal(await little.store('d', 1), 413)
  for (const size of [-1, 1.5, '1000', null])
    assert.equal((await platform(`PUT ${package_}`, { name: 'small', disk_size: size })).status, 400)
})

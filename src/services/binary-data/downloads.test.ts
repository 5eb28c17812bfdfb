import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readdirSync, readlinkSync } from 'node:fs'
import { connect } from 'node:net'
import { before, test } from 'node:test'
import { asAdmin, bytesOf, type Endpoint, openBinaryData, root } from '../../../test/harness/binary-data.ts'
import { aCaller } from '../../../test/harness/builders.ts'
import { eventually } from '../../../test/harness/eventually.ts'

let fixture: Awaited<ReturnType<typeof openBinaryData>>
let app: string
let endpoint: Endpoint
let file: string
const content = '0123456789'
const etag = `"${createHash('sha256').update(content).digest('hex')}"`

before(async () => {
  fixture = await openBinaryData()
  app = await fixture.anApplication()
  endpoint = await fixture.anEndpoint(app)
  await fixture.upload(endpoint, '/files/digits.txt', content)
  file = `${root}${endpoint.path}/files/digits.txt`
})

test('a download is an attachment without content sniffing, with its checksum', async () => {
  const { status, text, headers } = await fixture.admin(`GET ${file}`)
  assert.equal(status, 200)
  assert.equal(text, content)
  assert.equal(headers['content-type'], 'application/octet-stream')
  assert.equal(headers['content-disposition'], `attachment; filename="digits.txt"; filename*=UTF-8''digits.txt`)
  assert.equal(headers['x-content-type-options'], 'nosniff')
  assert.equal(headers['content-length'], '10')
  assert.equal(headers['accept-ranges'], 'bytes')
  assert.equal(headers.etag, etag)
  assert.equal(headers['repr-digest'], `sha-256=:${createHash('sha256').update(content).digest('base64')}:`)
  assert.ok(headers['last-modified'])
})

test('the response to HEAD has the headers of GET and no content', async () => {
  const { status, text, headers } = await fixture.admin(`HEAD ${file}`)
  assert.deepEqual([status, text, headers['content-length'], headers.etag], [200, '', '10', etag])
})

for (const [range, status, text, shown] of [
  ['bytes=0-3', 206, '0123', 'bytes 0-3/10'],
  ['bytes=7-', 206, '789', 'bytes 7-9/10'],
  ['bytes=-2', 206, '89', 'bytes 8-9/10'],
  ['bytes=-99', 206, content, 'bytes 0-9/10'],
  ['bytes=5-99', 206, '56789', 'bytes 5-9/10'],
  ['bytes=0-0', 206, '0', 'bytes 0-0/10'],
  ['bytes=10-', 416, undefined, 'bytes */10'],
  ['bytes=99999999999999999999-', 416, undefined, 'bytes */10'],
  ['bytes=-0', 416, undefined, 'bytes */10'],
  ['bytes=5-2', 200, content, undefined],
  ['bytes=0-1,3-4', 200, content, undefined],
  ['lines=1-2', 200, content, undefined],
  ['bytes=a-b', 200, content, undefined],
  ['', 200, content, undefined],
] as const)
  test(`a request with Range: ${range} is answered with ${status}`, async () => {
    const answer = await fixture.admin(`GET ${file}`, undefined, { range })
    assert.equal(answer.status, status, answer.text)
    assert.equal(answer.headers['content-range'], shown)
    if (text === undefined) return assert.match(answer.body.message, /10 bytes/)
    assert.equal(answer.text, text)
    assert.equal(answer.headers['content-length'], String(text.length))
  })

test('If-Range returns a part only if the content has not changed', async () => {
  const part = await fixture.admin(`GET ${file}`, undefined, { range: 'bytes=0-1', 'if-range': etag })
  assert.equal(part.status, 206)
  const whole = await fixture.admin(`GET ${file}`, undefined, { range: 'bytes=0-1', 'if-range': '"old"' })
  assert.deepEqual([whole.status, whole.text], [200, content])
})

test('a request with the current ETag in If-None-Match gets 304 without content', async () => {
  for (const condition of [etag, `"x", ${etag}`, `W/${etag}`, '*']) {
    const answer = await fixture.admin(`GET ${file}`, undefined, { 'if-none-match': condition })
    assert.deepEqual([answer.status, answer.text, answer.headers.etag], [304, '', etag], condition)
  }
  for (const condition of ['"x"', ''])
    assert.equal((await fixture.admin(`GET ${file}`, undefined, { 'if-none-match': condition })).status, 200)
})

test('a request with an old ETag in If-Match gets 412, so that a download is not continued with the bytes of another content', async () => {
  const statusOf = async (condition: string) =>
    (await fixture.admin(`GET ${file}`, undefined, { 'if-match': condition, range: 'bytes=1-2' })).status
  assert.equal(await statusOf('"old"'), 412)
  const { message } = (await fixture.admin(`GET ${file}`, undefined, { 'if-match': '"old"' })).body
  assert.match(message, /^The content has changed: .* download the content again from its beginning$/)
  for (const condition of [etag, '*', '']) assert.equal(await statusOf(condition), 206, condition)
})

test('If-Modified-Since, which wget -N and curl -z send, gets 304 if the content is not newer', async () => {
  const modified = (await fixture.admin(`GET ${file}`)).headers['last-modified']!
  const statusOf = async (headers: Record<string, string>) =>
    (await fixture.admin(`GET ${file}`, undefined, headers)).status
  assert.equal(await statusOf({ 'if-modified-since': modified }), 304)
  assert.equal(await statusOf({ 'if-modified-since': 'Fri, 01 Jan 2100 00:00:00 GMT' }), 304)
  for (const date of [new Date(Date.parse(modified) - 1000).toUTCString(), 'yesterday', ''])
    assert.equal(await statusOf({ 'if-modified-since': date }), 200, date)
  assert.equal(await statusOf({ 'if-modified-since': modified, 'if-none-match': '"old"' }), 200)
})

test('data/last is the newest blob, even among uploads of the same millisecond', async () => {
  const newEndpoint = await fixture.anEndpoint(app)
  const last = `${root}${newEndpoint.path}/binary-data/data/last`
  const missing = await fixture.admin(`GET ${last}`)
  assert.equal(missing.status, 404)
  for (let n = 0; n < 20; n++) {
    await fixture.upload(newEndpoint, `/binary-data?name=b${n}`, `blob ${n}`)
    const answer = await fixture.admin(`GET ${last}`)
    assert.equal(answer.text, `blob ${n}`)
    assert.match(answer.headers['content-disposition']!, new RegExp(`filename="b${n}"`))
  }
})

test('deleting a file or blob returns 204 the first time and 404 the second time, and removes the content', async () => {
  const newEndpoint = await fixture.anEndpoint(app)
  await fixture.upload(newEndpoint, '/files/a', 'file')
  const { headers } = await fixture.upload(newEndpoint, '/binary-data', 'blob')
  const blob = headers.location!.replace('http://waypost.test', '')
  for (const url of [`${root}${newEndpoint.path}/files/a`, blob]) {
    assert.equal((await fixture.admin(`DELETE ${url}`)).status, 204)
    assert.equal((await fixture.admin(`DELETE ${url}`)).status, 404)
    assert.equal((await fixture.admin(`GET ${url}`)).status, 404)
  }
  await eventually(async () => {
    const [row] = await fixture.waypost.kit.db.sql`select count(*) from binary_data.leavings`
    assert.equal(row?.count, 0)
  })
  const { kept, summed } = await fixture.usage()
  assert.equal(kept, summed)
})

test('the responses for a missing item and for an item that the caller may not read are identical', async () => {
  const other = await fixture.anApplication('other')
  const ofOtherTenant = await fixture.anEndpoint(other, { tenantId: 'other' })
  await fixture.upload(ofOtherTenant, '/files/secret', 'secret')
  const { headers } = await fixture.upload(ofOtherTenant, '/binary-data', 'secret')
  const blobId = headers.location!.split('/').at(-1)!
  const withoutScopes = fixture.waypost.as(aCaller())
  for (const path of [
    '/files/secret',
    `/binary-data/${blobId}`,
    `/binary-data/${blobId}/data`,
    '/binary-data/data/last',
  ])
    for (const method of path.endsWith('data') || path.endsWith('last') ? ['GET'] : ['GET', 'DELETE']) {
      const url = `${root}${ofOtherTenant.path}${path}`
      const hidden = await fixture.admin(`${method} ${url}`)
      const hiddenToo = await withoutScopes(`${method} ${url}`)
      const missing = await fixture.adminOf('other')(`${method} ${url.replace(ofOtherTenant.endpointId, 'ep-none')}`)
      const otherTenant = await fixture.adminOf('other')(`${method} ${url.replace(other, app)}`)
      for (const answer of [hidden, hiddenToo, missing, otherTenant]) assert.equal(answer.status, 404, answer.text)
      const blank = (text: string) => text.replaceAll(ofOtherTenant.endpointId, 'ep-none').replaceAll(other, app)
      assert.equal(new Set([hidden, hiddenToo, missing, otherTenant].map(({ text }) => blank(text))).size, 1)
    }
  assert.equal((await fixture.adminOf('other')(`GET ${root}${ofOtherTenant.path}/files/secret`)).text, 'secret')
})

test('a download without endpoint:read and a deletion without endpoint:update get 403', async () => {
  const newEndpoint = await fixture.anEndpoint(app)
  await fixture.upload(newEndpoint, '/files/a', 'x')
  const url = `${root}${newEndpoint.path}/files/a`
  const on = (resource: string, ...scopes: string[]) => fixture.waypost.as(aCaller({ on: { [resource]: scopes } }))
  for (const resource of [`endpoint-${newEndpoint.endpointId}`, `application-${app}`, 'tenant-system']) {
    assert.equal((await on(resource, 'endpoint:read')(`GET ${url}`)).status, 200)
    assert.equal((await on(resource, 'endpoint:read')(`DELETE ${url}`)).status, 403)
  }
  assert.equal((await on('endpoint-other', 'endpoint:read')(`GET ${url}`)).status, 404)
  assert.equal((await on(`endpoint-${newEndpoint.endpointId}`, 'endpoint:update')(`DELETE ${url}`)).status, 204)
})

test('downloads without an access token are answered with 401', async () => {
  assert.equal((await fixture.waypost.as(undefined)(`GET ${file}`)).status, 401)
  assert.equal((await fixture.send(`GET ${file}`, { 'x-auth-token': await fixture.aToken(endpoint) })).status, 401)
})

/** Returns how many contents this process has open. */
const openContents = () =>
  readdirSync('/proc/self/fd').filter((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`).startsWith(fixture.waypost.kit.platform.blobs.directory)
    } catch {
      return false
    }
  }).length

test('over a real socket, GET returns the exact bytes, and HEAD returns no bytes', async () => {
  const bytes = bytesOf(3_000_000)
  await fixture.upload(endpoint, '/files/bytes', bytes)
  const url = `${root}${endpoint.path}/files/bytes`
  assert.deepEqual((await fixture.send(`GET ${url}`, asAdmin)).bytes, bytes)
  const part = await fixture.send(`GET ${url}`, { ...asAdmin, range: 'bytes=1000000-1999999' })
  assert.deepEqual(part.bytes, bytes.subarray(1_000_000, 2_000_000))
  const head = await fixture.send(`HEAD ${url}`, { ...asAdmin, range: 'bytes=0-9' })
  assert.deepEqual([head.status, head.headers['content-length'], head.bytes.length], [200, '3000000', 0])
})

test('a download keeps its content open after a deletion, and closes the content when the reader disconnects', async () => {
  await fixture.upload(endpoint, '/files/huge', bytesOf(30_000_000))
  const socket = connect(fixture.port, '127.0.0.1')
  socket.write(
    `GET ${root}${endpoint.path}/files/huge HTTP/1.1\r\nhost: x\r\nauthorization: ${asAdmin.authorization}\r\n\r\n`,
  )
  socket.once('data', () => socket.pause())
  await eventually(() => assert.equal(openContents(), 1))
  assert.equal((await fixture.admin(`DELETE ${root}${endpoint.path}/files/huge`)).status, 204)
  assert.equal(openContents(), 1)
  socket.destroy()
  await eventually(() => assert.equal(openContents(), 0))
})

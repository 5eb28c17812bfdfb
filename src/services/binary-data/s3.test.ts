/** Tests the service with an S3-compatible store. */
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { bytesOf, type Endpoint, openBinaryData, root } from '../../../test/harness/binary-data.ts'
import { eventually } from '../../../test/harness/eventually.ts'
import { openS3, type TestS3 } from '../../../test/harness/s3.ts'

let s3: TestS3
let fixture: Awaited<ReturnType<typeof openBinaryData>>
let endpoint: Endpoint
before(async () => {
  s3 = await openS3()
  const { origin, bucket, accessKey, secretKey } = s3.settings
  fixture = await openBinaryData({
    environment: {
      WAYPOST_S3_URL: `${origin}/${bucket}/blobs`,
      WAYPOST_S3_ACCESS_KEY: accessKey,
      WAYPOST_S3_SECRET_KEY: secretKey,
      WAYPOST_LOG_LEVEL: 'fatal',
    },
  })
  endpoint = await fixture.anEndpoint(await fixture.anApplication())
})

test('after uploads, overwrites, range reads and deletions the bucket contains exactly the stored items', async () => {
  const url = `${root}${endpoint.path}/files/a`
  await fixture.upload(endpoint, '/files/a', 'first')
  await fixture.upload(endpoint, '/files/a', '0123456789')
  assert.equal((await fixture.admin(`GET ${url}`)).text, '0123456789')
  assert.equal((await fixture.admin(`GET ${url}`, undefined, { range: 'bytes=3-5' })).text, '345')
  await eventually(() => assert.equal(s3.objects.size, 1))
  assert.match([...s3.objects.keys()][0]!, /^blobs\/[0-9a-f]{2}\/[0-9a-f]{2}\/[0-9a-f]{32}$/)
  assert.equal((await fixture.admin(`DELETE ${url}`)).status, 204)
  await eventually(() => assert.equal(s3.objects.size, 0))
})

test('a large upload is sent in parts, and an interrupted upload leaves no part in the store', async () => {
  async function* pieces() {
    for (let n = 0; n < 12; n++) yield bytesOf(1024 * 1024, n)
  }
  const headers = { 'x-auth-token': await fixture.aToken(endpoint) }
  assert.equal((await fixture.send(`POST ${root}/binary-data`, headers, pieces())).status, 201)
  assert.equal(s3.requests.filter((line) => line.includes('partNumber=')).length, 3)
  await assert.rejects(fixture.send(`POST ${root}/binary-data`, headers, breaking(pieces())), /broken/)
  await eventually(() => {
    assert.equal(s3.unfinished.size, 0)
    assert.equal(s3.objects.size, 1)
  })
})

/** Yields the pieces, and throws after the store has received the first part. */
async function* breaking(content: AsyncIterable<Uint8Array>) {
  let count = 0
  for await (const piece of content) {
    yield piece
    if (++count < 8) continue
    await eventually(() => assert.equal(s3.unfinished.size, 1))
    throw new Error('broken')
  }
}

test('an upload is rejected if the store fails, and leaves no item', async () => {
  s3.injectFailure = (request) => (request.startsWith('PUT') ? 500 : undefined)
  const headers = { 'x-auth-token': await fixture.aToken(endpoint) }
  assert.equal((await fixture.send(`POST ${root}/files/b`, headers, 'x')).status, 503)
  s3.injectFailure = () => undefined
  assert.equal((await fixture.admin(`GET ${root}${endpoint.path}/files/b`)).status, 404)
  assert.equal((await fixture.send(`POST ${root}/files/b`, headers, 'x')).status, 204)
})

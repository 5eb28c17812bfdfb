import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { connect } from 'node:net'
import { before, test } from 'node:test'
import { bytesOf, type Endpoint, openBinaryData, root } from '../../../test/harness/binary-data.ts'
import { aCaller } from '../../../test/harness/builders.ts'
import { eventually } from '../../../test/harness/eventually.ts'
import { tokensMax } from './service/tokens.ts'

let fixture: Awaited<ReturnType<typeof openBinaryData>>
let app: string
let endpoint: Endpoint
before(async () => {
  fixture = await openBinaryData()
  app = await fixture.anApplication()
  endpoint = await fixture.anEndpoint(app)
})

const sha256 = (bytes: Uint8Array | string) => createHash('sha256').update(bytes).digest('hex')
const digestOf = (text: string) => `sha-256=:${createHash('sha256').update(text).digest('base64')}:`

test('a blob is stored and its Location is the full link', async () => {
  const answer = await fixture.upload(endpoint, '/binary-data?name=photo.jpg', 'pixels')
  assert.equal(answer.status, 201)
  assert.equal(answer.text, '')
  const prefix = `http://waypost.test${root}${endpoint.path}/binary-data/`
  assert.ok(answer.headers.location?.startsWith(prefix), answer.headers.location)
  const path = answer.headers.location!.replace('http://waypost.test', '')
  const { body, status } = await fixture.admin(`GET ${path}`)
  assert.equal(status, 200)
  assert.deepEqual(Object.keys(body).sort(), ['createdDate', 'id', 'name', 'size', 'url'])
  assert.equal(body.name, 'photo.jpg')
  assert.equal(body.size, 6)
  assert.equal(body.url, `${answer.headers.location}/data`)
  assert.match(body.createdDate, /^\d{4}-.*Z$/)
})

test('only a caller who may update the endpoint gets an upload token for it', async () => {
  const path = `POST ${root}${endpoint.path}/upload-tokens`
  const { status, body } = await fixture.admin(path)
  assert.equal(status, 201)
  assert.ok(Date.parse(body.expiresDate) > Date.now())
  const headers = { 'x-auth-token': body.token }
  assert.equal((await fixture.send(`POST ${root}/files/by-hand.txt`, headers, 'by hand')).status, 204)
  assert.equal((await fixture.admin(`GET ${root}${endpoint.path}/files/by-hand.txt`)).text, 'by hand')
  const as = (on: Record<string, string[]>) => fixture.waypost.as(aCaller({ on }))
  const resource = `endpoint-${endpoint.endpointId}`
  assert.equal((await as({ [resource]: ['endpoint:read', 'endpoint:update'] })(path)).status, 201)
  assert.equal((await as({ [resource]: ['endpoint:read'] })(path)).status, 403)
  assert.equal((await as({ 'endpoint-other': ['endpoint:read', 'endpoint:update'] })(path)).status, 404)
  assert.equal((await fixture.adminOf('other')(path)).status, 404)
  const elsewhere = path.replace(app, await fixture.anApplication())
  assert.equal((await fixture.admin(elsewhere)).status, 404)
  assert.equal((await fixture.admin(path.replace(endpoint.endpointId, 'none'))).status, 404)
})

test('uploads and downloads are also served without the prefix /bcx/api/v1, and the Location has the prefix in both cases', async () => {
  const token = await fixture.aToken(endpoint)
  const answer = await fixture.send('POST /binary-data', { 'x-auth-token': token }, 'bare')
  assert.equal(answer.status, 201, answer.text)
  const link = answer.headers.location!
  assert.ok(link.startsWith(`http://waypost.test${root}/applications/`))
  const bare = link.replace(`http://waypost.test${root}`, '')
  assert.equal((await fixture.admin(`GET ${bare}`)).body.url, `${link}/data`)
  assert.equal((await fixture.admin(`GET ${bare}/data`)).text, 'bare')
  assert.equal((await fixture.send('POST /files/bare.txt', { 'x-auth-token': token }, 'x')).status, 204)
  assert.equal((await fixture.admin(`DELETE ${bare}`)).status, 204)
  assert.equal((await fixture.admin(`GET ${link.replace('http://waypost.test', '')}`)).status, 404)
})

test('uploads accept a doubled slash, any content type and an empty body', async () => {
  const token = await fixture.aToken(endpoint)
  const types = [
    undefined,
    'application/octet-stream',
    'application/json',
    'application/x-www-form-urlencoded',
    'text/plain; charset=utf-8',
  ]
  for (const type of types) {
    const headers = { 'x-auth-token': token, ...(type && { 'content-type': type }) }
    const answer = await fixture.send(`POST ${root}//files/typed`, headers, '{"no json')
    assert.equal(answer.status, 204, `${type}: ${answer.text}`)
    assert.equal((await fixture.admin(`GET ${root}/${endpoint.path}/files/typed`)).text, '{"no json')
  }
  assert.equal((await fixture.send(`POST ${root}/files/typed`, { 'x-auth-token': token })).status, 204)
  const empty = await fixture.admin(`GET ${root}${endpoint.path}/files/typed`)
  assert.equal(empty.status, 200)
  assert.equal(empty.text, '')
  assert.equal(empty.headers['content-length'], '0')
})

test('a blob without a name has its id as name', async () => {
  for (const query of ['', '?name=']) {
    const { headers } = await fixture.upload(endpoint, `/binary-data${query}`, 'x')
    const { body } = await fixture.admin(`GET ${headers.location!.replace('http://waypost.test', '')}`)
    assert.equal(body.name, body.id)
  }
})

test('overwriting a file replaces it completely and keeps its creation date', async () => {
  await fixture.upload(endpoint, '/files/config.json', 'the first content, which is long')
  const list = () => fixture.admin(`GET ${root}/applications/${app}/files?name=config.json`)
  const before = (await list()).body.content[0]
  await fixture.upload(endpoint, '/files/config.json', 'second')
  const { totalElements, content } = (await list()).body
  assert.equal(totalElements, 1)
  assert.equal(content[0].createdDate, before.createdDate)
  assert.ok(content[0].updatedDate >= before.updatedDate)
  assert.equal(content[0].size, 6)
  assert.equal((await fixture.admin(`GET ${root}${endpoint.path}/files/config.json`)).text, 'second')
})

test('a request for an upload token is rejected if the endpoint has requested too many tokens', async () => {
  const greedy = await fixture.anEndpoint(app)
  await fixture.aToken(greedy)
  await fixture.waypost.kit.db.sql`
    insert into binary_data.upload_tokens
    select 'greedy' || n, endpoint_id, tenant_id, application_name, issued_at, expires_at
    from binary_data.upload_tokens, generate_series(1, ${tokensMax - 2}) n where endpoint_id = ${greedy.endpointId}`
  await fixture.aToken(greedy)
  await assert.rejects(fixture.aToken(greedy), { status: 429, headers: { 'retry-after': '60' } })
  await fixture.aToken(endpoint)
  await fixture.waypost.kit.db.sql`
    update binary_data.upload_tokens set expires_at = issued_at where endpoint_id = ${greedy.endpointId}`
  await fixture.aToken(greedy)
})

test('an upload without a valid token always gets the same 403 and stores nothing', async () => {
  const other = await fixture.anEndpoint(app)
  const deletedToken = await fixture.aToken(other)
  assert.equal((await fixture.admin(`DELETE /epr/api/v1/endpoints/${other.endpointId}`)).status, 204)
  const texts = new Set<string>()
  const bad = [
    {},
    { 'x-auth-token': '' },
    { 'x-auth-token': 'x' },
    { 'x-auth-token': 'x'.repeat(5000) },
    { 'x-auth-token': deletedToken },
  ]
  for (const headers of bad)
    for (const path of ['/binary-data', '/files/forbidden.txt']) {
      const answer = await fixture.send(`POST ${root}${path}`, headers as Record<string, string>, 'x')
      assert.equal(answer.status, 403, answer.text)
      texts.add(answer.text)
    }
  assert.equal(texts.size, 1)
  assert.match([...texts][0]!, /"message":"The upload token/)
  const bearer = await fixture.admin(`POST ${root}/files/forbidden.txt`, 'x')
  assert.equal(bearer.status, 403)
  assert.equal((await fixture.admin(`GET ${root}/applications/${app}/files?name=forbidden`)).body.totalElements, 0)
})

test('invalid file names are answered with 400', async () => {
  const token = await fixture.aToken(endpoint)
  const bad = ['%2e%2e', '%2E', 'a%2Fb', 'a%5Cb', 'a%0Ab', 'a%00b', 'a%7F', 'x'.repeat(256), '..%2f..%2fetc%2fpasswd']
  for (const name of bad) {
    const answer = await fixture.send(`POST ${root}/files/${name}`, { 'x-auth-token': token }, 'x')
    assert.equal(answer.status, 400, `${name}: ${answer.status}`)
    assert.match(answer.text, /filename/)
  }
  const long = await fixture.send(`POST ${root}/binary-data?name=${'x'.repeat(256)}`, { 'x-auth-token': token }, 'x')
  assert.equal(long.status, 400)
  assert.match(long.text, /name/)
  assert.equal((await fixture.send(`POST ${root}/files/`, { 'x-auth-token': token }, 'x')).status, 404)
})

test('any valid file name is returned unchanged', async () => {
  const names = [
    'ünïcödé 文件.txt',
    'a b+c&d=e?f#g.txt',
    'it\'s "quoted".txt',
    '%2e%2e',
    '...',
    'CON',
    '-rf',
    'x'.repeat(255),
    '🚀',
  ]
  for (const name of names) {
    await fixture.upload(endpoint, `/files/${encodeURIComponent(name)}`, name)
    const { body } = await fixture.admin(`GET ${root}/applications/${app}/files?name=${encodeURIComponent(name)}`)
    assert.ok(
      body.content.some((file: { name: string }) => file.name === name),
      name,
    )
    const url = body.content.find((file: { name: string }) => file.name === name).url.replace('http://waypost.test', '')
    const answer = await fixture.admin(`GET ${url}`)
    assert.equal(answer.text, name)
    const [, real] = /filename\*=UTF-8''(\S+)$/.exec(answer.headers['content-disposition']!)!
    assert.equal(decodeURIComponent(real!), name)
  }
})

test('an upload of a part of a file is rejected, so that the part does not replace the whole file', async () => {
  const token = await fixture.aToken(endpoint)
  const send = (content: string, range: string) =>
    fixture.send(`POST ${root}/files/parts`, { 'x-auth-token': token, 'content-range': range }, content)
  assert.equal((await send('hello', 'bytes 0-4/5')).status, 204)
  for (const range of ['bytes 0-1/5', 'bytes 3-4/5', 'bytes 0-1/*', 'bytes */5', 'items 0-4/5']) {
    const { status, text } = await send('he', range)
    assert.equal(status, 400, range)
    assert.match(text, /Content-Range/)
  }
  assert.equal((await fixture.admin(`GET ${root}${endpoint.path}/files/parts`)).text, 'hello')
})

test('an upload whose bytes do not match its Content-Digest is rejected', async () => {
  await fixture.upload(endpoint, '/files/digest', 'right', { 'content-digest': digestOf('right') })
  await fixture.upload(endpoint, '/files/digest', 'right', { 'repr-digest': `md5=:AAAA:, ${digestOf('right')}` })
  await fixture.upload(endpoint, '/files/digest', 'right', { 'content-digest': 'sha-512=:AAAA:' })
  const token = await fixture.aToken(endpoint)
  for (const digest of [digestOf('wrong'), 'sha-256=:x:', 'sha-256=abc']) {
    const headers = { 'x-auth-token': token, 'content-digest': digest }
    const answer = await fixture.send(`POST ${root}/files/digest`, headers, 'wrong?')
    assert.equal(answer.status, 400, digest)
    assert.match(answer.text, /Content-Digest/)
  }
  assert.equal((await fixture.admin(`GET ${root}${endpoint.path}/files/digest`)).text, 'right')
})

test('an upload of fifty megabytes without a length is streamed', async () => {
  const piece = bytesOf(1024 * 1024)
  const token = await fixture.aToken(endpoint)
  async function* pieces() {
    for (let n = 0; n < 50; n++) yield piece
  }
  const answer = await fixture.send(`POST ${root}/binary-data?name=large`, { 'x-auth-token': token }, pieces())
  assert.equal(answer.status, 201, answer.text)
  const hash = createHash('sha256')
  for (let n = 0; n < 50; n++) hash.update(piece)
  assert.equal(answer.headers.etag, `"${hash.digest('hex')}"`)
  const { body } = await fixture.admin(`GET ${root}/applications/${app}/binary-data/list?name=large`)
  assert.equal(body.content[0].size, 50 * 1024 * 1024)
})

const uploadsUnderWay = async () =>
  (await fixture.waypost.kit.db.sql`select content_key from binary_data.uploads`).length +
  (await fixture.waypost.kit.db.sql`select content_key from binary_data.leavings`).length

test('after an interrupted upload, the old file is unchanged, and no other content remains', async () => {
  await fixture.upload(endpoint, '/files/broken', 'whole')
  const token = await fixture.aToken(endpoint)
  const socket = connect(fixture.port, '127.0.0.1')
  socket.write(
    `POST ${root}/files/broken HTTP/1.1\r\nhost: x\r\nx-auth-token: ${token}\r\ncontent-length: 1000000\r\n\r\nhalf`,
  )
  await eventually(async () => assert.equal(await uploadsUnderWay(), 1))
  socket.destroy()
  await eventually(async () => assert.equal(await uploadsUnderWay(), 0))
  assert.equal((await fixture.admin(`GET ${root}${endpoint.path}/files/broken`)).text, 'whole')
  const chunked = connect(fixture.port, '127.0.0.1')
  chunked.write(
    `POST ${root}/files/broken HTTP/1.1\r\nhost: x\r\nx-auth-token: ${token}\r\ntransfer-encoding: chunked\r\n\r\n4\r\nhalf\r\nnonsense`,
  )
  await new Promise((closed) => chunked.on('close', closed).resume())
  await eventually(async () => assert.equal(await uploadsUnderWay(), 0))
  assert.equal((await fixture.admin(`GET ${root}${endpoint.path}/files/broken`)).text, 'whole')
})

test('an upload with Expect: 100-continue is rejected before the client sends the body', async () => {
  const ask = (token: string) =>
    new Promise<string>((resolve) => {
      const socket = connect(fixture.port, '127.0.0.1')
      let text = ''
      socket.on('data', (data) => {
        text += data
        if (text.endsWith('100 Continue\r\n\r\n')) socket.write('12345')
        if (text.includes('HTTP/1.1 204')) socket.end()
      })
      socket.on('close', () => resolve(text))
      socket.write(
        `POST ${root}/files/asked HTTP/1.1\r\nhost: x\r\nx-auth-token: ${token}\r\nexpect: 100-continue\r\ncontent-length: 5\r\n\r\n`,
      )
    })
  const rejected = await ask('wrong')
  assert.match(rejected, /^HTTP\/1\.1 403/)
  assert.match(rejected, /connection: close/i)
  assert.match(await ask(await fixture.aToken(endpoint)), /^HTTP\/1\.1 100 Continue[\s\S]*HTTP\/1\.1 204/)
})

test('a client that continues to send after the rejection receives the response', async () => {
  async function* endless() {
    for (let n = 0; n < 64; n++) yield bytesOf(1024 * 1024, n)
  }
  const answer = await fixture.send(`POST ${root}/files/endless`, { 'x-auth-token': 'wrong' }, endless())
  assert.equal(answer.status, 403)
})

test('after concurrent uploads with the same name, the file has the complete content of one upload', async () => {
  const token = await fixture.aToken(endpoint)
  const bodies = Array.from({ length: 10 }, (_, n) => String(n).repeat(200_000 + n))
  const sums = new Set(bodies.map(sha256))
  await fixture.upload(endpoint, '/files/raced', bodies[0]!)
  let writing = true
  const reading = (async () => {
    let count = 0
    for (; writing; count++) {
      const answer = await fixture.admin(`GET ${root}${endpoint.path}/files/raced`)
      assert.equal(answer.status, 200)
      assert.ok(sums.has(sha256(answer.text)))
      assert.equal(answer.headers.etag, `"${sha256(answer.text)}"`)
    }
    return count
  })()
  for (let round = 0; round < 3; round++)
    await Promise.all(
      bodies.map(async (body) => {
        const answer = await fixture.send(`POST ${root}/files/raced`, { 'x-auth-token': token }, body)
        assert.equal(answer.status, 204, answer.text)
      }),
    )
  writing = false
  assert.ok((await reading) > 0)
  await eventually(async () => assert.equal(await uploadsUnderWay(), 0))
  const { kept, summed } = await fixture.usage()
  assert.equal(kept, summed)
})

test('an endpoint has a limited number of concurrent uploads', async () => {
  const token = await fixture.aToken(endpoint)
  const sockets = Array.from({ length: 16 }, (_, n) => {
    const socket = connect(fixture.port, '127.0.0.1')
    socket.write(
      `POST ${root}/files/slow-${n} HTTP/1.1\r\nhost: x\r\nx-auth-token: ${token}\r\ncontent-length: 10\r\n\r\nhalf`,
    )
    return socket
  })
  await eventually(async () => assert.equal(await uploadsUnderWay(), 16))
  const answer = await fixture.send(`POST ${root}/files/one-more`, { 'x-auth-token': token }, 'x')
  assert.equal(answer.status, 429, answer.text)
  assert.equal(answer.headers['retry-after'], '5')
  for (const socket of sockets) socket.destroy()
  await eventually(async () => assert.equal(await uploadsUnderWay(), 0))
  assert.equal((await fixture.send(`POST ${root}/files/one-more`, { 'x-auth-token': token }, 'x')).status, 204)
})

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, request } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { Readable } from 'node:stream'
import { before, test } from 'node:test'
import { eventually } from '../../../test/harness/eventually.ts'
import { openTestPlatform } from '../../../test/harness/test-platform.ts'
import { sleep } from '../clock.ts'
import { contract } from '../contract.ts'
import { defineService } from '../define-service.ts'
import { Bytes, Empty, JsonObject, Type } from '../schema.ts'
import type { Http } from './routes.ts'
import { limitReadTime } from './streaming.ts'

let port: number
let failure: unknown
let open = () => {}
let unpaused = Promise.resolve()

function routes(http: Http) {
  const config = { scope: 'none', streamBody: true }
  const response = { 200: JsonObject() }
  http.post(
    '/count',
    { schema: { name: 'counts.create', summary: 'Count bytes', body: Bytes(), response }, config },
    async ({ body }) => {
      let [bytes, pieces] = [0, 0]
      try {
        for await (const piece of body) {
          bytes += piece.length
          pieces++
          await unpaused
        }
      } catch (error) {
        failure = error
        throw error
      }
      return { bytes, pieces }
    },
  )
  http.post(
    '/first',
    { schema: { name: 'firsts.create', summary: 'Read the first byte', body: Bytes(), response }, config },
    async ({ body }) => {
      for await (const piece of body) return { first: piece[0] }
      return {}
    },
  )
  http.post(
    '/json',
    {
      schema: { name: 'json.create', summary: 'Take JSON', body: Type.Object({}), response: { 204: Empty() } },
      config: { scope: 'none' },
    },
    (_, reply) => reply.code(204).send(),
  )
  http.get(
    '/bytes',
    {
      schema: { name: 'bytes.download', summary: 'Download bytes', response: { 200: Bytes() } },
      config: { scope: 'none' },
    },
    (_, reply) => reply.type('application/octet-stream').send(Buffer.from([0, 255])),
  )
}

const service = defineService({
  name: 'test',
  provides: contract<object>('test'),
  build: () => ({
    api: {},
    http: [
      { name: 'binary', title: 'Bytes', roots: ['/bcx/api/v1'], routes },
      { name: 'binary', roots: ['/elsewhere'], routes },
    ],
  }),
})

before(async () => {
  const platform = await openTestPlatform({ services: [service] })
  await platform.http.app.listen({ host: '127.0.0.1', port: 0 })
  port = (platform.http.app.server.address() as AddressInfo).port
})

const post = (path: string, headers: Record<string, string> = {}) =>
  request({ host: '127.0.0.1', port, method: 'POST', path: `/bcx/api/v1${path}`, headers })
const responseOf = async (outgoing: ReturnType<typeof post>) => {
  const [incoming] = await once(outgoing, 'response')
  let text = ''
  for await (const piece of incoming) text += piece
  return { status: incoming.statusCode as number, body: text === '' ? undefined : JSON.parse(text) }
}

test('a body is read only as fast as the handler consumes it', async () => {
  unpaused = new Promise((resolve) => (open = resolve))
  const outgoing = post('/count')
  let sent = 0
  const piece = Buffer.alloc(64 * 1024)
  let stopped = false
  const sending = (async () => {
    while (!stopped && sent < 256 * 1024 * 1024) {
      sent += piece.length
      if (!outgoing.write(piece)) await once(outgoing, 'drain')
    }
    outgoing.end()
  })()
  let before = -1
  await eventually(
    async () => {
      await sleep(200)
      const still = sent === before
      before = sent
      assert.ok(still)
    },
    { withinMs: 20_000 },
  )
  // The buffers of two sockets and of the streams have less than 32 MiB.
  assert.ok(sent < 32 * 1024 * 1024, `the client sent ${sent} bytes, although the handler did not read`)
  stopped = true
  open()
  await sending
  assert.deepEqual((await responseOf(outgoing)).body.bytes, sent)
})

test('a request with a JSON body that is too large gets its response before the body is sent, and the connection stays usable', async () => {
  const length = 2_000_000
  const head = (bytes: number) =>
    `POST /bcx/api/v1/json HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: ${bytes}\r\n\r\n`
  const socket = connect(port, '127.0.0.1')
  let text = ''
  socket.on('data', (piece) => (text += piece))
  socket.write(`${head(length)}[`)
  await eventually(() => assert.match(text, /^HTTP\/1\.1 413 /))
  assert.doesNotMatch(text, /connection: close/i)
  socket.write(Buffer.alloc(length - 1))
  socket.write(`${head(2)}{}`)
  await eventually(() => assert.match(text, /HTTP\/1\.1 204 /))
  socket.destroy()
})

test('a streamed body may have any content type, exceed the limit of JSON bodies, or be empty', async () => {
  for (const type of ['application/json', 'text/plain', 'x/y', ';;;']) {
    const outgoing = post('/count', { 'content-type': type })
    outgoing.end(Buffer.alloc(3_000_000))
    assert.equal((await responseOf(outgoing)).body.bytes, 3_000_000)
  }
  const empty = post('/count')
  empty.end()
  assert.deepEqual((await responseOf(empty)).body, { bytes: 0, pieces: 0 })
  const json = post('/json', { 'content-type': 'text/plain' })
  json.end('{}')
  assert.equal((await responseOf(json)).status, 415)
})

test('a response that is sent before the end of the body arrives, and the connection can be reused', async () => {
  const socket = connect(port, '127.0.0.1')
  let text = ''
  socket.on('data', (data) => (text += data))
  const head = 'POST /bcx/api/v1/first HTTP/1.1\r\nhost: x\r\ncontent-length: 200000\r\n\r\n'
  socket.write(head + 'a'.repeat(100_000))
  await eventually(() => assert.match(text, /"first":97/))
  socket.write('b'.repeat(100_000) + head.replace('200000', '1') + 'c')
  await eventually(() => assert.match(text, /"first":99/))
  socket.destroy()
})

test('an interrupted body is logged as a 400, not as a 500', async () => {
  const socket = connect(port, '127.0.0.1')
  socket.write('POST /bcx/api/v1/count HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\nabc')
  await sleep(50)
  failure = undefined
  socket.destroy()
  await eventually(() => assert.equal((failure as { code?: string }).code, 'body_interrupted'))
})

test('a response that the client does not read is aborted; a response that is sent slowly or read slowly is not aborted', async () => {
  const piece = Buffer.alloc(256 * 1024)
  const ended = Promise.withResolvers<string>()
  const server = createServer((incoming, response) => {
    limitReadTime(response, 100)
    const endless = Readable.from(
      (async function* () {
        // The loop takes longer than the time limit, but the client has read all data that was sent.
        for (let round = 0; incoming.url === '/slow' && round < 5; round++) {
          yield Buffer.from('x')
          await sleep(60)
        }
        while (incoming.url === '/unread') yield piece
      })(),
    )
    endless.pipe(response)
    response.once('close', () => {
      endless.destroy()
      if (incoming.url === '/unread') ended.resolve('closed')
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port: serverPort } = server.address() as AddressInfo
  const slow = request({ host: '127.0.0.1', port: serverPort, path: '/slow', agent: false })
  slow.end()
  const [answer] = await once(slow, 'response')
  const socket = connect(serverPort, '127.0.0.1')
  socket.on('error', () => {})
  socket.pause()
  socket.write('GET /unread HTTP/1.1\r\nhost: x\r\n\r\n')
  let text = ''
  for await (const some of answer) text += some
  assert.equal(text, 'xxxxx')
  assert.equal(await ended.promise, 'closed')
  socket.destroy()
  server.close()
})

test('"100 Continue" is sent when the server begins to read the body, even a JSON body', async () => {
  for (const path of ['/count', '/json']) {
    const outgoing = post(path, { expect: '100-continue', 'content-type': 'application/json', 'content-length': '2' })
    outgoing.flushHeaders()
    await once(outgoing, 'continue')
    outgoing.end('{}')
    assert.ok((await responseOf(outgoing)).status < 300)
  }
})

test('bytes are sent unchanged, and the same routes can be mounted at several roots', async () => {
  for (const root of ['/bcx/api/v1', '/elsewhere']) {
    const bytes = await (await fetch(`http://127.0.0.1:${port}${root}/bytes`)).arrayBuffer()
    assert.deepEqual([...new Uint8Array(bytes)], [0, 255])
  }
})

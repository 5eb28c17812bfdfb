import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import { connect as connectSecurely } from 'node:tls'
import { type FastifyInstance, fastify } from 'fastify'
import { afterAllTests } from '../../../test/harness/database.ts'
import { eventually } from '../../../test/harness/eventually.ts'
import { aServerCertificate } from '../../../test/harness/server-certificate.ts'
import { sleep } from '../clock.ts'
import { createLog } from '../log.ts'
import { createUnreadResponses, sendInSlices } from './unread-responses.ts'

const megabyte = 1024 * 1024
const log = await createLog({ level: 'silent', format: 'json' })
const text = 'x'.repeat(8 * megabyte)
const short = 'y'.repeat(4000)

async function* endless() {
  for (;;) {
    yield Buffer.alloc(64 * 1024, 'x')
    await sleep(5)
  }
}
async function* lateEnd() {
  yield '['
  await sleep(1500)
  yield ']'
}

async function aServer({
  bytesMax = 1000 * megabyte,
  stallMs = 60_000,
  https = undefined as { cert: string; key: string } | undefined,
} = {}) {
  const unread = createUnreadResponses(log, { bytesMax, stallMs })
  const app = (https ? fastify({ https }) : fastify()) as unknown as FastifyInstance
  app.addHook('onSend', (_, reply, payload, done) => {
    unread.count(reply, payload)
    done(null, payload)
  })
  app.get('/large', { onSend: [sendInSlices] }, (_, reply) => reply.type('application/json').send(text))
  app.get('/short', { onSend: [sendInSlices] }, (_, reply) => reply.type('application/json').send(short))
  app.get('/list', (_, reply) => reply.type('application/json').send(Readable.from(endless())))
  app.get('/late', (_, reply) => reply.type('application/json').send(Readable.from(lateEnd())))
  await app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = app.server.address() as AddressInfo
  const sockets: Socket[] = []
  afterAllTests(async () => {
    for (const socket of sockets) socket.destroy()
    await app.close()
  })
  async function reader(paths: string[]) {
    const socket = https
      ? connectSecurely({ port, host: '127.0.0.1', rejectUnauthorized: false })
      : connect({ port, host: '127.0.0.1' })
    sockets.push(socket)
    socket.on('error', () => {})
    await once(socket, https ? 'secureConnect' : 'connect')
    socket.pause()
    socket.write(paths.map((path) => `GET ${path} HTTP/1.1\r\nhost: x\r\n\r\n`).join(''))
    return socket
  }
  return { unread, reader, url: `http://127.0.0.1:${port}` }
}

/** Returns whether the server has closed the connection. The client reads what has arrived until then. */
async function isClosed(socket: Socket) {
  socket.on('data', () => {})
  socket.resume()
  await Promise.race([once(socket, 'close'), new Promise((resolve) => setTimeout(resolve, 2000))])
  return socket.destroyed
}

for (const kind of ['HTTP', 'HTTPS'])
  test(`a large response over ${kind} that the client does not read is ended; a response that the client reads slowly arrives`, async () => {
    const https = kind === 'HTTPS' ? await aServerCertificate(['localhost']) : undefined
    const { unread, reader } = await aServer({ stallMs: 300, https })
    const [silent, slow] = [await reader(['/large']), await reader(['/large'])]
    let received = 0
    slow.on('data', (data) => (received += data.length))
    const pauses = setInterval(() => (slow.isPaused() ? slow.resume() : slow.pause()), 40)
    await eventually(() => assert.ok(received > text.length, `${received} bytes`), { withinMs: 20_000 })
    clearInterval(pauses)
    await eventually(() => assert.equal(unread.bytes, 0))
    assert.ok(await isClosed(silent))
  })

test('many clients that read nothing hold a limited number of bytes, and do not affect a client that reads', async () => {
  const { unread, reader, url } = await aServer({ bytesMax: 40 * megabyte })
  const silent: Socket[] = []
  for (let n = 0; n < 20; n++) silent.push(await reader(['/large']))
  await eventually(() => assert.ok(unread.bytes > 20 * megabyte && unread.bytes <= 40 * megabyte, `${unread.bytes}`))
  const answers = await Promise.all([1, 2, 3].map(async () => (await fetch(`${url}/large`)).text()))
  assert.deepEqual(
    answers.map(({ length }) => length),
    [text.length, text.length, text.length],
  )
  const closed = await Promise.all(silent.map(isClosed))
  assert.ok(closed.filter(Boolean).length >= 15, `${closed.filter(Boolean).length} closed`)
})

test('a streamed list counts towards the limit while its client reads nothing; lists of clients that read are sent completely', async () => {
  const { unread, reader, url } = await aServer({ bytesMax: 15 * megabyte, stallMs: 1000 * 60 })
  const late = fetch(`${url}/late`).then((answer) => answer.text())
  const [reading, ...silent] = await Promise.all(Array.from({ length: 12 }, () => reader(['/list'])))
  reading!.on('data', () => {})
  reading!.resume()
  await eventually(() => assert.ok(unread.bytes >= 12 * megabyte), { withinMs: 10_000 })
  await sleep(1500)
  assert.ok(unread.bytes <= 15 * megabyte, `${unread.bytes} bytes`)
  assert.ok(!reading!.destroyed)
  const closed = await Promise.all(silent.map(isClosed))
  assert.ok(closed.filter(Boolean).length >= 4, `${closed.filter(Boolean).length} closed`)
  assert.equal(await late, '[]')
})

test('short responses that wait behind an unread response are counted, until their connection closes', async () => {
  const { unread, reader } = await aServer()
  const socket = await reader(['/large', ...Array.from({ length: 200 }, () => '/short')])
  await eventually(() => assert.ok(unread.bytes >= text.length + 100 * short.length, `${unread.bytes}`))
  socket.destroy()
  await eventually(() => assert.equal(unread.bytes, 0))
})

test('a response in slices has its length and arrives complete', async () => {
  const { url } = await aServer()
  const answer = await fetch(`${url}/large`)
  assert.equal(answer.headers.get('content-length'), String(text.length))
  assert.equal((await answer.text()).length, text.length)
  const head = await fetch(`${url}/large`, { method: 'HEAD' })
  assert.equal(head.headers.get('content-length'), String(text.length))
})

import assert from 'node:assert/strict'
import { lookup } from 'node:dns/promises'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { networkInterfaces } from 'node:os'
import { test } from 'node:test'
import { fastify } from 'fastify'
import { afterAllTests } from '../../../test/harness/database.ts'
import { eventually } from '../../../test/harness/eventually.ts'
import { noProxy } from '../client-address.ts'
import { createLog } from '../log.ts'
import { createListeners } from './listeners.ts'

const hasIPv6 = Object.values(networkInterfaces()).some((all) => all?.some(({ address }) => address === '::1'))
const options = { skip: !hasIPv6 && 'this machine has no ::1' }
const both = ['127.0.0.1', '::1']
const sockets: Socket[] = []

async function anApp({ max = 100, perAddress = 100, graceMs = 0, headersTimeout = 15_000, port = 0 } = {}) {
  const events: string[] = []
  const note = (what: string) => (reason: string, address: string) => void events.push(`${what} ${reason} ${address}`)
  const share = { max, perAddress, open: 0, refused: note('refused'), evicted: note('evicted') }
  const listeners = createListeners({
    connections: { share, perAddress, graceMs },
    isProxy: noProxy,
    log: await createLog({ level: 'silent', format: 'json' }),
    acceptFailed: (error) => void events.push(`accept ${error.message}`),
    headersTimeout,
  })
  const app = fastify({ serverFactory: listeners.serverFactory })
  app.get('/', async () => 'done')
  app.post('/', async () => 'taken')
  app.server.on('upgrade', (request, socket) => socket.end(`HTTP/1.1 101 Switching\r\n\r\n${request.url}`))
  await listeners.listen(app as never, { host: 'localhost', port })
  const close = async () => {
    listeners.closeAll()
    await Promise.all([app.close(), listeners.close()])
  }
  afterAllTests(() => {
    for (const socket of sockets) socket.destroy()
    return close()
  })
  const open = { port: (app.server.address() as AddressInfo).port }
  return {
    ...open,
    share,
    events,
    close,
    listeners,
    app,
    async client(host: string, text = '') {
      const socket = connect({ port: open.port, host })
      const read: string[] = []
      socket.on('data', (data) => read.push(String(data)))
      socket.on('error', () => {})
      sockets.push(socket)
      await once(socket, 'connect')
      if (text) socket.write(text)
      return { read: () => read.join(''), isOpen: () => !socket.closed && !socket.readableEnded }
    },
  }
}

const request = (first: string, ...headers: string[]) => [first, 'Host: x', ...headers, '', ''].join('\r\n')

test('localhost listens on 127.0.0.1 and ::1, which share the limits', options, async () => {
  const { client, share, events } = await anApp({ max: 2, perAddress: 1 })
  for (const host of both) {
    const { read } = await client(host, request('GET / HTTP/1.1'))
    await eventually(() => assert.match(read(), /done$/))
  }
  assert.equal(share.open, 2)
  for (const host of both) {
    const { read } = await client(host, request('GET / HTTP/1.1'))
    await eventually(() => assert.match(read(), /done$/))
  }
  assert.equal(share.open, 2)
  assert.deepEqual(events, ['evicted address 127.0.0.1', 'evicted address ::1'])
})

for (const host of both)
  test(`at ${host} a connection without a request or with slow headers is closed`, options, async () => {
    const { client, share } = await anApp({ headersTimeout: 300 })
    const silent = await client(host)
    const slow = await client(host, 'GET / HTTP/1.1\r\nHost:')
    await eventually(() => assert.ok(!silent.isOpen() && !slow.isOpen()))
    assert.match(slow.read(), /^HTTP\/1\.1 408 /)
    await eventually(() => assert.equal(share.open, 0))
  })

for (const host of both)
  test(
    `at ${host} upgrades to WebSocket, offers of HTTP/2, 100-continue and malformed requests get the answers of the application`,
    options,
    async () => {
      const { client } = await anApp()
      const upgraded = await client(host, request('GET /there HTTP/1.1', 'Connection: Upgrade', 'Upgrade: WebSocket'))
      await eventually(() => assert.match(upgraded.read(), /^HTTP\/1\.1 101 .*\/there$/s))
      const offers = ['Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c', 'HTTP2-Settings: AAMAAABkAAQAAP__']
      const ignored = await client(host, request('GET / HTTP/1.1', ...offers))
      await eventually(() => assert.match(ignored.read(), /^HTTP\/1\.1 200 .*done$/s))
      const withBody = await client(
        host,
        `${request('POST / HTTP/1.1', ...offers, 'Content-Length: 2', 'Content-Type: application/json')}{}`,
      )
      await eventually(() => assert.match(withBody.read(), /^HTTP\/1\.1 200 .*taken$/s))
      const malformed = await client(host, 'nonsense\r\n\r\n')
      // The text shows that Fastify responded, because Node.js responds without a body.
      await eventually(() => assert.match(malformed.read(), /^HTTP\/1\.1 400 .*"message":"Client Error"/s))
      const refused = await client(host, request('PUT / HTTP/1.1', 'Expect: 100-continue', 'Content-Length: 5'))
      await eventually(() => assert.match(refused.read(), /^HTTP\/1\.1 404 /))
    },
  )

test('both servers and their idle connections are closed with the application', options, async () => {
  const { client, listeners, app, port } = await anApp()
  const clients = await Promise.all(both.map((host) => client(host, request('GET / HTTP/1.1'))))
  for (const { read } of clients) await eventually(() => assert.match(read(), /done$/))
  const closed = Promise.all([app.close(), listeners.close()])
  listeners.closeIdle()
  await closed
  for (const { isOpen } of clients) await eventually(() => assert.ok(!isOpen()))
  for (const host of both) {
    const [error] = (await once(connect({ port, host }), 'error')) as [NodeJS.ErrnoException]
    assert.equal(error.code, 'ECONNREFUSED')
  }
})

test('if another program uses one of the two addresses, the server listens on the other address', options, async () => {
  const other = createServer((socket) => socket.end('another program'))
  afterAllTests(() => void other.close())
  const { address: first } = await lookup('localhost')
  other.listen({ host: both.find((address) => address !== first)!, port: 0 })
  await once(other, 'listening')
  const { client } = await anApp({ port: (other.address() as AddressInfo).port })
  const { read } = await client(first, request('GET / HTTP/1.1'))
  await eventually(() => assert.match(read(), /done$/))
})

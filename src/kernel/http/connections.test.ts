import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { test } from 'node:test'
import { afterAllTests } from '../../../test/harness/database.ts'
import { eventually } from '../../../test/harness/eventually.ts'
import { type IsProxy, noProxy } from '../client-address.ts'
import { createConnectionLimit, leaveHttp } from './connections.ts'

const slowBodies = { windowMs: 250, bytesPerSecond: 4096 }

async function aServer({ max = 100, perAddress = 100, graceMs = 0, isProxy = noProxy as IsProxy } = {}) {
  const events: string[] = []
  const note = (what: string) => (reason: string, address: string) => void events.push(`${what} ${reason} ${address}`)
  const share = { max, perAddress, open: 0, refused: note('refused'), evicted: note('evicted') }
  const waiting: ServerResponse[] = []
  const requests: IncomingMessage[] = []
  const server = createServer((request, response) => {
    requests.push(request)
    if (request.url === '/body') request.resume().on('end', () => response.end('done'))
    else if (request.url === '/unread') request.once('readable', () => {})
    else if (request.url === '/slow') waiting.push(response)
    else response.end('done')
  })
  server.on('upgrade', (_, socket) => {
    leaveHttp(socket)
    socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n')
  })
  createConnectionLimit({ share, perAddress, graceMs, slowBodies }, isProxy)(server)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const sockets: Socket[] = []
  afterAllTests(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
    server.closeAllConnections()
  })
  return {
    share,
    events,
    waiting,
    requests,
    /** Opens a connection, sends the text and collects the received data. */
    async client(text = '', localAddress = '127.0.0.1') {
      const socket = connect({ port, host: '127.0.0.1', localAddress })
      const read: string[] = []
      socket.on('data', (data) => read.push(String(data)))
      socket.on('error', () => {})
      sockets.push(socket)
      await once(socket, 'connect')
      if (text) socket.write(text)
      return { socket, read: () => read.join(''), isOpen: () => !socket.closed && !socket.readableEnded }
    },
  }
}

const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`

test('at the limit of an address, a new connection replaces the oldest idle connection, and is refused if all connections are busy', async () => {
  const { client, share, events, waiting } = await aServer({ perAddress: 3 })
  const busy = await client(get('/slow'))
  const [silent, used] = [await client(), await client(get('/'))]
  await eventually(() => assert.ok(waiting.length === 1 && used.read().includes('done')))
  const fourth = await client(get('/slow'))
  await eventually(() => assert.ok(!silent.isOpen() && waiting.length === 2))
  const fifth = await client(get('/slow'))
  await eventually(() => assert.ok(!used.isOpen() && waiting.length === 3))
  const refused = await client(get('/'))
  await eventually(() => assert.ok(!refused.isOpen()))
  assert.match(refused.read(), /^(|HTTP\/1\.1 503 .*Retry-After: 1.*Too many connections from this address"})$/s)
  assert.ok(busy.isOpen() && fourth.isOpen() && fifth.isOpen())
  const other = await client(get('/'), '127.0.0.2')
  await eventually(() => assert.match(other.read(), /done$/))
  assert.deepEqual(events, ['evicted address 127.0.0.1', 'evicted address 127.0.0.1', 'refused address 127.0.0.1'])
  assert.equal(share.open, 4)
})

test('a connection whose client still has time to send its first request is not replaced: the next connection is refused', async () => {
  const { client, events } = await aServer({ perAddress: 1, graceMs: 60_000 })
  const first = await client()
  const second = await client()
  await eventually(() => assert.ok(!second.isOpen()))
  first.socket.write(get('/'))
  await eventually(() => assert.match(first.read(), /done$/))
  assert.deepEqual(events, ['refused address 127.0.0.1'])
})

test('the total number of connections is limited for all addresses together', async () => {
  const { client, events, share } = await aServer({ max: 2 })
  const [first] = [await client(), await client('', '127.0.0.2')]
  const third = await client(get('/'), '127.0.0.3')
  await eventually(() => assert.match(third.read(), /done$/))
  assert.ok(!first.isOpen())
  assert.deepEqual(events, ['evicted total 127.0.0.3'])
  assert.equal(share.open, 2)
})

test('at the total limit, a connection of the address with the most connections is closed, so that other addresses can connect', async () => {
  const { client, events, share } = await aServer({ max: 6, perAddress: 3, graceMs: 60_000 })
  const attackers = []
  for (const address of ['127.0.0.1', '127.0.0.2'])
    for (let i = 0; i < 3; i++) attackers.push(await client('', address))
  const other = await client(get('/'), '127.0.0.3')
  await eventually(() => assert.match(other.read(), /done$/))
  assert.ok(!attackers[0]!.isOpen())
  const another = await client(get('/'), '127.0.0.4')
  await eventually(() => assert.match(another.read(), /done$/))
  assert.equal(attackers.filter(({ isOpen }) => isOpen()).length, 4)
  assert.ok(other.isOpen())
  assert.deepEqual(events, ['evicted total 127.0.0.3', 'evicted total 127.0.0.4'])
  // With this connection, 127.0.0.1 would have three connections. No address has more connections, so the new connection is refused.
  const fifth = await client(get('/'), '127.0.0.1')
  await eventually(() => assert.ok(!fifth.isOpen()))
  assert.deepEqual(events.slice(2), ['refused total 127.0.0.1'])
  assert.equal(share.open, 6)
})

test('busy connections are never closed for new connections, even if one address has all busy connections', async () => {
  const { client, events, waiting } = await aServer({ max: 2 })
  const busy = [await client(get('/slow')), await client(get('/slow'))]
  await eventually(() => assert.equal(waiting.length, 2))
  const other = await client(get('/'), '127.0.0.2')
  await eventually(() => assert.ok(!other.isOpen()))
  assert.deepEqual(events, ['refused total 127.0.0.2'])
  for (const response of waiting) response.end('done')
  for (const { read } of busy) await eventually(() => assert.match(read(), /done$/))
})

test('a trusted proxy has no limit per address', async () => {
  const isProxy: IsProxy = (address) => address === '127.0.0.1'
  const { client, share, events } = await aServer({ perAddress: 1, isProxy })
  for (let i = 0; i < 5; i++) await client()
  await eventually(() => assert.equal(share.open, 5))
  assert.deepEqual(events, [])
})

test('connections that were closed or upgraded to another protocol no longer count', async () => {
  const { client, share } = await aServer({ perAddress: 2 })
  const upgraded = await client('GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n')
  await eventually(() => assert.match(upgraded.read(), /^HTTP\/1.1 101/))
  assert.equal(share.open, 0)
  const plain = await client(get('/'))
  await eventually(() => assert.match(plain.read(), /done$/))
  assert.equal(share.open, 1)
  plain.socket.destroy()
  upgraded.socket.destroy()
  await eventually(() => assert.equal(share.open, 0))
})

type Client = Awaited<ReturnType<Awaited<ReturnType<typeof aServer>>['client']>>

const post = (path: string, bytes: number) => `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: ${bytes}\r\n\r\n`

/** Sends this number of bytes of the body every few milliseconds until the returned function is called. */
function keepSending({ socket }: { socket: Socket }, bytes: number) {
  const timer = setInterval(() => socket.write('x'.repeat(bytes)), 5)
  afterAllTests(() => clearInterval(timer))
  return () => clearInterval(timer)
}

test('slow bodies from several addresses cannot occupy all connections: the slowest connections are closed with 408', async () => {
  const { client, events, waiting, requests } = await aServer({ max: 6, perAddress: 3 })
  const attackers: Client[] = []
  for (const address of ['127.0.0.1', '127.0.0.2'])
    for (let n = 0; n < 2; n++) attackers.push(await client(post('/body', 1e6), address))
  const upload = await client(post('/body', 1e9), '127.0.0.3')
  const stop = keepSending(upload, 10_000)
  const unread = await client(`${post('/unread', 1000)}some`, '127.0.0.4')
  for (const attacker of attackers) attacker.socket.write('x')
  await eventually(() => assert.equal(requests.length, 6))
  await eventually(() =>
    assert.ok(requests.some(({ url, readableLength }) => url === '/unread' && readableLength === 4)),
  )
  for (let n = 0; n < attackers.length; n++)
    // New connections are refused until the server has measured the speed of the bodies.
    await eventually(async () => {
      const before = waiting.length
      await client(get('/slow'), `127.0.0.${10 + n}`)
      await eventually(() => assert.equal(waiting.length, before + 1), { withinMs: 200 })
    })
  await eventually(() => assert.ok(attackers.every(({ isOpen }) => !isOpen())))
  assert.ok(attackers.every(({ read }) => /^(|HTTP\/1\.1 408 .*too slowly.*)$/s.test(read())))
  assert.ok(
    upload.isOpen() && unread.isOpen(),
    'fast bodies, and bodies that the server does not read, must not be closed',
  )
  assert.ok(events.some((event) => event.startsWith('evicted total')))
  stop()
})

test('at the limit of an address, a new connection replaces the connection of this address whose body is slowest', async () => {
  const { client, events, requests } = await aServer({ perAddress: 3 })
  const fromOtherAddress = await client(post('/body', 1e6), '127.0.0.2')
  const attackers: Client[] = []
  for (let n = 0; n < 3; n++) attackers.push(await client(post('/body', 1e6)))
  await eventually(() => assert.equal(requests.length, 4))
  const other = await eventually(async () => {
    const next = await client(get('/'))
    await eventually(() => assert.match(next.read(), /done$/), { withinMs: 200 })
    return next
  })
  assert.ok(other.isOpen() && fromOtherAddress.isOpen())
  await eventually(() => assert.equal(attackers.filter(({ isOpen }) => isOpen()).length, 2))
  assert.equal(events.at(-1), 'evicted address 127.0.0.1')
})

test('connections with slow bodies stay open while the limit of connections is not reached', async () => {
  const { client, events } = await aServer({ max: 3 })
  const slow = [await client(post('/body', 2)), await client(post('/body', 2), '127.0.0.2')]
  await new Promise((resolve) => setTimeout(resolve, 3 * slowBodies.windowMs))
  for (const { socket } of slow) socket.write('xx')
  for (const { read } of slow) await eventually(() => assert.match(read(), /done$/))
  assert.deepEqual(events, [])
})

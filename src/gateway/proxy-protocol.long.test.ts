/** The PROXY protocol in front of MQTT, over TCP and TLS: addresses of clients, malformed headers, connections without a proxy. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { before, suite, test } from 'node:test'
import { connect as connectSecurely } from 'node:tls'
import { generate } from 'mqtt-packet'
import { afterAllTests } from '../../test/harness/database.ts'
import { eventually } from '../../test/harness/eventually.ts'
import { openGateway } from '../../test/harness/gateway.ts'
import { connectPacket } from '../../test/harness/mqtt-raw.ts'
import { createProxyProtocol } from './proxy-protocol.ts'

const signature = Buffer.from('0d0a0d0a000d0a515549540a', 'hex')
function header(bytes: Buffer | number[], { command = 0x21, family = 0x11, length = bytes.length } = {}): Buffer {
  const head = Buffer.from([command, family, 0, 0])
  head.writeUInt16BE(length, 2)
  return Buffer.concat([signature, head, Buffer.from(bytes)])
}
const ports = [0xc3, 0x50, 0x07, 0x5b]
const from4 = (...address: number[]) => header([...address, 10, 0, 0, 1, ...ports])
const from6 = (hex: string) => header([...Buffer.from(hex, 'hex'), ...Buffer.alloc(16, 1), ...ports], { family: 0x21 })
const connectBytes = (clientId = 'device') => generate(connectPacket({ clientId }))

let fixture: Awaited<ReturnType<typeof openGateway>>
before(async () => {
  fixture = await openGateway({
    environment: {
      WAYPOST_MQTT_PROXY_PROTOCOL: 'on',
      WAYPOST_TRUST_PROXY: '127.0.0.1',
      WAYPOST_MQTT_CONNECTIONS_PER_ADDRESS: '3',
    },
  })
})

const portOf = (url: string) => Number(new URL(url).port)
async function open(localAddress = '127.0.0.1', port = portOf(fixture.mqttUrl)) {
  const socket = connect({ port, host: '127.0.0.1', localAddress, noDelay: true })
  afterAllTests(() => void socket.destroy())
  socket.on('error', () => {})
  await once(socket, 'connect')
  return socket
}
/** Waits for a CONNACK that accepts the connection. */
async function assertConnack(socket: Pick<Socket, 'once' | 'read'>) {
  const [bytes] = (await once(socket as Socket, 'data')) as [Buffer]
  assert.deepEqual([...bytes.subarray(0, 4)], [0x20, 2, 0, 0])
}
function waitUntilClosed(socket: Socket) {
  // The socket ends only after its unread bytes are read.
  socket.resume()
  return eventually(() => assert.ok(socket.destroyed || socket.readableEnded))
}
const refusals = async (reason: string) => {
  const rows = await fixture.waypost.kit.db.sql`
    select address, count::int as count from traffic_log.refusals where reason = ${reason}`
  return {
    addresses: rows.map(({ address }) => address as string),
    sum: rows.reduce((sum, { count }) => sum + count, 0),
  }
}

suite('behind a proxy', () => {
  test('a client can connect if its header arrives in one piece or byte by byte', async () => {
    const whole = await open()
    whole.write(Buffer.concat([from4(192, 0, 2, 7), connectBytes('whole')]))
    await assertConnack(whole)
    const slow = await open()
    for (const byte of Buffer.concat([from4(192, 0, 2, 7), connectBytes('slow')])) slow.write(Buffer.from([byte]))
    await assertConnack(slow)
    slow.write(Buffer.from([0xc0, 0]))
    const [pong] = (await once(slow, 'data')) as [Buffer]
    assert.deepEqual([...pong], [0xd0, 0])
    for (const socket of [whole, slow]) socket.destroy()
  })

  test('limits per address count the address of the client, not the address of the proxy', async () => {
    const sockets: Socket[] = []
    for (let n = 0; n < 5; n++) {
      const socket = await open()
      socket.write(Buffer.concat([from4(192, 0, 2, 20 + n), connectBytes(`many-${n}`)]))
      await assertConnack(socket)
      sockets.push(socket)
    }
    const same: Socket[] = []
    for (let n = 0; n < 4; n++) {
      const socket = await open()
      socket.write(Buffer.concat([from4(198, 51, 100, 9), connectBytes(`same-${n}`)]))
      if (n < 3) await assertConnack(socket)
      same.push(socket)
    }
    await eventually(() => assert.equal(same.filter((socket) => socket.destroyed || socket.readableEnded).length, 1))
    for (const socket of [...sockets, ...same]) socket.destroy()
  })

  test('refusals contain the address of the client, for IPv4 and IPv6', async () => {
    for (const [bytes, address] of [
      [from4(203, 0, 113, 5), '203.0.113.5'],
      [from6('20010db8000000000000000000000042'), '2001:db8::42'],
      [from6('00000000000000000000ffffcb007106'), '203.0.113.6'],
    ] as const) {
      const socket = await open()
      socket.write(
        Buffer.concat([bytes, generate(connectPacket({ username: 'nobody@default', password: Buffer.from('x') }))]),
      )
      await waitUntilClosed(socket)
      await eventually(async () => {
        const rows = await fixture.waypost.kit.db
          .sql`select address from traffic_log.refusals where username = 'nobody@default'`
        assert.ok(
          rows.some((row) => row.address === address),
          JSON.stringify(rows),
        )
      })
    }
  })

  test('wrong passwords of one client lock out its address, and no other address behind the proxy', async () => {
    const strict = await openGateway({
      environment: {
        WAYPOST_MQTT_PROXY_PROTOCOL: 'on',
        WAYPOST_TRUST_PROXY: '127.0.0.1',
        WAYPOST_LOGIN_ATTEMPTS_PER_ADDRESS: '3',
      },
    })
    const port = portOf(strict.mqttUrl)
    const attempt = async (address: number, password: string) => {
      const socket = await open('127.0.0.1', port)
      const packet = connectPacket({ username: `user-${address}@default`, password: Buffer.from(password) })
      socket.write(Buffer.concat([from4(192, 0, 2, address), generate(packet)]))
      const [bytes] = (await once(socket, 'data')) as [Buffer]
      socket.destroy()
      return bytes[3]
    }
    for (let n = 0; n < 4; n++) await attempt(1, `wrong ${n}`)
    const { sql } = strict.waypost.kit.db
    await eventually(async () => {
      const rows = await sql`select address, detail from traffic_log.refusals`
      assert.ok(
        rows.some(({ address, detail }) => address === '192.0.2.1' && /too many wrong credentials/.test(detail)),
        JSON.stringify(rows),
      )
    })
    await attempt(2, 'wrong')
    await eventually(async () => {
      const rows = await sql`select detail from traffic_log.refusals where address = '192.0.2.2'`
      assert.ok(rows.length > 0 && rows.every(({ detail }) => !/too many wrong/.test(detail)), JSON.stringify(rows))
    })
  })

  test('connections that the proxy opens itself, for health checks, are accepted without the address of a client', async () => {
    for (const bytes of [
      header([], { command: 0x20, family: 0 }),
      header([1, 2, 3], { command: 0x20, family: 0x11 }),
      header([], { command: 0x21, family: 0 }),
    ]) {
      const socket = await open()
      socket.write(Buffer.concat([bytes, connectBytes('check')]))
      await assertConnack(socket)
      socket.destroy()
    }
  })

  test('protocol extensions after the addresses in a header are ignored', async () => {
    const socket = await open()
    const extension = Buffer.concat([Buffer.from([0x02, 0, 11]), Buffer.from('example.com')])
    socket.write(Buffer.concat([header([192, 0, 2, 8, 10, 0, 0, 1, ...ports, ...extension]), connectBytes('extended')]))
    await assertConnack(socket)
    socket.destroy()
  })

  test('a TLS handshake after the header succeeds', async () => {
    const socket = await open('127.0.0.1', portOf(fixture.mqttsUrl))
    socket.write(from4(192, 0, 2, 30))
    const secure = connectSecurely({ socket, rejectUnauthorized: false })
    await once(secure, 'secureConnect')
    secure.write(connectBytes('secure'))
    await assertConnack(secure)
    secure.destroy()
    const plain = await open('127.0.0.1', portOf(fixture.mqttsUrl))
    plain.write(Buffer.concat([from4(192, 0, 2, 31), connectBytes('plain')]))
    await waitUntilClosed(plain)
    await eventually(async () => assert.ok((await refusals('tls_handshake_failed')).addresses.includes('192.0.2.31')))
  })
})

suite('malformed headers', () => {
  const cases: [string, Buffer][] = [
    ['no header', Buffer.concat([connectBytes(), Buffer.alloc(16)])],
    ['version 1', Buffer.from('PROXY TCP4 192.0.2.1 10.0.0.1 50000 1883\r\n')],
    ['another version', header([192, 0, 2, 1, 10, 0, 0, 1, ...ports], { command: 0x11 })],
    ['an unknown command', header([192, 0, 2, 1, 10, 0, 0, 1, ...ports], { command: 0x22 })],
    ['UDP', header([192, 0, 2, 1, 10, 0, 0, 1, ...ports], { family: 0x12 })],
    ['a UNIX socket', header(Buffer.alloc(216), { family: 0x31 })],
    ['an address that is too short', header([192, 0, 2, 1])],
    ['IPv4 in the family of IPv6', header([192, 0, 2, 1, 10, 0, 0, 1, ...ports], { family: 0x21 })],
    ['a length of 65,535 bytes that do not follow', header([], { length: 65_535 })],
    ['random bytes', Buffer.from('f'.repeat(64))],
  ]
  for (const [name, bytes] of cases)
    test(`a connection with ${name} instead of a valid header is closed`, async () => {
      const { sum: before } = await refusals('proxy_header')
      const socket = await open()
      socket.write(bytes)
      await waitUntilClosed(socket)
      await eventually(async () => assert.equal((await refusals('proxy_header')).sum, before + 1))
    })

  test('a connection whose header never ends is closed', async () => {
    const socket = await open()
    socket.write(from4(192, 0, 2, 1).subarray(0, 20))
    await waitUntilClosed(socket)
    const silent = await open()
    silent.resetAndDestroy()
  })
})

test('while the headers of a thousand connections are incomplete, further connections are closed', async () => {
  const problems: string[] = []
  const { accept, close } = createProxyProtocol({
    isOn: true,
    isProxy: () => true,
    refused: (_, problem) => void problems.push(problem),
  })
  const server = createServer((socket) => accept(socket, () => {})).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const waiting = await Promise.all(Array.from({ length: 1000 }, () => open('127.0.0.1', port)))
  await waitUntilClosed(await open('127.0.0.1', port))
  assert.deepEqual(problems, ['too many headers at the same time'])
  assert.ok(waiting.every((socket) => !socket.closed))
  close()
  await Promise.all(waiting.map(waitUntilClosed))
  server.close()
})

test('a connection that does not come from a trusted proxy needs no header, and is closed if it sends one', async () => {
  const direct = await open('127.0.0.2')
  direct.write(connectBytes('direct'))
  await assertConnack(direct)
  direct.destroy()
  const forged = await open('127.0.0.2')
  forged.write(Buffer.concat([from4(192, 0, 2, 99), connectBytes('forged')]))
  await waitUntilClosed(forged)
  const rows = await fixture.waypost.kit.db.sql`select from traffic_log.refusals where address = '192.0.2.99'`
  assert.equal(rows.length, 0)
})

test('the platform does not start if the PROXY protocol is on and no proxy is trusted', async () => {
  await assert.rejects(
    openGateway({ environment: { WAYPOST_MQTT_PROXY_PROTOCOL: 'on' } }),
    /WAYPOST_MQTT_PROXY_PROTOCOL needs WAYPOST_TRUST_PROXY/,
  )
})

test('without the setting, a header is rejected like any bytes that are not MQTT', async () => {
  const plain = await openGateway({ environment: { WAYPOST_TRUST_PROXY: '127.0.0.1' } })
  const port = portOf(plain.mqttUrl)
  const socket = await open('127.0.0.1', port)
  socket.write(Buffer.concat([from4(192, 0, 2, 1), connectBytes()]))
  await waitUntilClosed(socket)
  const direct = await open('127.0.0.1', port)
  direct.write(connectBytes())
  await assertConnack(direct)
})

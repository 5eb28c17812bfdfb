/** Tests kept connections with real HTTP and TLS servers, including servers that misbehave. */
import assert from 'node:assert/strict'
import { type AddressInfo, createServer } from 'node:net'
import { suite, test } from 'node:test'
import { afterAllTests } from '../../test/harness/database.ts'
import { eventually } from '../../test/harness/eventually.ts'
import { aServerCertificate } from '../../test/harness/server-certificate.ts'
import { startUndisturbedTime } from '../../test/harness/undisturbed-time.ts'
import { aReceiver, ok } from '../../test/harness/webhook-receiver.ts'
import { createSafeConnections, type SafeConnectionsOptions } from './safe-connections.ts'
import { RefusedAddress } from './safe-fetch.ts'

const aClient = (options: Partial<SafeConnectionsOptions> = {}) => {
  const connections = createSafeConnections({ allowPrivate: true, allowHttp: true, perHost: 4, ...options })
  return {
    close: connections.close,
    post: (url: string, body = 'hello', timeoutMs = 5000, group = 'a') =>
      connections.send(group, url, { method: 'POST', headers: { 'x-test': '1' }, body, timeoutMs }),
  }
}

suite('a request', () => {
  test('a request arrives complete, and further requests use the same connection', async () => {
    const receiver = await aReceiver()
    const { post, close } = aClient({ perHost: 1 })
    for (const body of ['one', 'zwei ✓', '']) assert.equal(await post(`${receiver.url}/path?q=1`, body), 200)
    assert.deepEqual(
      receiver.requests.map(({ method, path, body, connection }) => [method, path, body, connection]),
      [
        ['POST', '/path?q=1', 'one', 1],
        ['POST', '/path?q=1', 'zwei ✓', 1],
        ['POST', '/path?q=1', '', 1],
      ],
    )
    assert.equal(receiver.requests[0]!.headers['x-test'], '1')
    assert.equal(receiver.requests[0]!.headers.host, `127.0.0.1:${receiver.port}`)
    close()
    await eventually(() => assert.equal(receiver.openConnections(), 0))
  })

  test('a request shares connections only with requests of its group, and a group opens at most the maximum of connections', async () => {
    const receiver = await aReceiver((response) => void setTimeout(() => response.end(), 5))
    const { post, close } = aClient()
    const all = ['a', 'b'].flatMap((group) => Array.from({ length: 20 }, () => post(receiver.url, '', 5000, group)))
    assert.deepEqual(new Set(await Promise.all(all)), new Set([200]))
    assert.ok(receiver.underWayMax <= 8, `${receiver.underWayMax}`)
    assert.ok(receiver.connectionCount() <= 8)
    close()
  })

  test('a request on a kept connection that the receiver has closed is sent again on a new connection', async () => {
    const receiver = await aReceiver()
    const { post, close } = aClient({ perHost: 1 })
    await post(receiver.url)
    // The receiver reads the next request on the kept connection, then closes the connection without a response.
    receiver.respond = (response, { connection }, socket) =>
      connection === 1 ? socket.destroy() : ok(response, {} as never, socket)
    assert.equal(await post(receiver.url), 200)
    receiver.respond = (_response, _request, socket) => socket.destroy()
    await assert.rejects(aClient().post(receiver.url), { code: 'ECONNRESET' })
    // The new connection also ends without a response, but a request on a new connection is not sent again.
    assert.equal(receiver.requests.length, 4)
    close()
  })
})

suite('TLS', () => {
  test('TLS checks the certificate and its name', async () => {
    const tls = await aServerCertificate(['hooks.test', '127.0.0.1'])
    const receiver = await aReceiver(ok, tls)
    const lookup = async () => [{ address: '127.0.0.1', family: 4 }]
    const { post, close } = aClient({ ca: tls.cert, lookup, perHost: 1 })
    assert.equal(await post(`https://hooks.test:${receiver.port}/`), 200)
    assert.equal(await post(`https://hooks.test:${receiver.port}/`), 200)
    assert.equal(receiver.requests.at(-1)!.connection, 1)
    await assert.rejects(post(`https://other.test:${receiver.port}/`), /altnames|does not match/i)
    await assert.rejects(aClient({ lookup }).post(`https://hooks.test:${receiver.port}/`), /self-signed|certificate/i)
    close()
  })
})

suite('a guarded address', () => {
  const guarded = (lookup?: SafeConnectionsOptions['lookup']) =>
    aClient({ allowPrivate: false, ...(lookup && { lookup }) })

  test('a private address is rejected in a URL with the address and in a URL with a name that resolves to it', async () => {
    const receiver = await aReceiver()
    await assert.rejects(guarded().post(receiver.url), RefusedAddress)
    await assert.rejects(guarded().post(`http://[::ffff:127.0.0.1]:${receiver.port}/`), RefusedAddress)
    const one = guarded(async () => [
      { address: '8.8.8.8', family: 4 },
      { address: '127.0.0.1', family: 4 },
    ])
    await assert.rejects(one.post(`http://hooks.test:${receiver.port}/`), RefusedAddress)
    assert.equal(receiver.connectionCount(), 0)
  })

  test('a connection goes to the checked address, even if the name resolves to another address afterwards', async () => {
    const receiver = await aReceiver()
    let lookups = 0
    // The address of the first lookup is checked and used. A second lookup would return a different address.
    const lookup = async () => [{ address: lookups++ === 0 ? '127.0.0.1' : '127.0.0.2', family: 4 }]
    const { post, close } = aClient({ lookup })
    assert.equal(await post(`http://hooks.test:${receiver.port}/`), 200)
    assert.equal(lookups, 1)
    const rebinding = guarded(async () => [{ address: lookups++ % 2 === 0 ? '127.0.0.1' : '8.8.8.8', family: 4 }])
    lookups = 0
    await assert.rejects(rebinding.post(`http://hooks.test:${receiver.port}/`), RefusedAddress)
    assert.equal(lookups, 1)
    assert.equal(receiver.requests.length, 1)
    close()
  })

  test('a guarded address is not reached by a redirect', async () => {
    const target = await aReceiver()
    const receiver = await aReceiver((response) => void response.writeHead(307, { location: target.url }).end())
    const { post, close } = aClient()
    assert.equal(await post(receiver.url), 307)
    assert.equal(target.connectionCount(), 0)
    close()
  })
})

/** Answers every request with these bytes, and keeps the connection. */
async function aRawReceiver(bytes: string) {
  const server = createServer()
  const receiver = { bytes, requests: 0, connections: 0 }
  server.on('connection', (socket) => {
    receiver.connections++
    socket.on('error', () => {})
    socket.on('data', (data) => {
      if (!data.includes('POST / HTTP/1.1\r\n')) return
      receiver.requests++
      socket.write(receiver.bytes)
    })
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  afterAllTests(() => new Promise<void>((done) => void server.close(() => done())))
  return Object.assign(receiver, { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/` })
}

suite('a response', () => {
  const head = (...lines: string[]) => `${lines.join('\r\n')}\r\n\r\n`
  const chunked = head('HTTP/1.1 200 OK', 'Transfer-Encoding: chunked')
  /** `kept` is true if the next request uses the same connection. */
  const cases: [name: string, bytes: string, expected: { status: number; kept: boolean } | RegExp][] = [
    ['without a body', head('HTTP/1.1 204 No Content'), { status: 204, kept: true }],
    ['with a length', `${head('HTTP/1.1 200 OK', 'content-length: 5')}hello`, { status: 200, kept: true }],
    ['in chunks with a trailer', `${chunked}1;x=y\r\na\r\n0\r\nx-sum: 1\r\n\r\n`, { status: 200, kept: true }],
    ['after 103', head('HTTP/1.1 103 x', 'link: x') + head('HTTP/1.1 204 x'), { status: 204, kept: true }],
    ['that closes', head('HTTP/1.1 204 x', 'connection: close'), { status: 204, kept: false }],
    ['of HTTP/1.0', head('HTTP/1.0 200 x', 'content-length: 0'), { status: 200, kept: false }],
    ['with bytes after it', `${head('HTTP/1.1 204 x')}HTTP/1.1 200 OK\r\n`, { status: 204, kept: false }],
    ['with a second response', head('HTTP/1.1 204 x') + head('HTTP/1.1 500 x'), { status: 204, kept: false }],
    ['with a chunk that does not end', `${chunked}1\r\naXY0\r\n\r\n`, { status: 200, kept: false }],
    ['with a wrong size of a chunk', `${chunked}-1\r\n\r\n`, { status: 200, kept: false }],
    ['with a line feed after a size', `${chunked}1\na\r\n0\r\n\r\n`, { status: 200, kept: false }],
    [
      'with a length and chunks',
      `${head('HTTP/1.1 200 OK', 'content-length: 5', 'transfer-encoding: chunked')}0\r\n\r\n`,
      /Content-Length/i,
    ],
    ['with two lengths', `${head('HTTP/1.1 200 OK', 'content-length: 1', 'content-length: 2')}ab`, /Content-Length/i],
    ['with a negative length', head('HTTP/1.1 200 OK', 'content-length: -1'), /Content-Length/i],
    ['with line feeds only', 'HTTP/1.1 200 OK\ncontent-length: 0\n\n', /protocol|CR|LF/i],
    ['with a line feed in a header', head('HTTP/1.1 200 OK', 'x: a\nb', 'content-length: 0'), /CR|LF|header/i],
    ['with a space before a colon', head('HTTP/1.1 200 OK', 'content-length : 0'), /header/i],
    ['with a status of two digits', head('HTTP/1.1 20 OK'), /status/i],
    ['with too many headers', `HTTP/1.1 200 OK\r\n${'x-header: 1\r\n'.repeat(4000)}`, /Headers overflow/i],
    ['101', head('HTTP/1.1 101 Switching', 'connection: upgrade', 'upgrade: x'), /closed the connection|upgrade/i],
  ]
  for (const [name, bytes, expected] of cases)
    test(`a response ${name} is ${expected instanceof RegExp ? 'an error' : expected.kept ? 'read' : 'read, and its connection is not used again'}`, async () => {
      const receiver = await aRawReceiver(bytes)
      const { post, close } = aClient({ perHost: 1 })
      if (expected instanceof RegExp) await assert.rejects(post(receiver.url), expected)
      else assert.equal(await post(receiver.url), expected.status)
      receiver.bytes = head('HTTP/1.1 204 x')
      assert.equal(await post(receiver.url), 204)
      const isKept = expected instanceof RegExp ? false : expected.kept
      assert.deepEqual([receiver.requests, receiver.connections], [2, isKept ? 1 : 2])
      close()
    })
})

suite('a bad receiver', () => {
  test('a bad receiver that sends no headers in time causes a time-out', async () => {
    const receiver = await aReceiver(() => {})
    const undisturbedMs = startUndisturbedTime()
    await assert.rejects(aClient().post(receiver.url, '', 200), /no response headers within 0.2 s/)
    assert.ok(undisturbedMs() < 2000, `${undisturbedMs()} ms`)
  })

  test('a request that waits for a connection of a bad receiver ends with a time-out', async () => {
    const receiver = await aReceiver(() => {})
    const { post, close } = aClient({ perHost: 1 })
    const all = [post(receiver.url, '', 300), post(receiver.url, '', 200), post(receiver.url, '', 200)]
    await Promise.all(all.map((one) => assert.rejects(one, /no response headers within/)))
    receiver.respond = ok
    assert.equal(await post(receiver.url), 200)
    assert.equal(receiver.requests.length, 2, 'a request whose time limit has passed must not be sent')
    close()
  })

  test('a bad receiver that sends its headers byte by byte causes a time-out', async () => {
    const receiver = await aReceiver((_response, _request, socket) => {
      socket.write('HTTP/1.1 200 OK\r\n')
      const timer = setInterval(() => socket.write('x-more: 1\r\n'), 20)
      socket.on('close', () => clearInterval(timer))
    })
    await assert.rejects(aClient().post(receiver.url, '', 300), /no response headers within 0.3 s/)
  })

  test('a response with a slow or endless body counts as received after its headers, and its connection is closed', async () => {
    const receiver = await aReceiver((response) => {
      response.writeHead(200)
      const timer = setInterval(() => response.write('x'.repeat(10)), 20)
      response.on('close', () => clearInterval(timer))
    })
    assert.equal(await aClient().post(receiver.url), 200)
    receiver.respond = (response) => void response.writeHead(201).end('x'.repeat(1_000_000))
    assert.equal(await aClient().post(receiver.url), 201)
    await eventually(() => assert.equal(receiver.underWay, 0))
  })

  test('a bad receiver that sends malformed or too many headers causes an error', async () => {
    const receiver = await aReceiver((_response, _request, socket) => void socket.end('SSH-2.0-x\r\n\r\n'))
    await assert.rejects(aClient().post(receiver.url), /does not match the HTTP\/1.1 protocol/)
    receiver.respond = (response) => void response.writeHead(200, { 'x-long': 'x'.repeat(20_000) }).end()
    await assert.rejects(aClient().post(receiver.url), /Headers overflow/i)
    const { port } = receiver
    await receiver.close()
    await assert.rejects(aClient().post(`http://127.0.0.1:${port}`), /ECONNREFUSED/)
  })
})

/** Tests kept connections with real HTTP and TLS servers, including servers that misbehave. */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
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
  test('a request arrives whole, and further ones use the same connection', async () => {
    const receiver = await aReceiver()
    const { post, close } = aClient()
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

  test('a request shares connections with the same group only, and opens no more than the limit', async () => {
    const receiver = await aReceiver((response) => void setTimeout(() => response.end(), 5))
    const { post, close } = aClient()
    const all = ['a', 'b'].flatMap((group) => Array.from({ length: 20 }, () => post(receiver.url, '', 5000, group)))
    assert.deepEqual(new Set(await Promise.all(all)), new Set([200]))
    assert.ok(receiver.underWayMax <= 8, `${receiver.underWayMax}`)
    assert.ok(receiver.connectionCount() <= 8)
    close()
  })

  test('a request on a kept connection that the receiver has closed is sent again on a new one', async () => {
    const receiver = await aReceiver()
    const { post, close } = aClient()
    await post(receiver.url)
    // The receiver reads the next request on the kept connection, and closes it without a response.
    receiver.respond = (response, { connection }, socket) =>
      connection === 1 ? socket.destroy() : ok(response, {} as never, socket)
    assert.equal(await post(receiver.url), 200)
    receiver.respond = (_response, _request, socket) => socket.destroy()
    await assert.rejects(aClient().post(receiver.url), /socket hang up|ECONNRESET/)
    close()
  })
})

suite('TLS', () => {
  test('TLS checks the certificate and its name', async () => {
    const tls = await aServerCertificate(['hooks.test', '127.0.0.1'])
    const receiver = await aReceiver(ok, tls)
    const lookup = async () => [{ address: '127.0.0.1', family: 4 }]
    const { post, close } = aClient({ ca: tls.cert, lookup })
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

  test('a guarded address is refused as a literal and as a name', async () => {
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

  test('a connection goes to the checked address, even if the name resolves to another one afterwards', async () => {
    const receiver = await aReceiver()
    let lookups = 0
    // The first answer is checked and used; later ones would lead elsewhere.
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

suite('a bad receiver', () => {
  test('a bad receiver that sends no headers in time ends with a time-out', async () => {
    const receiver = await aReceiver(() => {})
    const undisturbedMs = startUndisturbedTime()
    await assert.rejects(aClient().post(receiver.url, '', 200), /no response headers within 0.2 s/)
    assert.ok(undisturbedMs() < 2000, `${undisturbedMs()} ms`)
  })

  test('a bad receiver that sends its headers byte by byte ends with a time-out', async () => {
    const receiver = await aReceiver((_response, _request, socket) => {
      socket.write('HTTP/1.1 200 OK\r\n')
      const timer = setInterval(() => socket.write('x-more: 1\r\n'), 20)
      socket.on('close', () => clearInterval(timer))
    })
    await assert.rejects(aClient().post(receiver.url, '', 300), /no response headers within 0.3 s/)
  })

  test('a bad receiver with a slow or endless body counts as answered, and its connection is closed', async () => {
    const receiver = await aReceiver((response) => {
      response.writeHead(200)
      const timer = setInterval(() => response.write('x'.repeat(10)), 20)
      response.on('close', () => clearInterval(timer))
    })
    assert.equal(await aClient().post(receiver.url), 200)
    receiver.respond = (response) => void response.writeHead(201).end('x'.repeat(1_000_000))
    assert.equal(await aClient().post(receiver.url), 201)
    await eventually(() => assert.equal(receiver.openConnections(), 0))
  })

  test('a bad receiver that sends malformed or too many headers is an error', async () => {
    const receiver = await aReceiver((_response, _request, socket) => void socket.end('SSH-2.0-x\r\n\r\n'))
    await assert.rejects(aClient().post(receiver.url), /Parse Error/)
    receiver.respond = (response) => void response.writeHead(200, { 'x-long': 'x'.repeat(20_000) }).end()
    await assert.rejects(aClient().post(receiver.url), /Header overflow/i)
    const { port } = receiver
    await receiver.close()
    await assert.rejects(aClient().post(`http://127.0.0.1:${port}`), /ECONNREFUSED/)
  })
})

/** Tests a server with HTTP and HTTPS: certificate files and their renewal, limits, redirects, Strict-Transport-Security. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { connect as connectPlain } from 'node:net'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls'
import { client } from '../../../test/harness/client.ts'
import { afterAllTests, temporaryDirectory } from '../../../test/harness/database.ts'
import { eventually } from '../../../test/harness/eventually.ts'
import { overHttps } from '../../../test/harness/https.ts'
import { aServerCertificate } from '../../../test/harness/server-certificate.ts'
import { readTrustProxy } from '../client-address.ts'
import { systemClock } from '../clock.ts'
import { createLog } from '../log.ts'
import { createMetrics } from '../metrics.ts'
import { createServerCertificate } from '../server-certificate.ts'
import { createHttpServer } from './server.ts'

const noAuthority = {
  rootCertificate: () => Promise.reject(new Error('not used')),
  issueServerCertificate: () => Promise.reject(new Error('not used')),
}
const hello = 'GET /hello HTTP/1.1\r\nHost: localhost\r\n\r\n'
let first: { cert: string; key: string }
before(async () => {
  first = await aServerCertificate(['localhost', '127.0.0.1'])
})

function aPair(pair = first) {
  const directory = temporaryDirectory()
  const files = { certificateFile: join(directory, 'cert.pem'), keyFile: join(directory, 'key.pem') }
  const write = ({ cert, key }: { cert: string; key: string }) => {
    writeFileSync(files.certificateFile, cert)
    writeFileSync(files.keyFile, key)
  }
  write(pair)
  return { ...files, write }
}

async function aServer({ max = 100, perAddress = 100, redirect = false, hstsSeconds = 0, proxies = 'off' } = {}) {
  const log = await createLog({ level: 'silent', format: 'json' })
  const events: string[] = []
  const share = {
    max,
    perAddress,
    open: 0,
    refused: (reason: string) => void events.push(`refused ${reason}`),
    evicted: (reason: string) => void events.push(`evicted ${reason}`),
  }
  let baseUrl = ''
  const http = createHttpServer({
    baseUrl: () => baseUrl,
    log,
    metrics: createMetrics(),
    authenticate: async () => undefined,
    callerWithoutAuthentication: () => undefined,
    rateLimit: { perCredential: 0, perAddress: 0 },
    trustProxy: readTrustProxy(proxies) as never,
    connections: { share, perAddress, graceMs: 0, acceptFailed: () => {} },
    secureTransport: { redirect, hstsSeconds },
  })
  http.app.get('/hello', async () => 'hello')
  http.app.post('/hello', async () => 'posted')
  http.app.server.on('upgrade', (_, socket) => socket.end('HTTP/1.1 101 Switching Protocols\r\n\r\n'))
  const pair = aPair()
  const certificate = createServerCertificate(
    { settings: 'HTTPS', ...pair, hosts: () => [], acceptsClientCertificates: false, log, now: systemClock },
    noAuthority,
  )
  const port = await http.listenSecurely({ host: '127.0.0.1', port: 0 }, certificate)
  await http.listen({ host: '127.0.0.1', port: 0 })
  baseUrl = `https://127.0.0.1:${port}`
  let closed: Promise<void> | undefined
  const close = () => {
    for (const socket of opened.splice(0)) socket.destroy()
    closed ??= http.close()
    return closed
  }
  afterAllTests(close)
  const plainPort = (http.app.server.address() as { port: number }).port
  return { share, events, pair, port, baseUrl, plainPort, plainUrl: `http://127.0.0.1:${plainPort}`, close }
}

const opened: TLSSocket[] = []

async function secureSocket(port: number, options: ConnectionOptions = {}) {
  const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false, ...options })
  opened.push(socket)
  let text = ''
  socket.on('data', (data) => (text += data))
  await once(socket, 'secureConnect')
  // The error listener is added after the handshake, so that a failed handshake rejects.
  socket.on('error', () => {})
  return { socket, text: () => text, serial: socket.getPeerCertificate().serialNumber }
}

test('HTTPS serves the routes of HTTP with the certificate of the files', async () => {
  const { baseUrl } = await aServer()
  assert.equal((await overHttps(`${baseUrl}/hello`, { ca: first.cert })).text, 'hello')
  const other = await aServerCertificate(['localhost'])
  await assert.rejects(overHttps(`${baseUrl}/hello`, { ca: other.cert }), { code: /CERT|SIGNATURE/ })
})

test('TLS 1.1 and plain HTTP are refused at the port of HTTPS', async () => {
  const { port } = await aServer()
  await assert.rejects(
    secureSocket(port, { minVersion: 'TLSv1.1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' }),
    /alert protocol version|unsupported protocol|ECONNRESET/,
  )
  const { socket } = await secureSocket(port, { maxVersion: 'TLSv1.2' })
  assert.equal(socket.getProtocol(), 'TLSv1.2')
  const plain = connectPlain({ port, host: '127.0.0.1' })
  let answer = ''
  plain.on('data', (data) => (answer += data.toString('latin1')))
  plain.on('error', () => {})
  plain.write(hello)
  await once(plain, 'close')
  assert.ok(!answer.includes('hello'), answer)
})

test('new connections use a changed certificate file, open connections continue, and a faulty file is ignored', async () => {
  const { port, pair } = await aServer()
  const before = await secureSocket(port)
  const second = await aServerCertificate(['localhost', '127.0.0.1'])
  // The files now contain the certificate of one pair and the key of the other pair.
  writeFileSync(pair.certificateFile, second.cert)
  const serialBeforeRenewal = (await secureSocket(port)).serial
  assert.equal(serialBeforeRenewal, before.serial)
  writeFileSync(pair.keyFile, second.key)
  await eventually(async () => assert.notEqual((await secureSocket(port)).serial, before.serial))
  pair.write({ cert: 'not a certificate', key: 'not a key' })
  before.socket.write(hello)
  await eventually(() => assert.match(before.text(), /hello$/))
  const renewed = (await secureSocket(port)).serial
  const third = await aServerCertificate(['localhost'])
  pair.write(third)
  await eventually(async () => assert.ok(![before.serial, renewed].includes((await secureSocket(port)).serial)))
})

test('with unusable certificate files, the start fails, and the error names the settings', async () => {
  const log = await createLog({ level: 'silent', format: 'json' })
  const other = await aServerCertificate(['localhost'])
  const context = (files: { certificateFile: string | undefined; keyFile: string | undefined }) =>
    createServerCertificate(
      { settings: 'HTTPS', ...files, hosts: () => [], acceptsClientCertificates: false, log, now: systemClock },
      noAuthority,
    ).current()
  const both = /WAYPOST_HTTPS_CERTIFICATE_FILE and WAYPOST_HTTPS_KEY_FILE/
  await assert.rejects(context({ ...aPair(), keyFile: undefined }), both)
  await assert.rejects(context({ ...aPair(), certificateFile: '/nowhere/cert.pem' }), both)
  await assert.rejects(context(aPair({ cert: first.cert, key: other.key })), both)
})

test('TLS connections count towards the limit of an address, even during the handshake; the oldest idle connection is closed', async () => {
  const { port, share, events } = await aServer({ perAddress: 2 })
  const idle = await secureSocket(port)
  const handshake = connectPlain({ port, host: '127.0.0.1' })
  handshake.on('error', () => {})
  await eventually(() => assert.equal(share.open, 2))
  const next = await secureSocket(port)
  assert.deepEqual(events, ['evicted address'])
  await eventually(() => assert.ok(idle.socket.destroyed))
  next.socket.write(hello)
  await eventually(() => assert.match(next.text(), /hello$/))
  // The connection in the handshake is now the oldest connection, so it is closed.
  await secureSocket(port)
  await eventually(() => assert.ok(handshake.destroyed))
  assert.equal(share.open, 2)
  next.socket.destroy()
  await eventually(() => assert.equal(share.open, 1))
})

test('a connection with a request in progress is not closed in favour of a new connection', async () => {
  const { port, events, share } = await aServer({ perAddress: 1 })
  const busy = await secureSocket(port)
  busy.socket.write(
    'POST /hello HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{',
  )
  await eventually(async () => {
    await assert.rejects(secureSocket(port))
    assert.ok(events.includes('refused address'))
  })
  busy.socket.write('}')
  await eventually(() => assert.match(busy.text(), /posted$/))
  assert.equal(share.open, 1)
})

test('when the server closes, it does not wait for connections that send no handshake', async () => {
  const { port, share, close } = await aServer()
  const silent = connectPlain({ port, host: '127.0.0.1' })
  silent.on('error', () => {})
  await eventually(() => assert.equal(share.open, 1))
  const started = performance.now()
  await close()
  assert.ok(performance.now() - started < 4000)
})

test('Strict-Transport-Security is sent over HTTPS only', async () => {
  const { baseUrl, plainUrl } = await aServer({ hstsSeconds: 31_536_000, proxies: '127.0.0.1' })
  const secure = await overHttps(`${baseUrl}/hello`, { ca: first.cert })
  assert.equal(secure.headers['strict-transport-security'], 'max-age=31536000')
  assert.equal((await client(plainUrl)('GET /hello')).headers.get('strict-transport-security'), null)
  const proxied = await client(plainUrl)('GET /hello', undefined, { 'x-forwarded-proto': 'https' })
  assert.equal(proxied.headers.get('strict-transport-security'), 'max-age=31536000')
})

test('plain requests with any Host header are redirected to the base URL with their method', async () => {
  const { baseUrl, plainUrl, plainPort } = await aServer({ redirect: true })
  const ask = client(plainUrl)
  for (const operation of ['GET /hello?a=b', 'POST /hello', 'GET /nothing-here']) {
    const answer = await ask(operation, undefined, { 'x-forwarded-proto': 'https', host: 'evil.example' })
    assert.equal(answer.status, 308)
    assert.equal(answer.headers.get('location'), baseUrl + operation.split(' ')[1])
  }
  assert.equal((await overHttps(`${baseUrl}/hello`, { ca: first.cert })).status, 200)
  const absolute = connectPlain({ port: plainPort, host: '127.0.0.1' })
  absolute.write('GET http://evil.example/hello HTTP/1.1\r\nHost: evil.example\r\n\r\n')
  const [head] = await once(absolute, 'data')
  assert.match(String(head), new RegExp(`^HTTP/1.1 308 [^]*location: ${baseUrl}/\r\n`, 'i'))
  absolute.destroy()
})

test('a request that a trusted proxy received over HTTPS is not redirected', async () => {
  const { plainUrl } = await aServer({ redirect: true, proxies: '127.0.0.1' })
  const ask = client(plainUrl)
  assert.equal((await ask('GET /hello', undefined, { 'x-forwarded-proto': 'https' })).text, 'hello')
  assert.equal((await ask('GET /hello', undefined, { 'x-forwarded-proto': 'http' })).status, 308)
})

test('WebSockets work over TLS; if plain requests are redirected, a WebSocket cannot be opened without TLS', async () => {
  const { port, plainPort } = await aServer({ redirect: true })
  const upgrade = 'GET /mqtt HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n'
  const secure = await secureSocket(port)
  secure.socket.write(upgrade)
  await eventually(() => assert.match(secure.text(), /^HTTP\/1.1 101/))
  const plain = connectPlain({ port: plainPort, host: '127.0.0.1' })
  plain.write(upgrade)
  const [head] = await once(plain, 'data')
  assert.match(String(head), /^HTTP\/1.1 308/)
  plain.destroy()
})

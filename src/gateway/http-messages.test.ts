import assert from 'node:assert/strict'
import { once } from 'node:events'
import { METHODS, request } from 'node:http'
import { connect } from 'node:net'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { generate } from 'mqtt-packet'
import { WebSocket } from 'ws'
import { aDevice } from '../../test/harness/device.ts'
import { eventually } from '../../test/harness/eventually.ts'
import { openGateway, recordingExtension } from '../../test/harness/gateway.ts'
import { DatabaseUnavailable, Forbidden, InvalidRequest } from '../kernel/errors.ts'

const replying = recordingExtension('replying')
replying.receive = async ({ resourcePath, payload, requestId }) => {
  if (resourcePath === '/fails-400') throw InvalidRequest({ problem: 'not like this' })
  if (resourcePath === '/fails-403') throw Forbidden({ scope: 'write', resource: 'a key' })
  if (resourcePath === '/fails-500') throw new Error('a secret detail')
  if (resourcePath === '/fails-503') throw DatabaseUnavailable()
  return { payload: { echo: payload.toString(), requestId } }
}
const reading = recordingExtension('reading')
reading.receive = replying.receive
reading.readsRequestId = true
const fixture = await openGateway({
  listeners: [replying, reading],
  environment: { WAYPOST_LOG_LEVEL: 'fatal', WAYPOST_LOGIN_ATTEMPTS_PER_ADDRESS: '10' },
})
const { httpUrl, aProvisionedEndpoint, admin, test: extension } = fixture

async function post(path: string, body: string | Buffer = '', headers: Record<string, string> = {}) {
  const response = await fetch(`${httpUrl}/${path}`, { method: 'POST', body: body as never, headers })
  const text = await response.text()
  return { status: response.status, text, json: text ? JSON.parse(text) : undefined, headers: response.headers }
}

test('a POST with any Content-Type is a message and is answered with 200', async () => {
  const { prefix, version, token, endpointId } = await aProvisionedEndpoint()
  for (const root of ['', 'kpc/'])
    for (const contentType of ['application/json', 'application/x-www-form-urlencoded', 'text/plain', 'nonsense', ''])
      for (const rest of ['/json', '/json/42']) {
        const answer = await post(`${root}${prefix}${rest}`, '{"a":1}', { 'content-type': contentType })
        assert.deepEqual([answer.status, answer.text], [200, ''])
        const { endpoint, ...note } = extension.messages.at(-1)!
        assert.deepEqual(note, { resourcePath: '/json', requestId: undefined, text: '{"a":1}' })
        assert.equal(endpoint.endpointId, endpointId)
      }
  assert.equal((await post(`${prefix}/json`)).status, 200)
  assert.equal(extension.messages.at(-1)!.text, '')
  const answer = await post(`kp1/${version}/replying/${token}/get/7?ignored=1`, 'x')
  assert.deepEqual(answer.json, { echo: 'x' })
  assert.match(answer.headers.get('content-type')!, /^application\/json/)
  assert.deepEqual((await post(`kp1/${version}/reading/${token}/get/7`)).json, { echo: '', requestId: 7 })
  // A request id of any size is ignored, except by an extension that reads it.
  for (const id of ['9007199254740992', '9'.repeat(500)]) {
    assert.equal((await post(`${prefix}/json/${id}`)).status, 200)
    assert.equal(extension.messages.at(-1)!.resourcePath, '/json')
    const refused = await post(`kp1/${version}/reading/${token}/get/${id}`)
    assert.deepEqual([refused.status, /request id is too large/.test(refused.text)], [400, true])
  }
})

test('a request whose target is a whole URL, as clients send it to a proxy, is a message', async () => {
  const { prefix } = await aProvisionedEndpoint()
  const { hostname, port } = new URL(httpUrl)
  for (const origin of ['http://devices.example', 'HTTPS://devices.example:8443'])
    for (const root of ['/', '/kpc/']) {
      const count = extension.messages.length
      const sending = request({ hostname, port, method: 'POST', path: `${origin}${root}${prefix}/json?a=/b` }).end('1')
      const [response] = await once(sending, 'response')
      response.resume()
      assert.equal(response.statusCode, 200)
      assert.equal(extension.messages.length, count + 1)
    }
})

test('a compressed message is answered with 415; other values of Content-Encoding are ignored', async () => {
  const { prefix } = await aProvisionedEndpoint()
  const count = extension.messages.length
  for (const encoding of ['gzip', 'X-GZIP', 'br', 'zstd']) {
    const { status, json } = await post(`${prefix}/json`, gzipSync('{"a":1}'), { 'content-encoding': encoding })
    const reasonPhrase = `Content-Encoding ${encoding} is not supported; send the body uncompressed`
    assert.deepEqual([status, json], [415, { statusCode: 415, reasonPhrase }])
  }
  assert.equal(extension.messages.length, count)
  for (const encoding of ['identity', 'utf-8', ''])
    assert.equal((await post(`${prefix}/json`, '{"a":1}', { 'content-encoding': encoding })).status, 200, encoding)
})

test('a message updates the last activity of its endpoint', async () => {
  const { prefix, endpointId } = await aProvisionedEndpoint()
  const before = Date.now()
  assert.equal((await post(`${prefix}/json`, '{}')).status, 200)
  await fixture.waypost.built.get('register')!.stop!()
  const { body } = await admin('GET /epr/api/v1/directory?sort=lastActivity&sortOrder=desc&limit=1')
  assert.equal(body.content[0].endpointId, endpointId)
  assert.equal(body.content[0].connection, 'never')
  assert.ok(Date.parse(body.content[0].lastActivity) >= before - 1000)
})

test('the resource path of a message keeps every slash, and its percent-escapes are decoded', async () => {
  const { prefix } = await aProvisionedEndpoint()
  for (const [rest, path] of [
    ['/json/', '/json/'],
    ['/json//a', '/json//a'],
    ['', ''],
    ['/', '/'],
    ['/a%20b', '/a b'],
  ]) {
    assert.equal((await post(`${prefix}${rest}`)).status, 200, rest)
    assert.equal(extension.messages.at(-1)!.resourcePath, path)
  }
})

test('errors have their status and a body with statusCode and reasonPhrase', async () => {
  const { prefix, version, token, app } = await aProvisionedEndpoint()
  const replying = `kp1/${version}/replying/${token}`
  const cases: [string, number][] = [
    [`${replying}/fails-400`, 400],
    [`${replying}/fails-403`, 403],
    [`${replying}/fails-500`, 500],
    [`${replying}/fails-503`, 503],
    [`kp1/${version}/replying`, 400],
    [`${prefix}/a%00b`, 400],
    [`${prefix}/%zz`, 400],
    [`kpc/${prefix}/%e0%a4%a`, 400],
    [`${prefix}/%80`, 400],
    [`kp1/${version}/replying/wrong/get`, 401],
    [`kp1/${app}-v9/replying/${token}/get`, 404],
    [`kp1/${version}/nothing/${token}/get`, 404],
  ]
  for (const [path, status] of cases) {
    const answer = await post(path, '{}')
    assert.equal(answer.status, status, `${path}: ${answer.text}`)
    assert.deepEqual(Object.keys(answer.json), ['statusCode', 'reasonPhrase'])
    assert.equal(answer.json.statusCode, status)
    assert.doesNotMatch(answer.text, /secret/)
  }
  const large = await post(`${prefix}/json`, Buffer.alloc(1024 * 1024 + 1, 0x20))
  assert.deepEqual([large.status, large.json.statusCode], [413, 413])
  assert.equal((await post(`${prefix}/json`, Buffer.alloc(1024 * 1024, 0x20))).status, 200)
})

test('a path with control characters is rejected, like an MQTT topic with control characters', async () => {
  const { prefix, endpointId } = await aProvisionedEndpoint()
  for (const code of ['%00', '%01', '%09', '%0a', '%0D', '%1f', '%7F', '%C2%80', '%c2%9f']) {
    for (const path of [`${prefix}/a${code}b`, `kpc/${prefix}${code}/json`, `${prefix}/json/1${code}`]) {
      const answer = await post(path, '{}')
      assert.equal(answer.status, 400, path)
      assert.equal(answer.json.statusCode, 400)
    }
  }
  assert.equal(extension.messages.filter(({ endpoint }) => endpoint.endpointId === endpointId).length, 0)
  for (const fine of ['%20', '%C2%A0', '%e2%82%ac']) assert.equal((await post(`${prefix}/a${fine}b`)).status, 200, fine)
})

test('methods other than POST are answered with 405', async () => {
  const { prefix, endpointId } = await aProvisionedEndpoint()
  const ask = (path: string, method: string, body = '') =>
    new Promise<{ status: number | undefined; allow: string | undefined; text: string }>((resolve, reject) => {
      const sent = request(`${httpUrl}/${path}`, { method }, (response) => {
        let text = ''
        response.setEncoding('utf8').on('data', (part) => {
          text += part
        })
        response.on('end', () => resolve({ status: response.statusCode, allow: response.headers.allow, text }))
      })
      sent.on('error', reject)
      sent.end(body)
    })
  for (const method of METHODS.filter((name) => name !== 'POST' && name !== 'CONNECT'))
    for (const path of [`${prefix}/json`, `kpc/${prefix}/json`, 'kp1/x', `${prefix}/${'x'.repeat(3000)}`]) {
      const { status, allow, text } = await ask(path, method, method === 'PROPFIND' ? '{"a":1}' : '')
      assert.deepEqual([status, allow], [405, 'POST'], `${method} ${path}`)
      if (method !== 'HEAD') assert.equal(JSON.parse(text).statusCode, 405, method)
    }
  assert.equal(extension.messages.filter(({ endpoint }) => endpoint.endpointId === endpointId).length, 0)
  // Paths that are not for messages do not accept unusual methods either.
  assert.equal((await ask('api/v1/applications', 'PROPFIND')).status, 404)
  assert.equal((await ask('elsewhere', 'MKCOL')).status, 404)
})

test('a message moves its endpoint to the version in its topic; an extension that the application does not allow gets 404', async () => {
  const { app } = await fixture.anApplication(['v1', 'v2'])
  const { endpointId, token } = await fixture.anEndpoint(`${app}-v1`)
  assert.equal((await post(`kp1/${app}-v2/test/${token}/json`)).status, 200)
  assert.equal((await admin(`GET /epr/api/v1/endpoints/${endpointId}/app-version`)).body.name, `${app}-v2`)
  await admin(`PUT /api/v1/app-configs/applications/${app}`, {
    kpc: { platform: { applications: { [app]: { 'allowed-extension-instances': ['dcx'] } } } },
  })
  assert.equal((await post(`kp1/${app}-v2/test/${token}/json`)).status, 404)
})

test('bytes above the rate of a tenant are rejected with Retry-After; other tenants are not affected', async () => {
  const slow = await openGateway({ environment: { WAYPOST_DEVICE_BYTES_PER_TENANT: '10000' } })
  const [mine, others] = [await slow.aProvisionedEndpoint(), await slow.aProvisionedEndpoint(slow.other)]
  const post = (prefix: string, bytes: number) =>
    fetch(`${slow.httpUrl}/${prefix}/json`, { method: 'POST', body: 'x'.repeat(bytes) })
  assert.equal(
    (await post(mine.prefix, 100_000)).status,
    200,
    'a message that is larger than the bytes of a second must be accepted',
  )
  const refused = await post(mine.prefix, 1)
  assert.equal(refused.status, 429)
  assert.ok(
    Number(refused.headers.get('retry-after')) >= 5,
    'Retry-After must cover the exceeded bytes, about nine seconds',
  )
  assert.equal((await post(others.prefix, 1000)).status, 200)
  assert.equal(slow.test.messages.length, 2)
})

test('messages above the rate of a tenant are rejected with 429', async () => {
  const slow = await openGateway({ environment: { WAYPOST_DEVICE_MESSAGES_PER_TENANT: '5' } })
  const { prefix } = await slow.aProvisionedEndpoint()
  const post = () => fetch(`${slow.httpUrl}/${prefix}/json`, { method: 'POST' })
  const statuses = [(await post()).status]
  // The messages are sent concurrently, so that they arrive within a second even on a slow machine.
  for (const { status, headers } of await Promise.all(Array.from({ length: 20 }, post))) {
    statuses.push(status)
    if (status === 429) assert.equal(headers.get('retry-after'), '1')
  }
  assert.ok(statuses.includes(200) && statuses.includes(429), statuses.join())
})

test('MQTT over WebSocket is served at /mqtt and /ws; an upgrade at another path is answered with 404', async () => {
  const { prefix } = await aProvisionedEndpoint()
  for (const [path, options] of [
    ['/mqtt', {}],
    ['/ws', { protocolVersion: 5 }],
    ['/mqtt', { protocolId: 'MQIsdp', protocolVersion: 3 }],
  ] as const) {
    const sensor = await aDevice(fixture.wsUrl + path, options)
    await sensor.publish(`${prefix}/json/1`, Buffer.alloc(200_000, 0x31))
    await sensor.receives(`${prefix}/json/1/status`)
    assert.equal(extension.messages.at(-1)!.text.length, 200_000)
    await sensor.end()
  }
  const upgrade = (path: string, protocol: string) =>
    new Promise<string>((resolve, reject) => {
      const socket = connect(Number(new URL(httpUrl).port), '127.0.0.1', () =>
        socket.write(
          `GET ${path} HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n` +
            `Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n${protocol}\r\n`,
        ),
      )
      socket.once('data', (bytes) => {
        resolve(bytes.toString())
        socket.destroy()
      })
      socket.on('error', reject)
    })
  assert.match(await upgrade('/elsewhere', ''), /^HTTP\/1.1 404 /)
  assert.match(await upgrade('/mqtt', ''), /^HTTP\/1.1 101 /)
  assert.match(await upgrade('/ws', 'Sec-WebSocket-Protocol: mqttv3.1\r\n'), /^HTTP\/1.1 101 [\s\S]*Protocol: mqttv3.1/)
})

test('a WebSocket frame with text closes the connection, because MQTT needs binary frames (MQTT-6.0.0-1)', async () => {
  const connectPacket = Buffer.from('100e00044d5154540402003c00027731', 'hex')
  for (const binary of [true, false]) {
    const socket = new WebSocket(`${fixture.wsUrl}/mqtt`, 'mqtt')
    await once(socket, 'open')
    const ended = Promise.race([
      once(socket, 'message').then(([bytes]) => Buffer.from(bytes).toString('hex', 0, 1)),
      once(socket, 'close').then(() => 'closed'),
    ])
    socket.send(connectPacket, { binary })
    assert.equal(await ended, binary ? '20' : 'closed')
    socket.terminate()
  }
})

test('the server answers WebSocket pings, but not while the client reads nothing', async () => {
  const socket = connect(Number(new URL(httpUrl).port), '127.0.0.1')
  const frame = (bytes: number) => Buffer.from([0x89, 0x80 | bytes, 0, 0, 0, 0, ...Buffer.alloc(bytes)])
  socket.write(
    'GET /mqtt HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n' +
      'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
  )
  assert.match(String((await once(socket, 'data'))[0]), / 101 /)
  socket.write(frame(5))
  assert.deepEqual((await once(socket, 'data'))[0], Buffer.from([0x8a, 5, 0, 0, 0, 0, 0]))
  socket.pause()
  const many = Buffer.concat(Array<Buffer>(8000).fill(frame(125)))
  for (let i = 0; i < 20; i++) await new Promise((resolve) => socket.write(many, resolve))
  let bytes = 0
  socket.on('data', (chunk) => {
    bytes += chunk.length
  })
  socket.resume()
  socket.end()
  await once(socket, 'close')
  assert.ok(bytes < 0.9 * 20 * 8000 * 127, `the server must not buffer all pongs, and ${bytes} bytes arrived`)
})

test('a refusal names the endpoint whose token is suspended or revoked, or whose message is too large', async () => {
  const { prefix, endpointId } = await aProvisionedEndpoint()
  const large = Buffer.alloc(1_100_000, 0x20)
  assert.equal((await post(`${prefix}/json`, large)).status, 413)
  const socket = connect(Number(new URL(fixture.mqttUrl).port), '127.0.0.1')
  let received = ''
  socket.on('data', (bytes) => {
    received += bytes.toString('latin1')
  })
  const publish = (id: number, payload: string | Buffer) =>
    socket.write(
      generate({ cmd: 'publish', topic: `${prefix}/json/${id}`, payload, qos: 0, dup: false, retain: false }),
    )
  socket.write(
    generate({ cmd: 'connect', protocolId: 'MQTT', protocolVersion: 4, clean: true, clientId: 'x', keepalive: 0 }),
  )
  publish(1, '1')
  await eventually(() => assert.ok(received.includes('/json/1/status')))
  // The platform may reset the connection while the test still writes the rest of the message.
  socket.on('error', () => {})
  const closed = new Promise((done) => socket.once('close', done))
  publish(2, large)
  await closed
  const tokens = `/api/v1/endpoints/${endpointId}/tokens`
  const [{ endpointTokenId }] = (await admin(`GET ${tokens}`)).body.content
  // A second refusal for the same reason increments the count of the first record, even if the transport differs.
  const reasons = async () => {
    const { body } = await admin(`GET /api/v1/al/refusals?endpointIds=${endpointId}`)
    return body.content.map((refusal: { reason: string; count: number }) => `${refusal.reason} ${refusal.count}`)
  }
  for (const status of ['Suspended', 'Revoked']) {
    assert.equal((await admin(`PUT ${tokens}/${endpointTokenId}/status`, { status })).status, 204)
    assert.equal((await post(`${prefix}/json`, '{}')).status, 401)
  }
  await eventually(async () =>
    assert.deepEqual((await reasons()).toSorted(), ['packet_too_large 2', 'token_revoked 1', 'token_suspended 1']),
  )
})

test('an address that sends many wrong tokens is locked out', async () => {
  const { prefix } = await aProvisionedEndpoint()
  const statuses = new Set<number>()
  for (let i = 0; i < 110; i++) statuses.add((await post(`${prefix}${i}/json`)).status)
  assert.deepEqual([...statuses], [401, 429])
  const locked = await post(`${prefix}/json`)
  assert.equal(locked.status, 429)
  assert.ok(Number(locked.headers.get('retry-after')) > 0)
})

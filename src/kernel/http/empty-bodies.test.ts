import assert from 'node:assert/strict'
import { type AddressInfo, connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { before, test } from 'node:test'
import { openTestPlatform } from '../../../test/harness/test-platform.ts'
import { contract } from '../contract.ts'
import { defineService } from '../define-service.ts'
import { Empty, JsonObject, Type } from '../schema.ts'
import type { Http } from './routes.ts'

function routes(http: Http) {
  const response = { 200: JsonObject() }
  const config = { scope: 'none' }
  http.post(
    '/pause',
    { schema: { name: 'pauses.create', summary: 'Pause', response: { 204: Empty() } }, config },
    (_, reply) => reply.code(204).send(),
  )
  http.delete(
    '/things',
    { schema: { name: 'things.delete', summary: 'Delete', response: { 204: Empty() } }, config },
    (_, reply) => reply.code(204).send(),
  )
  const body = Type.Object({ name: Type.Optional(Type.String()) })
  http.post(
    '/optional',
    {
      schema: { name: 'optionals.create', summary: 'Take a name', body, response },
      config: { ...config, bodyOptional: true },
    },
    ({ body }) => ({ ...body, isOptional: true }),
  )
  http.post(
    '/raw',
    { schema: { name: 'raws.create', summary: 'Take bytes', body, response }, config: { ...config, rawBody: true } },
    ({ body }) => ({ bytes: (body as unknown as Buffer).length }),
  )
}

const service = defineService({
  name: 'test',
  provides: contract<object>('test'),
  build: () => ({ api: {}, http: [{ name: 'binary', title: 'Empty', roots: ['/bcx/api/v1'], routes }] }),
})

let port: number
before(async () => {
  const platform = await openTestPlatform({ services: [service] })
  await platform.http.app.listen({ host: '127.0.0.1', port: 0 })
  port = (platform.http.app.server.address() as AddressInfo).port
})

async function ask(operation: string, headers: string[], body = '') {
  const [method, path] = operation.split(' ')
  const socket = connect(port, '127.0.0.1')
  const lines = [`${method} /bcx/api/v1${path} HTTP/1.1`, 'Host: a', 'Connection: close', ...headers]
  socket.write(`${lines.join('\r\n')}\r\n\r\n${body}`)
  const answer = await text(socket)
  return { status: Number(answer.split(' ')[1]), body: answer.slice(answer.indexOf('\r\n\r\n') + 4) }
}

/** The headers that each client adds to a request without a body. */
const clients: [string, string[], string?][] = [
  [
    "curl -d '', urllib and HttpURLConnection",
    ['Content-Type: application/x-www-form-urlencoded', 'Content-Length: 0'],
  ],
  ['aiohttp', ['Content-Type: application/octet-stream', 'Content-Length: 0']],
  ['fetch with an empty text', ['Content-Type: text/plain;charset=UTF-8', 'Content-Length: 0']],
  ['a script with a malformed type', ['Content-Type: utf-8']],
  ['a script with an empty type', ['Content-Type:', 'Content-Length: 0']],
  ['requests and Java with an empty stream', ['Transfer-Encoding: chunked'], '0\r\n\r\n'],
  [
    'a form with an empty stream',
    ['Content-Type: application/x-www-form-urlencoded', 'Transfer-Encoding: chunked'],
    '0\r\n\r\n',
  ],
]
for (const [name, headers, end] of clients)
  test(`a request without a body is accepted with the headers of ${name}`, async () => {
    assert.equal((await ask('POST /pause', headers, end)).status, 204)
    assert.equal((await ask('DELETE /things', headers, end)).status, 204)
    assert.deepEqual(await ask('POST /optional', headers, end), { status: 200, body: '{"isOptional":true}' })
    assert.deepEqual(await ask('POST /raw', headers, end), { status: 200, body: '{"bytes":0}' })
  })

test('a body with another content type is answered with 415', async () => {
  for (const headers of [['Content-Type: text/plain'], []])
    for (const operation of ['POST /pause', 'POST /optional']) {
      const { status, body } = await ask(operation, [...headers, 'Content-Length: 2'], '{}')
      assert.equal(status, 415)
      assert.match(
        body,
        /^\{"message":"Content-Type (text\/plain|none) is not supported here; send application\/json"\}$/,
      )
    }
})

import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { aCaller, aTenantAdmin } from '../../../test/harness/builders.ts'
import { openTestPlatform, type TestPlatform } from '../../../test/harness/test-platform.ts'
import { startUndisturbedTime } from '../../../test/harness/undisturbed-time.ts'
import { anonymousCaller, contract } from '../contract.ts'
import { defineService } from '../define-service.ts'
import { detailFormat, errorDetailsFormat } from '../error-formats.ts'
import { defineError } from '../errors.ts'
import { AnyJson, DateTime, Empty, JsonObject, listOf, Name, SerialId, Text, TextList, Type } from '../schema.ts'
import type { Http } from './routes.ts'

const Thing = Type.Object({ id: Type.Integer(), name: Type.String(), at: DateTime() })
const Teapot = defineError<{ name: string }>('test_teapot', 418, 'I am {name}, a teapot')

const body = Type.Object({
  name: Name({ maxLength: 8 }),
  kind: Type.Enum(['small', 'large']),
  note: Type.Optional(Text()),
  code: Type.Optional(Name({ pattern: '^[a-z]+$', description: 'Lower-case letters' })),
  inner: Type.Optional(Type.Object({ count: Type.Integer({ minimum: 1, maximum: 9 }) })),
})

/** Defines the same routes for several APIs; the names of the operations differ. */
const routes = (api: string) => (http: Http) => {
  const config = { scope: 'thing:create', on: 'tenant' } as const
  http.post(
    '/things/:id',
    {
      schema: {
        name: `${api}.things.create`,
        summary: 'Create a thing',
        params: Type.Object({ id: SerialId() }),
        body,
        response: { 201: Thing },
      },
      config,
    },
    (request, reply) =>
      reply
        .code(201)
        .header('location', http.link(request, `/things/${request.params.id}`))
        .send({ id: request.params.id, name: request.body.name, at: new Date(0), secret: 'must not leave' }),
  )
  const query = Type.Object({ limit: Type.Integer({ minimum: 0, default: 100 }), tags: Type.Optional(TextList()) })
  http.get(
    '/things',
    { schema: { name: `${api}.things.list`, summary: 'List things', query, response: { 200: JsonObject() } }, config },
    (request) => ({
      limit: request.query.limit,
      tags: listOf(request.query.tags) ?? null,
    }),
  )
  http.put(
    '/plain',
    {
      schema: {
        name: `${api}.plain.update`,
        summary: 'Replace any JSON',
        body: AnyJson(),
        response: { 200: AnyJson() },
      },
      config: { ...config, anyJson: true },
    },
    ({ body }, reply) => reply.type('application/json').send(JSON.stringify(body)),
  )
  const words = Type.Array(Name(), { maxItems: 10 })
  http.put(
    '/words',
    {
      schema: { name: `${api}.words.update`, summary: 'Replace the words', body: words, response: { 204: Empty() } },
      config: { ...config, bodyBytesMax: 1024 * 1024 },
    },
    (_, reply) => reply.code(204).send(),
  )
  http.get(
    '/teapot',
    {
      schema: { name: `${api}.teapot.get`, summary: 'Get a teapot', response: { 200: Empty() } },
      config: { scope: 'none' },
    },
    () => {
      throw Teapot({ name: 'Russell' })
    },
  )
  http.get(
    '/broken',
    {
      schema: { name: `${api}.broken.get`, summary: 'Get an error', response: { 200: Empty() } },
      config: { scope: 'none' },
    },
    () => {
      throw new Error('the password is hunter2')
    },
  )
}

const apis = defineService({
  name: 'test',
  provides: contract<object>('test'),
  build: () => ({
    api: {},
    http: [
      { name: 'application', title: 'A', roots: ['/api/v1', '/tekton/api/v1'], routes: routes('application') },
      { name: 'vpn', title: 'B', roots: ['/vpms/api/v1'], routes: routes('vpn'), errorFormat: detailFormat },
      { name: 'assets', title: 'C', roots: ['/am'], routes: routes('assets'), errorFormat: errorDetailsFormat },
    ],
  }),
})

let platform: TestPlatform
before(async () => {
  platform = await openTestPlatform({ services: [apis], environment: { WAYPOST_LOG_LEVEL: 'silent' } })
})

const good = { name: 'a', kind: 'small' }
const ask = (operation: string, payload?: unknown, headers?: Record<string, string>) =>
  platform.as(aTenantAdmin())(operation, payload, headers)

test('a response has only declared fields, and its links use the root of the request', async () => {
  const answer = await ask('POST /api/v1/things/1', good)
  assert.equal(answer.status, 201)
  assert.deepEqual(answer.body, { id: 1, name: 'a', at: '1970-01-01T00:00:00.000Z' })
  assert.equal(answer.headers.location, 'http://waypost.test/api/v1/things/1')
  const alias = await ask('POST /tekton/api/v1/things/1', good, { host: 'evil.example' })
  assert.equal(alias.headers.location, 'http://waypost.test/tekton/api/v1/things/1')
})

test('a double slash and a trailing slash are ignored', async () => {
  assert.equal((await ask('POST /api/v1//things/1/', good)).status, 201)
})

const bad: [string, unknown, number, RegExp, Record<string, string>?][] = [
  ['missing field', { kind: 'small' }, 400, /^name: is required/],
  ['null', { ...good, name: null }, 400, /^name: expected a string/],
  ['a number for a string', { ...good, name: 7 }, 400, /^name: expected a string/],
  ['too long', { ...good, name: 'x'.repeat(9) }, 400, /^name: expected at most 8 characters/],
  ['empty text', { ...good, name: '' }, 400, /^name: must not be empty/],
  ['unknown word', { ...good, kind: 'huge' }, 400, /^kind: expected one of small, large/],
  ['no match', { ...good, code: 'X' }, 400, /^code: expected text that matches \^\[a-z\]\+\$ \(Lower-case letters\)$/],
  ['wrong inner field', { ...good, inner: { count: 'many' } }, 400, /^inner\.count: expected an integer/],
  ['a text for a number', { ...good, inner: { count: '3' } }, 400, /^inner\.count: expected an integer/],
  ['out of range', { ...good, inner: { count: 10 } }, 400, /^inner\.count: expected a number <= 9/],
  ['an array', [], 400, /^body: expected an object/],
  ['no body', undefined, 400, /^body: expected an object/],
  ['empty body', '', 400, /^body: expected an object/],
  ['malformed JSON', '{"name":', 400, /^body: malformed JSON/],
  ['NUL', '{"name":"a\\u0000","kind":"small"}', 400, /^name: expected text without NUL/],
  ['a lone surrogate', '{"name":"\\ud800","kind":"small"}', 400, /^name: expected text without/],
  ['a prototype', '{"name":"a","kind":"small","__proto__":{"x":1}}', 400, /^__proto__: /],
  ['an inner prototype', '{"name":"a","kind":"small","x":{"__proto__":1}}', 400, /^x\.__proto__: /],
  ['deeply nested brackets', `{"name":${'['.repeat(200)}${']'.repeat(200)}}`, 400, /nested deeper than 64/],
  [
    'a number beyond the range of doubles',
    '{"name":"a","kind":"small","inner":{"count":1e400}}',
    400,
    /^count: 1e400 is not a number/,
  ],
  [
    'an integer that a double cannot represent',
    '{"name":"a","kind":"small","x":12345678901234567890}',
    400,
    /^x: 12345678901234567890 is/,
  ],
  ['invalid UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d]), 400, /valid UTF-8/],
  ['too large', `{"name":"${'x'.repeat(256 * 1024)}"}`, 413, /larger than 262144 bytes/],
  [
    'compressed',
    gzipSync('{"name":"a","kind":"small"}'),
    415,
    /^Content-Encoding gzip is not supported/,
    { 'content-encoding': 'gzip' },
  ],
  [
    'another content type',
    'name=a',
    415,
    /^Content-Type application\/x-www-form-urlencoded/,
    { 'content-type': 'application/x-www-form-urlencoded' },
  ],
]
for (const [name, payload, status, message, headers] of bad)
  test(`a bad body (${name}) is answered with ${status}`, async () => {
    const answer = await ask('POST /api/v1/things/1', payload, headers)
    assert.equal(answer.status, status, answer.text)
    assert.match(answer.body.message, message)
  })

for (const [url, message] of [
  ['/api/v1/things/zero', /^id: expected an integer/],
  ['/api/v1/things/0', /^id: expected a number >= 1/],
  ['/api/v1/things/99999999999', /^id: expected a number <= 2147483647/],
  ['/api/v1/things/%00', /^id: expected text without NUL/],
  ['/api/v1/things/%ff', /not a valid url component/],
  [`/api/v1/things/${'9'.repeat(3000)}`, /^a part of the address is longer/],
] as const)
  test(`the path ${url.slice(0, 40)} is answered with 400`, async () => {
    const answer = await ask(`POST ${url}`, good)
    assert.equal(answer.status, 400, answer.text)
    assert.match(answer.body.message, message)
    assert.ok(answer.text.length < 400)
  })

test('a long list of invalid items is rejected as fast as a short list, with its first error', async () => {
  const words = Array.from({ length: 250_000 }, () => 1)
  const milliseconds: number[] = []
  // The fastest of three runs counts, because other test files may use the CPU at the same time.
  for (let n = 0; n < 3; n++) {
    const undisturbedMs = startUndisturbedTime()
    const answer = await ask('PUT /api/v1/words', words)
    milliseconds.push(undisturbedMs())
    assert.equal(answer.status, 400)
    assert.deepEqual(answer.body, { message: 'body: expected at most 10 items' })
  }
  assert.ok(Math.min(...milliseconds) < 1000, `${milliseconds} ms`)
})

test('the size limit of a body is the limit that its route declares, or the limit of free-form JSON', async () => {
  const text = (kibibytes: number) => JSON.stringify('x'.repeat(kibibytes * 1024 - 2))
  for (const [operation, kibibytes, status] of [
    ['PUT /api/v1/plain', 1024, 200],
    ['PUT /api/v1/plain', 1025, 413],
    ['PUT /api/v1/words', 1024, 400],
    ['PUT /api/v1/words', 1025, 413],
    ['POST /api/v1/things/1', 256, 400],
    ['POST /api/v1/things/1', 257, 413],
  ] as const) {
    const answer = await ask(operation, text(kibibytes))
    assert.equal(answer.status, status, `${operation} with ${kibibytes} KiB`)
    const limit = operation.startsWith('POST') ? 262_144 : 1_048_576
    if (status === 413) assert.equal(answer.body.message, `The body is larger than ${limit} bytes`)
  }
})

test('numbers that a double can represent are accepted, however they are written', async () => {
  const text = '{"a":1e30,"b":9007199254740991,"c":0.1234567890123456789,"d":"1e400","e":1e-400}'
  assert.equal((await ask('PUT /api/v1/plain', text)).status, 200)
})

test('unknown fields are ignored', async () => {
  assert.equal((await ask('POST /api/v1/things/1', { ...good, more: true })).status, 201)
})

test('lists in a query are separated by commas, repeated or both; numbers are coerced and have defaults', async () => {
  assert.deepEqual((await ask('GET /api/v1/things')).body, { limit: 100, tags: null })
  assert.deepEqual((await ask('GET /api/v1/things?tags=a,b&tags=c&limit=5')).body, { limit: 5, tags: ['a', 'b', 'c'] })
  assert.deepEqual((await ask('GET /api/v1/things?tags=a,%20b')).body.tags, ['a', 'b'])
  // PHP, axios and Faraday add brackets, encoded or not.
  for (const query of ['tags%5B0%5D=a&tags%5B1%5D=b', 'tags[]=a&tags[]=b', 'tags=a&tags[]=b'])
    assert.deepEqual((await ask(`GET /api/v1/things?${query}&limit[]=5`)).body, { limit: 5, tags: ['a', 'b'] }, query)
  for (const limit of ['-1', 'x', '1.5', '%20', '0x10', '1e1', ''])
    assert.equal((await ask(`GET /api/v1/things?limit=${limit}`)).status, 400, limit)
})

test('in free-form JSON, __proto__ is an ordinary key', async () => {
  const text = '{"__proto__":{"admin":true},"constructor":1}'
  const answer = await ask('PUT /api/v1/plain', text)
  assert.equal(answer.text, text)
  assert.equal(({} as Record<string, unknown>).admin, undefined)
})

test('each error format presents the same error in its own shape', async () => {
  const wrong = { ...good, name: 7 }
  assert.deepEqual((await ask('POST /vpms/api/v1/things/1', wrong)).body, {
    name: ['expected a string'],
    detail: 'name: expected a string',
    message: 'name: expected a string',
  })
  assert.deepEqual((await ask('POST /am/things/1', wrong)).body, {
    error: 'name: expected a string',
    details: { name: ['expected a string'] },
  })
  assert.deepEqual((await ask('GET /am/teapot')).body, { error: 'I am Russell, a teapot' })
})

test('an internal error reveals only the correlation id of its log entry', async () => {
  const answer = await ask('GET /api/v1/broken', undefined, { 'x-correlation-id': 'case-7' })
  assert.equal(answer.status, 500)
  assert.deepEqual(answer.body, {
    message: 'Internal error; the log of the platform has the details under the correlation id case-7',
  })
})

test('a header of an error response contains the code of the error, in every error format', async () => {
  const codeOf = async (operation: string, body?: unknown) => (await ask(operation, body)).headers['x-waypost-error']
  assert.equal(await codeOf('POST /am/things/1', { name: 5 }), 'invalid_request')
  assert.equal(await codeOf('POST /api/v1/things/1', { name: 5 }), 'invalid_request')
  assert.equal(await codeOf('GET /api/v1/broken'), 'internal')
  assert.equal(await codeOf('GET /api/v1/nowhere'), 'no_such_route')
  assert.equal(await codeOf('POST /api/v1/things/1', good), undefined)
})

test('a header of an error response contains the encoded name of the wrong field', async () => {
  const answer = await ask('POST /api/v1/things/1', { ...good, name: 5 })
  assert.equal(answer.headers['x-waypost-field'], 'name')
  assert.equal((await ask('GET /api/v1/nowhere')).headers['x-waypost-field'], undefined)
})

test('the correlation id of the caller is returned; a missing or malformed correlation id is replaced', async () => {
  assert.equal(
    (await ask('GET /api/v1/teapot', undefined, { 'x-correlation-id': 'abc.1' })).headers['x-correlation-id'],
    'abc.1',
  )
  const replaced = await ask('GET /api/v1/teapot', undefined, { 'x-correlation-id': 'a b<c>' })
  assert.match(replaced.headers['x-correlation-id']!, /^[0-9a-f-]{36}$/)
})

test('an anonymous caller gets 401, and a caller without the scope gets 403 before the body is read', async () => {
  const anonymous = await platform.as(undefined)('POST /api/v1/things/1', good)
  assert.equal(anonymous.status, 401)
  assert.equal(anonymous.headers['www-authenticate'], 'Bearer')
  const reader = platform.as(aCaller({ on: { 'tenant-system': ['thing:read'] } }))
  const refused = await reader('POST /api/v1/things/1', '{ not even JSON')
  assert.equal(refused.status, 403)
  assert.deepEqual(refused.body, { message: 'The caller does not hold the scope thing:create on tenant-system' })
})

test('a request to an unknown path gets 404 without its body being parsed', async () => {
  for (const body of ['{ not even JSON', Buffer.alloc(2 * 1024 * 1024, '[')]) {
    const answer = await platform.as(undefined)('POST /api/v1/nothing', body)
    assert.equal(answer.status, 404)
    assert.deepEqual(answer.body, { message: 'There is no operation POST /api/v1/nothing; /docs lists all operations' })
  }
})

test('an unknown path below a root of several APIs is answered with 404 in the default error format', async () => {
  const answer = await ask('GET /api/v1/nothing?x=1')
  assert.equal(answer.status, 404)
  assert.deepEqual(answer.body, { message: 'There is no operation GET /api/v1/nothing; /docs lists all operations' })
})

test('a route without a scope is rejected when it is declared', async () => {
  const careless = defineService({
    name: 'careless',
    provides: contract<object>('careless'),
    build: () => ({
      api: {},
      http: [
        {
          name: 'rules',
          title: 'D',
          roots: ['/re/api/v1'],
          routes: (http) =>
            http.get(
              '/x',
              { schema: { name: 'x.get', summary: 'Get x', response: { 200: Empty() } }, config: {} as never },
              () => null,
            ),
        },
      ],
    }),
  })
  await assert.rejects(openTestPlatform({ services: [careless] }), /GET \/x declares no scope/)
})

test('a server does not start if an operation has no name or two operations have the same name', async () => {
  const opened = (...names: string[]) => {
    const service = defineService({
      name: 'nameless',
      provides: contract<object>('nameless'),
      build: () => ({
        api: {},
        http: [
          {
            name: 'rules',
            title: 'D',
            roots: ['/re/api/v1'],
            routes(http) {
              for (const [index, name] of names.entries()) {
                const schema = { name, summary: 'Get it', response: { 200: Empty() } }
                http.get(`/x${index}`, { schema, config: { scope: 'none' } }, () => null)
              }
            },
          },
        ],
      }),
    })
    return openTestPlatform({ services: [service] })
  }
  await assert.rejects(opened(''), /GET \/re\/api\/v1\/x0 has the name "": expected a name/)
  await assert.rejects(opened('x.get', 'x.get'), /have the same name x\.get/)
})

test('an API that requires authentication rejects the internal call of an anonymous caller', async () => {
  const { internalCalls } = platform.kit
  const request = { method: 'GET', url: '/api/v1/things' }
  const limits = { bytesMax: 1024 * 1024, timeoutMs: 5000 }
  assert.equal((await internalCalls.call(anonymousCaller, request, limits)).status, 401)
  assert.notEqual((await internalCalls.call(aTenantAdmin(), request, limits)).status, 401)
})

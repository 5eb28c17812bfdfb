import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import fc from 'fast-check'
import { aMessage, rejectsWith } from '../../test/harness/device-messages.ts'
import { jsonPayload, resources } from './device-resources.ts'
import { AnyJson, JsonObject, Type } from './schema.ts'

const receive = resources({
  '/config/json[/<name>]': async (_message, { name }) => ({ payload: ['config', name] }),
  '/command[/<type>]': async (_message, { type }) => ({ payload: ['command', type] }),
  '/data[/<*>]': async () => ({ payload: ['data'] }),
  '/update': async () => ({ payload: ['update'] }),
  '/update/keys': async () => ({ payload: ['update keys'] }),
})
const at = async (resourcePath: string) => (await receive(aMessage({ resourcePath })))?.payload

suite('a table of resources', () => {
  const found: [path: string, answer: unknown[]][] = [
    ['/config/json', ['config', undefined]],
    ['/config/json/night', ['config', 'night']],
    ['/command', ['command', undefined]],
    ['/command/close-door', ['command', 'close-door']],
    ['/data', ['data']],
    ['/data/', ['data']],
    ['/data/a/b//c\n', ['data']],
    ['/update', ['update']],
    ['/update/keys', ['update keys']],
  ]
  for (const [path, answer] of found)
    test(`a table of resources finds ${JSON.stringify(path)}`, async () => assert.deepEqual(await at(path), answer))

  const missing = [
    '',
    '/',
    'config/json',
    '/config',
    '/config/json/',
    '/config/json/a/b',
    '/config/json\n',
    '/Config/json',
  ]
  for (const path of [...missing, '/command/', '/command//', '/dataset', '/update/', '/update/key', '/update/keys/x'])
    test(`a table of resources has no resource at ${JSON.stringify(path)}`, async () => {
      const error = await rejectsWith(at(path), 404)
      assert.match(error.message, /no resource/)
    })

  test('a table of resources accepts any non-empty level as a name', () =>
    fc.assert(
      fc.asyncProperty(fc.string({ unit: 'grapheme', minLength: 1 }), async (name) => {
        if (name.includes('/')) await rejectsWith(at(`/config/json/${name}`), 404)
        else assert.deepEqual(await at(`/config/json/${name}`), ['config', name])
      }),
    ))
})

suite('a JSON payload', () => {
  const read = jsonPayload(Type.Object({ configId: Type.String(), statusCode: Type.Integer({ default: 200 }) }))
  const reading = async (payload: string | Buffer, by: (payload: Buffer) => unknown = read) => by(Buffer.from(payload))

  test('a JSON payload is parsed, with its defaults', async () => {
    assert.deepEqual(await reading('{"configId": "a"}'), { configId: 'a', statusCode: 200 })
    assert.deepEqual(await reading(' {"configId": "a", "statusCode": 404, "id": 5}'), {
      configId: 'a',
      statusCode: 404,
      id: 5,
    })
  })

  const bad: [payload: string | Buffer, problem: RegExp][] = [
    ['', /payload: expected JSON/],
    [' ', /payload: malformed JSON/],
    ['{"configId": "a"', /payload: malformed JSON/],
    ["{'configId': 'a'}", /payload: malformed JSON/],
    ['{}', /configId: is required/],
    ['[]', /payload: expected an object/],
    ['null', /payload: expected an object/],
    ['{"configId": 5}', /configId: expected a string/],
    ['{"configId": "a", "statusCode": "200"}', /statusCode: expected an integer/],
    ['{"configId": "a", "statusCode": 1.5}', /statusCode: expected an integer/],
    ['{"configId": "a\\u0000"}', /configId: expected text without NUL/],
    ['{"configId": "a\0"}', /payload: malformed JSON/],
    ['{"configId": "\\ud800"}', /configId: expected text without NUL and lone surrogates/],
    [Buffer.from([0x22, 0xff, 0x22]), /payload: expected valid UTF-8/],
    ['{"configId": "a", "n": 12345678901234567890}', /n: 12345678901234567890 is not a number/],
    ['{"configId": "a", "n": 1e999}', /n: 1e999 is not a number/],
    [`${'['.repeat(65)}${']'.repeat(65)}`, /payload: nested deeper than 64/],
    ['['.repeat(60_000), /payload: nested deeper than 64/],
    ['"\\u0000"', /payload: expected text without NUL/],
  ]
  for (const [payload, problem] of bad)
    test(`a JSON payload is rejected: ${JSON.stringify(payload.toString().slice(0, 60))}`, async () => {
      const error = await rejectsWith(reading(payload), 400)
      assert.match(error.message, problem)
    })

  test('a JSON payload has at most the declared size, 64 KiB by default', async () => {
    const text = JSON.stringify('x'.repeat(64 * 1024))
    assert.match((await rejectsWith(reading(text), 413)).message, /larger than 65536 bytes/)
    assert.equal(await reading(text, jsonPayload(AnyJson(), { bytesMax: 65 * 1024 })), JSON.parse(text))
  })

  test('a JSON payload may be missing if the resource declares a value for a missing payload', async () => {
    const readPayload = jsonPayload(JsonObject(), { empty: () => ({}) })
    assert.deepEqual(await reading('', readPayload), {})
  })

  test('a JSON payload treats __proto__ as an ordinary key', async () => {
    const value = (await reading('{"__proto__": {"polluted": 1}}', jsonPayload(JsonObject()))) as object
    assert.deepEqual(Object.keys(value), ['__proto__'])
    assert.equal(Object.getPrototypeOf(value), Object.prototype)
    assert.equal(({} as { polluted?: number }).polluted, undefined)
  })

  test('a JSON payload is parsed without changes', () => {
    const any = jsonPayload(AnyJson())
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 5 }), (value) => {
        const text = JSON.stringify(value)
        if (text.includes('\\u')) return
        assert.equal(JSON.stringify(any(Buffer.from(text))), text)
      }),
    )
  })

  test('a JSON payload of any bytes is either parsed or rejected with a 400', () =>
    fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 200 }), async (bytes) => {
        const outcome = await reading(Buffer.from(bytes)).catch((error) => error.status)
        assert.ok(typeof outcome === 'object' || outcome === 400)
      }),
    ))
})

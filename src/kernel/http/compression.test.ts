import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { before, describe, test } from 'node:test'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { aTenantAdmin } from '../../../test/harness/builders.ts'
import { eventually } from '../../../test/harness/eventually.ts'
import { openTestPlatform, type TestPlatform } from '../../../test/harness/test-platform.ts'
import { contract } from '../contract.ts'
import { defineService } from '../define-service.ts'
import { Bytes, Events, JsonObject, Type } from '../schema.ts'
import { encodingFor } from './compression.ts'
import { sendText } from './send.ts'

const scope = { scope: 'none' }
const response = { 200: JsonObject() }
const operation = (name: string) => ({ name: `samples.${name}.get`, summary: 'Get it', response })
const long = { text: 'abc '.repeat(2000) }
let closedStreams = 0

const sample = defineService({
  name: 'sample',
  provides: contract<Record<never, never>>('sample'),
  build: () => ({
    api: {},
    http: [
      {
        name: 'sample',
        title: 'Sample',
        roots: ['/api'],
        routes(http) {
          http.get('/long', { schema: operation('long'), config: scope }, (_, reply) =>
            reply.header('etag', '"e1"').send(long),
          )
          http.get('/short', { schema: operation('short'), config: scope }, () => ({ text: 'x' }))
          http.get('/stream', { schema: operation('stream'), config: scope }, (_, reply) =>
            sendText(reply, Readable.from(Array.from({ length: 500 }, (_one, n) => `${n} `.repeat(50)))),
          )
          http.get('/endless', { schema: operation('endless'), config: scope }, (_, reply) => {
            const source = new Readable({
              read() {
                this.push(`${'0123456789'.repeat(1000)}${closedStreams}`)
              },
            })
            source.once('close', () => closedStreams++)
            return sendText(reply, source)
          })
          http.get('/broken', { schema: operation('broken'), config: scope }, (_, reply) =>
            sendText(
              reply,
              Readable.from(
                (async function* () {
                  // The bytes are random, so that compressed output is sent before the failure.
                  for (let n = 0; n < 10; n++) yield randomBytes(100_000).toString('base64')
                  throw new Error('source failed')
                })(),
              ),
            ),
          )
          const bytes = { ...operation('bytes'), response: { 200: Bytes() } }
          http.get('/bytes', { schema: bytes, config: scope }, (_, reply) =>
            reply.type('application/octet-stream').send(Buffer.alloc(5000)),
          )
          const events = { ...operation('events'), name: 'samples.events.watch', response: { 200: Events() } }
          http.get('/events', { schema: events, config: scope }, (asked, reply) => {
            const stream = http.events(asked, reply)
            stream.send('one', 'x'.repeat(2000))
          })
          http.get('/mine', { schema: operation('mine'), config: { scope: 'authenticated' } }, () => long)
          const failing = { ...operation('failing'), query: Type.Object({ n: Type.Integer() }) }
          http.get('/failing', { schema: failing, config: scope }, () => long)
        },
        raw(app) {
          app.get('/raw', (_, reply) => reply.send(long))
        },
      },
    ],
  }),
})

describe('compression of responses', () => {
  let waypost: TestPlatform
  let port: number
  before(async () => {
    waypost = await openTestPlatform({ services: [sample], environment: { WAYPOST_LOG_LEVEL: 'fatal' } })
    await waypost.http.app.listen({ host: '127.0.0.1', port: 0 })
    port = (waypost.http.app.server.address() as AddressInfo).port
  })
  /** Sends a request without the headers that `fetch` adds, and returns the bytes as they were sent. */
  const get = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
    new Promise<{ status: number; headers: Record<string, string | undefined>; bytes: Buffer }>((resolve, reject) => {
      const sent = request({ host: '127.0.0.1', port, path, method, headers }, (answer) => {
        const chunks: Buffer[] = []
        answer.on('data', (chunk) => chunks.push(chunk))
        answer.on('error', reject)
        answer.on('end', () =>
          resolve({ status: answer.statusCode!, headers: answer.headers as never, bytes: Buffer.concat(chunks) }),
        )
      })
      sent.on('error', reject).end()
    })

  test('compression uses the encoding that the client prefers, and names it in the response', async () => {
    for (const [accepted, encoding, open] of [
      ['gzip', 'gzip', gunzipSync],
      ['gzip, deflate, br', 'br', brotliDecompressSync],
      ['br;q=0.5, gzip', 'gzip', gunzipSync],
      ['*', 'br', brotliDecompressSync],
    ] as const) {
      const { headers, bytes } = await get('/api/long', { 'accept-encoding': accepted })
      assert.equal(headers['content-encoding'], encoding, accepted)
      assert.equal(headers['content-length'], String(bytes.length))
      assert.equal(headers.vary, 'Accept-Encoding')
      assert.ok(bytes.length < 500)
      assert.deepEqual(JSON.parse(open(bytes).toString()), long)
    }
  })

  test('a response is not compressed if the client accepts no compression, the method is HEAD, or the response is small, binary, an error or outside of the API', async () => {
    for (const [path, accepted, method] of [
      ['/api/long', ''],
      ['/api/long', 'identity'],
      ['/api/long', 'zstd, gzip;q=0'],
      ['/api/short', 'gzip'],
      ['/api/bytes', 'gzip'],
      ['/raw', 'gzip'],
      ['/api/long', 'gzip', 'HEAD'],
      ['/api/failing?n=x', 'gzip'],
    ] as const) {
      const { headers, bytes } = await get(path, accepted === '' ? {} : { 'accept-encoding': accepted }, method)
      assert.equal(headers['content-encoding'], undefined, `${path} ${accepted}`)
      if (method !== 'HEAD') assert.equal(headers['content-length'], String(bytes.length))
      assert.equal(headers.vary, path === '/api/long' ? 'Accept-Encoding' : undefined, path)
    }
  })

  test('the response to HEAD has the length of the response to GET, or no length if the response to GET is compressed', async () => {
    const plain = await get('/api/long')
    const length = plain.headers['content-length'] ?? assert.fail('GET has no length')
    for (const [accepted, expected] of [
      ['', length],
      ['zstd', length],
      ['gzip', undefined],
    ] as const) {
      const { status, headers, bytes } = await get(
        '/api/long',
        accepted === '' ? {} : { 'accept-encoding': accepted },
        'HEAD',
      )
      assert.deepEqual([status, headers['content-length'], bytes.length], [200, expected, 0], accepted)
      assert.equal(headers['content-type'], plain.headers['content-type'])
    }
  })

  test('compression of responses makes their ETags weak', async () => {
    const plain = await get('/api/long')
    assert.equal(plain.headers.etag, '"e1"')
    const { headers } = await get('/api/long', { 'accept-encoding': 'br' })
    assert.equal(headers.etag, 'W/"e1"')
  })

  test('compression of responses compresses streams piece by piece', async () => {
    const { headers, bytes } = await get('/api/stream', { 'accept-encoding': 'gzip' })
    assert.deepEqual([headers['content-encoding'], headers['content-length']], ['gzip', undefined])
    const text = gunzipSync(bytes).toString()
    assert.equal(text, Array.from({ length: 500 }, (_, n) => `${n} `.repeat(50)).join(''))
    assert.ok(bytes.length < text.length / 5)
  })

  test('compression of responses ends the source stream when the client disconnects, and cuts off the response when the source fails', async () => {
    const responseEnd = new Promise<void>((resolve, reject) => {
      const headers = { 'accept-encoding': 'gzip' }
      const sent = request({ host: '127.0.0.1', port, path: '/api/endless', headers }, (answer) => {
        answer.once('data', () => {
          sent.destroy()
          resolve()
        })
        answer.on('error', () => {})
      })
      sent.on('error', reject).end()
    })
    await responseEnd
    await eventually(() => assert.equal(closedStreams, 1))
    await assert.rejects(get('/api/broken', { 'accept-encoding': 'gzip' }))
    assert.equal((await get('/api/long', { 'accept-encoding': 'gzip' })).status, 200)
  })

  test('compression of responses does not touch event streams', async () => {
    const first = await new Promise<{ encoding: string | undefined; text: string }>((resolve, reject) => {
      const headers = { 'accept-encoding': 'gzip, br' }
      const sent = request({ host: '127.0.0.1', port, path: '/api/events', headers }, (answer) => {
        let text = ''
        answer.on('data', (chunk: Buffer) => {
          text += chunk.toString()
          if (!text.includes('event: one')) return
          sent.destroy()
          resolve({ encoding: answer.headers['content-encoding'], text })
        })
        answer.on('error', () => {})
      })
      sent.on('error', reject).end()
    })
    assert.equal(first.encoding, undefined)
    assert.match(first.text, /event: one/)
  })

  test('a hundred concurrent responses arrive complete; responses above the limit of concurrent compressions are not compressed', async () => {
    const answers = await Promise.all(
      Array.from({ length: 100 }, () => get('/api/long', { 'accept-encoding': 'gzip' })),
    )
    const encodings = new Set(answers.map(({ headers }) => headers['content-encoding']))
    assert.ok(encodings.has('gzip'))
    for (const { headers, bytes } of answers)
      assert.deepEqual(JSON.parse((headers['content-encoding'] ? gunzipSync(bytes) : bytes).toString()), long)
  })

  test('compression of responses is not applied to requests that the platform sends to itself', async () => {
    const call = { method: 'GET', url: '/api/mine', headers: { 'accept-encoding': 'gzip' } }
    const answer = await waypost.kit.internalCalls.call(aTenantAdmin(), call, {
      bytesMax: 1024 * 1024,
      timeoutMs: 5000,
    })
    assert.deepEqual(JSON.parse(answer.body), long)
  })

  test('compression understands every form of the Accept-Encoding header', () => {
    for (const [header, expected] of [
      [undefined, undefined],
      ['', undefined],
      ['gzip;q=1.0', 'gzip'],
      ['GZIP', 'gzip'],
      ['br;q=0, *', 'gzip'],
      ['*;q=0', undefined],
      ['identity, gzip;q=0.5', undefined],
      ['gzip;q=x', 'gzip'],
      [';;;,,,', undefined],
      ['x'.repeat(10_000), undefined],
      [`${'a,'.repeat(30)}gzip`, undefined],
      ['deflate', undefined],
    ] as const)
      assert.equal(encodingFor(header), expected, String(header).slice(0, 40))
  })
})

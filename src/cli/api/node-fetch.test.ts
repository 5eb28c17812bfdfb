import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { resolve } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { createClient } from '../../../sdk/src/index.ts'
import { afterAllTests } from '../../../test/harness/database.ts'
import { nodeFetch } from './node-fetch.ts'

let answer: RequestListener = () => {}
const server = createServer((request, response) => answer(request, response))
await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
afterAllTests(() => {
  server.closeAllConnections()
  server.close()
})
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
const open = (more: object = {}) =>
  createClient({ url, auth: { apiKey: 'key' }, fetch: nodeFetch, attempts: 1, ...more })
const get = (more?: object) => open(more).call('endpoints.get', { endpointId: 'e' })
const json = { 'content-type': 'application/json' }

test('a compressed or uncompressed response has its status, headers and body', async () => {
  const text = JSON.stringify({ endpointId: 'Київ'.repeat(1000) })
  const encodings = [
    ['identity', Buffer.from(text)],
    ['gzip', gzipSync(text)],
    ['br', brotliCompressSync(text)],
  ] as const
  for (const [encoding, bytes] of encodings) {
    answer = (_, response) => response.writeHead(200, { ...json, etag: '"1"', 'content-encoding': encoding }).end(bytes)
    const { status, body, etag } = await get()
    assert.deepEqual([status, body, etag], [200, JSON.parse(text), '"1"'], encoding)
  }
})

test('a request is sent with its method, headers and body; the body can be a stream', async () => {
  const seen: unknown[] = []
  answer = async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    seen.push([request.method, request.headers['x-identity-api-key'], Buffer.concat(chunks).toString()])
    response.writeHead(204).end()
  }
  const client = open()
  await client.call('endpoints.version.update', { endpointId: 'e', body: { name: 'v1' } })
  const parts = async function* () {
    for (const part of ['a', 'b']) yield Buffer.from(part)
  }
  await client.call('blobs.upload', { 'X-Auth-Token': 't', body: parts() })
  assert.deepEqual(seen[0], ['PUT', 'key', '{"name":"v1"}'])
  assert.equal((seen[1] as string[])[2], 'ab')
})

test('the client follows no redirect, and a response with invalid JSON is an error', async () => {
  let requests = 0
  answer = (_, response) => {
    requests++
    response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end()
  }
  await assert.rejects(get(), { code: 'redirected' })
  assert.equal(requests, 1)
  answer = (_, response) => response.writeHead(200, json).end('{"half":')
  await assert.rejects(get(), { code: 'unreadable' })
})

test('a refused or broken connection, an incomplete response and a time-out each have their own error code', async () => {
  await assert.rejects(open({ url: 'http://127.0.0.1:1' }).me.get(), { code: 'unreachable' })
  answer = (request) => request.socket.destroy()
  await assert.rejects(get(), { code: 'unreachable' })
  answer = (_, response) => {
    response.writeHead(200, { ...json, 'content-length': 100 }).write('{')
    setImmediate(() => response.destroy())
  }
  await assert.rejects(get(), { code: 'interrupted' })
  answer = (_, response) => void response.writeHead(101, { upgrade: 'x', connection: 'upgrade' }).end()
  await assert.rejects(get(), { code: 'unreachable' })
  answer = () => {}
  await assert.rejects(get({ timeoutMs: 50 }), { code: 'timeout' })
  const compressed = gzipSync('x'.repeat(1000)).subarray(0, 20)
  answer = (_, response) => response.writeHead(200, { ...json, 'content-encoding': 'gzip' }).end(compressed)
  await assert.rejects(get(), { code: 'interrupted' })
})

test('large bodies are streamed in both directions, and a slow reader slows the server down', async () => {
  const [chunk, count] = [Buffer.alloc(64 * 1024, 'x'), 512]
  let received = 0
  let sent = 0
  answer = async (request, response) => {
    for await (const bytes of request) received += bytes.length
    response.writeHead(200, { 'content-type': 'application/octet-stream' })
    for (; sent < count; sent++)
      if (!response.write(chunk)) await new Promise((resolve) => response.once('drain', resolve))
    response.end()
  }
  const parts = async function* () {
    for (let index = 0; index < count; index++) yield chunk
  }
  const response = await nodeFetch(url, { method: 'PUT', body: ReadableStream.from(parts()) })
  assert.equal(received, count * chunk.length)
  const reader = response.body!.getReader()
  let read = (await reader.read()).value!.length
  await new Promise((resolve) => setTimeout(resolve, 200))
  assert.ok(sent < count, 'the server has sent everything before it was read')
  for (let part = await reader.read(); !part.done; part = await reader.read()) read += part.value.length
  assert.equal(read, count * chunk.length)
})

test('a caller can cancel a request before its response, and during the body', async () => {
  const canceled = async (when: (controller: AbortController) => void) => {
    const controller = new AbortController()
    const closed = new Promise<void>((resolve) => {
      const before = answer
      answer = (request, response) => {
        response.once('close', resolve)
        before(request, response)
        when(controller)
      }
    })
    await assert.rejects(open().call('endpoints.get', { endpointId: 'e' }, { signal: controller.signal }), {
      code: 'aborted',
    })
    await closed
  }
  answer = () => {}
  await canceled((controller) => controller.abort())
  answer = (_, response) => void response.writeHead(200, json).write('{"begin":')
  await canceled((controller) => setTimeout(() => controller.abort(), 50))
})

test('an upload whose connection breaks is an error', async () => {
  answer = (request) => void request.once('data', () => request.socket.destroy())
  const endless = async function* () {
    while (true) yield Buffer.alloc(64 * 1024)
  }
  await assert.rejects(open().call('blobs.upload', { 'X-Auth-Token': 't', body: endless() }), { code: 'unreachable' })
})

test('a command loads only the descriptions of its own noun, and no packages and no settings of services', async () => {
  answer = (_, response) => response.writeHead(200, json).end('{"endpointId":"e"}')
  const listLoaded = `import { registerHooks } from 'node:module'
    const loaded = []
    registerHooks({ load: (url, context, next) => (loaded.push(url), next(url, context)) })
    process.on('exit', () => console.error(JSON.stringify(loaded)))`
  const args = ['--import', `data:text/javascript,${encodeURIComponent(listLoaded)}`]
  const main = resolve(import.meta.dirname, '../../../bin/main.mjs')
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [...args, main, 'endpoints', 'get', 'e'], {
    env: { WAYPOST_URL: url, WAYPOST_API_KEY: 'key' },
  })
  assert.match(stdout, /endpointId {2}e/)
  const loaded: string[] = JSON.parse(stderr)
  assert.ok(loaded.length < 36, `${loaded.length} modules`)
  const superfluous = loaded.filter((path) =>
    /node_modules|src\/services|kernel\/db|node:(fs|http|util|net|crypto)$/.test(path),
  )
  assert.deepEqual(superfluous, [])
  assert.ok(!loaded.some((path) => /sdk\/src\/(table|index|lists|live)\.ts$/.test(path)))
  assert.deepEqual(
    loaded.filter((path) => path.includes('/described')).map((path) => path.split('/').at(-1)),
    ['endpoints.ts'],
  )
})

/** Tests downloads, uploads and events that arrive in pieces, break and continue. */
import assert from 'node:assert/strict'
import { getEventListeners } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { suite, test } from 'node:test'
import { afterAllTests } from '../../test/harness/database.ts'
import { createClient, type LiveEvent, type ServerEvent, WaypostError } from './index.ts'

async function aServer(handle: (request: IncomingMessage, response: ServerResponse) => unknown) {
  const server = createServer(handle)
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  afterAllTests(async () => {
    server.closeAllConnections()
    server.close()
  })
  const url = `http://127.0.0.1:${(server.address() as { port: number }).port}`
  return createClient({ url, auth: { apiKey: 'key' }, attemptTimeoutMs: 2_000 })
}

const content = Buffer.from(Array.from({ length: 300_000 }, (_, index) => index % 251))
const file = { appName: 'a', endpointId: 'e', filename: 'f' }

/** Serves a file; each response breaks after this number of bytes. */
function breakingFile(piece: number, etagOf: (count: number) => string) {
  const ranges: (string | undefined)[] = []
  const handle = (request: IncomingMessage, response: ServerResponse) => {
    const { range } = request.headers
    ranges.push(range)
    const start = range === undefined ? 0 : Number(/\d+/.exec(range)![0])
    const etag = etagOf(ranges.length)
    const isSame = range === undefined || request.headers['if-range'] === etag
    const from = isSame ? start : 0
    response.writeHead(range !== undefined && isSame ? 206 : 200, { etag, 'content-length': content.length - from })
    const end = Math.min(content.length, from + piece)
    response.write(content.subarray(from, end), () => {
      if (end === content.length) response.end()
      else setTimeout(() => request.socket.destroy(), 20)
    })
  }
  return { ranges, handle }
}

suite('downloads', () => {
  test('a download that breaks continues where it stopped', async () => {
    const { handle, ranges } = breakingFile(100_000, () => '"one"')
    const client = await aServer(handle)
    const { body } = await client.files.download(file)
    assert.ok(Buffer.from(await new Response(body).arrayBuffer()).equals(content))
    assert.ok(ranges.length >= 3, ranges.join())
    assert.equal(ranges[0], undefined)
  })

  test('a download that breaks fails if the file has changed meanwhile', async () => {
    const { handle } = breakingFile(100_000, (count) => `"${count}"`)
    const client = await aServer(handle)
    const { body } = await client.files.download(file)
    await assert.rejects(new Response(body).arrayBuffer(), (error) => error instanceof WaypostError)
  })

  test('a download of a range that breaks fails, because it could only be resumed as a download of the whole file', async () => {
    const { handle } = breakingFile(50_000, () => '"one"')
    const client = await aServer(handle)
    const { body, status } = await client.files.download({ ...file, range: 'bytes=10-', 'if-range': '"one"' })
    assert.equal(status, 206)
    await assert.rejects(new Response(body).arrayBuffer())
  })
})

suite('uploads', () => {
  const received: string[] = []
  const store = async (request: IncomingMessage, response: ServerResponse) => {
    let text = ''
    for await (const chunk of request) text += chunk
    received.push(text)
    response.writeHead(204).end()
  }
  async function* chunks() {
    for (const text of ['one ', 'two ', 'three']) yield new TextEncoder().encode(text)
  }

  test('text, bytes, blobs, streams, iterators and functions are sent', async () => {
    const client = await aServer(store)
    const bytes = new TextEncoder().encode('one two three')
    for (const body of ['one two three', bytes, new Blob([bytes]), new Blob([bytes]).stream(), chunks(), () => bytes])
      await client.files.upload({ filename: 'f', 'X-Auth-Token': 't', body })
    assert.deepEqual(received, Array(6).fill('one two three'))
  })

  test('an upload is repeated if the caller permits it, except a stream that was already read', async () => {
    let count = 0
    const client = await aServer(async (request, response) => {
      for await (const _ of request);
      if (++count % 2 === 1) request.socket.destroy()
      else response.writeHead(204).end()
    })
    const upload = (body: string | AsyncIterable<Uint8Array>) =>
      client.files.upload({ filename: 'f', 'X-Auth-Token': 't', body }, { repeatable: true })
    await upload('text')
    assert.equal(count, 2)
    await assert.rejects(upload(chunks()))
    assert.equal(count, 3)
  })
})

suite('events', () => {
  test('an answer that is no stream of events is an error', async () => {
    for (const [status, type] of [
      [200, 'text/html'],
      [200, 'application/json'],
      [204, 'text/plain'],
    ] as const) {
      const client = await aServer((_, response) => response.writeHead(status, { 'content-type': type }).end())
      await assert.rejects(client.timeSeries.live.watch({ applicationName: 'a' }), { code: 'unreadable' })
    }
  })

  test('events are parsed with any line ends, and if the bytes are split at any position', async () => {
    const text =
      ': comment\r\n\r\nevent: points\r\nid: 7\r\ndata: {"a":\r\ndata: 1}\r\n\r\ndata:x\n\nevent: none\n\nevent: end\rdata: é\r\r'
    const client = await aServer(async (_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      for (const byte of Buffer.from(text)) {
        response.write(Buffer.from([byte]))
        await new Promise((done) => setImmediate(done))
      }
      response.end('\n')
    })
    const { body } = await client.timeSeries.live.watch({ applicationName: 'a' })
    const events: ServerEvent[] = []
    for await (const event of body) events.push(event)
    assert.deepEqual(events, [
      { event: 'points', data: '{"a":\n1}', id: '7' },
      { event: 'message', data: 'x', id: '7' },
      { event: 'end', data: 'é', id: '7' },
    ])
  })
  test('points that are repeated after an interruption are delivered once, and a reader that waits adds no listeners to the signal', async () => {
    const points = (count: number) => {
      const list = Array.from({ length: count }, (_, index) => ({ timestamp: `t${index}`, values: { value: index } }))
      return `event: points\nid: ${count}\ndata: ${JSON.stringify({ ['__proto__']: { s: list.slice(-1) }, e: { s: list } })}\n\n`
    }
    let count = 0
    const client = await aServer(async (_, response) => {
      count++
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write('event: open\ndata: {}\n\n')
      // Each event is sent while the reader waits for it.
      for (let length = 1; length <= (count === 1 ? 20 : 21); length++) {
        response.write(points(length))
        await new Promise((done) => setImmediate(done))
      }
      if (count === 1) response.end()
    })
    const controller = new AbortController()
    const events: LiveEvent[] = []
    for await (const event of client.live({ applicationName: 'a' }, controller)) {
      events.push(event)
      assert.ok(getEventListeners(controller.signal, 'abort').length <= 2)
      if (event.type === 'points' && 's' in event.points.e! && event.points.e.s!.at(-1)!.timestamp === 't20')
        controller.abort()
    }
    const delivered = events.flatMap((event) => (event.type === 'points' ? event.points.e!.s! : []))
    assert.deepEqual(
      delivered.map(({ values }) => values.value),
      Array.from({ length: 21 }, (_, index) => index),
    )
    assert.equal(({} as { s?: unknown }).s, undefined)
    assert.deepEqual(
      events.filter(({ type }) => type !== 'points').map(({ type }) => type),
      ['open', 'interrupted', 'open'],
    )
  })
})

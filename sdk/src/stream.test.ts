/** Tests a stream with many topics that breaks, resumes and changes. */
import assert from 'node:assert/strict'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { test } from 'node:test'
import { afterAllTests } from '../../test/harness/database.ts'
import { eventually } from '../../test/harness/eventually.ts'
import { createClient, type LiveSubscription, type StreamEvent, WaypostError } from './index.ts'

interface Received {
  method: string
  path: string
  lastEventId: string | undefined
  subscriptions: LiveSubscription[]
}

/** Starts a server of streams. `serve` gets the number of the request. */
async function aServer(serve: (number: number, send: (text: string) => void, response: ServerResponse) => void) {
  const requests: Received[] = []
  const server = createServer(async (request: IncomingMessage, response) => {
    let text = ''
    for await (const chunk of request) text += chunk
    requests.push({
      method: request.method!,
      path: request.url!,
      lastEventId: request.headers['last-event-id'] as string | undefined,
      subscriptions: JSON.parse(text).subscriptions,
    })
    const send = (events: string) => {
      if (!response.headersSent) response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(events)
    }
    serve(requests.length, send, response)
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  afterAllTests(async () => {
    server.closeAllConnections()
    server.close()
  })
  const url = `http://127.0.0.1:${(server.address() as { port: number }).port}`
  return { requests, client: createClient({ url, auth: { apiKey: 'key' }, attemptTimeoutMs: 2000, attempts: 1 }) }
}

const event = (name: string, data: object, id?: string) =>
  `event: ${name}\n${id === undefined ? '' : `id: ${id}\n`}data: ${JSON.stringify(data)}\n\n`
const opened = (streamId = 'stream-1') => event('open', { streamId })
const items = (ids: string[], id?: string) =>
  event('traffic', { subscription: 'all', items: ids.map((one) => ({ id: one })) }, id)
const all: LiveSubscription[] = [{ id: 'all', topic: 'traffic' }]

test('points of a stream are delivered once, unless their values have changed', async () => {
  const series = (values: number[]) =>
    event(
      'series',
      {
        subscription: 'all',
        items: values.map((value, at) => ({
          endpointId: 'e',
          seriesName: 's',
          timestamp: `t${at}`,
          values: { value },
        })),
      },
      '10',
    )
  const { client } = await aServer((number, send, response) => {
    send(opened() + series(number === 1 ? [1, 2] : [1, 20, 3]))
    if (number === 1) setTimeout(() => response.destroy(), 20)
  })
  const seen: unknown[] = []
  for await (const one of client.live.stream([{ id: 'all', topic: 'series' }])) {
    if (one.type === 'items') seen.push(...one.items.map(({ values }) => (values as { value: number }).value))
    if (seen.length >= 4) break
  }
  assert.deepEqual(seen, [1, 2, 20, 3])
})

test('a stream resumes after its last id and leaves out items that it has delivered', async () => {
  const { client, requests } = await aServer((number, send, response) => {
    if (number === 1) {
      send(opened() + event('subscribed', { subscription: 'all', topic: 'traffic' }) + items(['a', 'b'], '10'))
      send(items(['c']))
      setTimeout(() => response.destroy(), 50)
    } else {
      send(opened('stream-2') + items(['a', 'b', 'c', 'd'], '20') + event('position', { at: '' }, '30'))
      send(event('gap', { subscription: 'all', topic: 'traffic', reason: 'missed' }))
      send(event('ended', { subscription: 'all', topic: 'traffic', status: 403, code: 'forbidden', message: 'No' }))
    }
  })
  const seen: StreamEvent[] = []
  for await (const one of client.live.stream(all)) {
    seen.push(one)
    if (one.type === 'ended') break
  }
  const delivered = seen.flatMap((one) => (one.type === 'items' ? one.items.map(({ id }) => id) : []))
  assert.deepEqual(delivered, ['a', 'b', 'c', 'd'])
  assert.deepEqual(
    seen.filter(({ type }) => type !== 'items').map((one) => (one.type === 'open' ? `open ${one.resumed}` : one.type)),
    ['open false', 'subscribed', 'interrupted', 'open true', 'gap', 'ended'],
  )
  assert.deepEqual(
    requests.map(({ lastEventId }) => lastEventId),
    [undefined, '10'],
  )
})

test('without an id to resume from, a stream reports a gap', async () => {
  const { client } = await aServer((number, send, response) => {
    send(opened() + (number === 1 ? items(['a']) : items(['b'])))
    if (number === 1) setTimeout(() => response.destroy(), 20)
  })
  const types: string[] = []
  for await (const one of client.live.stream(all)) {
    types.push(one.type)
    if (one.type === 'items' && types.length > 2) break
  }
  assert.deepEqual(types, ['open', 'items', 'interrupted', 'gap', 'open', 'items'])
})

test('update replaces the subscriptions of a stream; a stream that no longer exists is opened again with the new ones', async () => {
  let isGone = false
  const { client, requests } = await aServer((_, send, response) => {
    const { method } = requests.at(-1)!
    if (method === 'POST') send(opened(`stream-${requests.length}`))
    else if (isGone) response.writeHead(404, { 'content-type': 'application/json' }).end('{"message":"gone"}')
    else response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
  })
  const stop = new AbortController()
  const stream = client.live.stream([], { signal: stop.signal })
  const opens: string[] = []
  const reading = (async () => {
    for await (const one of stream) if (one.type === 'open') opens.push(one.streamId)
  })()
  await eventually(() => assert.deepEqual(opens, ['stream-1']))
  await stream.update(all)
  assert.deepEqual(
    requests.map(({ method, path }) => `${method} ${path}`),
    ['POST /live/api/v1/streams', 'PUT /live/api/v1/streams/stream-1'],
  )
  isGone = true
  const more = [...all, { id: 'more', topic: 'refusals' }]
  await stream.update(more)
  await eventually(() => assert.equal(opens.length, 2))
  assert.deepEqual(requests.at(-1)!.subscriptions, more)
  stop.abort()
  await reading
})

test('an update before the stream is open is sent when it opens; of several updates only the last is sent', async () => {
  const { client, requests } = await aServer((_, send, response) => {
    const { method } = requests.at(-1)!
    if (method === 'POST') setTimeout(() => send(opened()), 100)
    else setTimeout(() => response.writeHead(200, { 'content-type': 'application/json' }).end('{}'), 50)
  })
  const stop = new AbortController()
  const stream = client.live.stream([], { signal: stop.signal })
  const reading = (async () => {
    for await (const _ of stream);
  })()
  await eventually(() => assert.equal(requests.length, 1))
  await stream.update([{ id: 'first', topic: 'traffic' }])
  await eventually(() => assert.equal(requests.length, 2))
  void stream.update([{ id: 'second', topic: 'traffic' }])
  await stream.update([{ id: 'third', topic: 'traffic' }])
  const sent = requests.map(({ subscriptions }) => subscriptions.map(({ id }) => id).join())
  assert.deepEqual(sent, ['', 'first', 'third'])
  stop.abort()
  await reading
})

test('a request that is rejected permanently ends the stream with its error', async () => {
  const { client } = await aServer((_, __, response) => {
    response.writeHead(400, { 'content-type': 'application/json' }).end('{"message":"subscriptions[0].topic: no"}')
  })
  await assert.rejects(
    async () => {
      for await (const _ of client.live.stream(all));
    },
    (error) => error instanceof WaypostError && error.status === 400,
  )
})

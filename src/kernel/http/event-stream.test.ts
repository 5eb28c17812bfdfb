import assert from 'node:assert/strict'
import type { AddressInfo } from 'node:net'
import { mock, test } from 'node:test'
import { openEventSource } from '../../../test/harness/event-source.ts'
import { eventually } from '../../../test/harness/eventually.ts'
import { openTestPlatform } from '../../../test/harness/test-platform.ts'
import { contract } from '../contract.ts'
import { defineService } from '../define-service.ts'
import { Events } from '../schema.ts'
import type { EventStream } from './event-stream.ts'

const streams: EventStream[] = []
let closed = 0
const service = defineService({
  name: 'test',
  provides: contract<object>('test'),
  build: () => ({
    api: {},
    http: [
      {
        name: 'binary',
        roots: ['/bcx/api/v1'],
        routes(http) {
          const schema = { name: 'events.watch', summary: 'Watch events', response: { 200: Events() } }
          http.get('/events', { schema, config: { scope: 'none' } }, async (request, reply) => {
            const stream = http.events(request, reply)
            stream.onClose(() => closed++)
            streams.push(stream)
            return reply
          })
        },
      },
    ],
  }),
})
const { http } = await openTestPlatform({ services: [service] })
await http.app.listen({ host: '127.0.0.1', port: 0 })
const url = `http://127.0.0.1:${(http.app.server.address() as AddressInfo).port}/bcx/api/v1/events`

test('events have names and ids, a comment is sent every 15 s, and the last event has the reason of the end', async () => {
  mock.timers.enable({ apis: ['setInterval'] })
  const source = await openEventSource(url)
  const stream = streams.at(-1)!
  assert.equal(stream.send('one', '{"a":1}', '7'), true)
  stream.send('two', '"x"')
  assert.deepEqual(await source.next('one'), { event: 'one', id: '7', data: { a: 1 } })
  assert.deepEqual(await source.next('two'), { event: 'two', id: undefined, data: 'x' })
  mock.timers.tick(15_000)
  await eventually(() => assert.equal(source.comments, 1))
  stream.end('enough')
  stream.end('again')
  assert.equal(stream.send('late', '1'), false)
  assert.equal(await source.endReason(), 'enough')
  mock.timers.reset()
})

test('a stream reports that its reader is behind, and when the reader continues', async () => {
  const source = await openEventSource(url)
  const stream = streams.at(-1)!
  let drained = 0
  stream.onDrain(() => drained++)
  source.pause()
  const data = JSON.stringify('x'.repeat(10_000))
  let sent = 0
  while (stream.send('much', data) && sent < 10_000) sent++
  assert.ok(sent < 10_000, 'the buffer must fill up')
  await new Promise((done) => setTimeout(done, 50))
  // During the pause, the sockets may have accepted more data, so the test fills the stream again.
  while (stream.send('much', data) && sent < 10_000) sent++
  drained = 0
  source.resume()
  await eventually(() => assert.ok(drained > 0))
  stream.end('enough')
  assert.equal(await source.endReason(), 'enough')
})

test('a stream closes when its reader disconnects, and the streams of other readers end when the server closes', async () => {
  const [gone, stays] = [await openEventSource(url), await openEventSource(url)]
  const before = closed
  gone.close()
  await eventually(() => assert.equal(closed, before + 1))
  assert.equal(streams.at(-2)!.send('too late', '1'), false)
  const began = performance.now()
  await http.close()
  assert.equal(await stays.endReason(), 'stopping')
  assert.ok(performance.now() - began < 2000)
})

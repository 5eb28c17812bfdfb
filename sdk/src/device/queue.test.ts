import assert from 'node:assert/strict'
import { test } from 'node:test'
import { WaypostError } from '../errors.ts'
import type { Link } from './link.ts'
import { createQueue } from './queue.ts'

const message = (resource: string) => ({ extension: 'dcx', resource, payload: '{}' })

/** Returns a link that collects its requests in `requests`. The test resolves or rejects each request. */
function aLink(concurrency: number) {
  const requests: { resource: string; resolve(payload: string): void; reject(error: WaypostError): void }[] = []
  const link: Link = {
    concurrency,
    pushes: true,
    request: ({ resource }) => new Promise((resolve, reject) => void requests.push({ resource, resolve, reject })),
    close: async () => {},
  }
  return { link, requests, resources: () => requests.map(({ resource }) => resource) }
}
const settle = () => new Promise((done) => setImmediate(done))
const lost = new WaypostError('lost', { code: 'interrupted' })

function aQueue(queueMax = 10) {
  const failures: WaypostError[] = []
  const queue = createQueue({ queueMax, onSuccess: () => {}, onFailure: (error) => void failures.push(error) })
  return { queue, failures }
}

test('messages without a response when the connection broke are sent again in order', async () => {
  const { queue, failures } = aQueue()
  const first = aLink(3)
  queue.use(first.link)
  const sent = ['a', 'b', 'c', 'd'].map((resource) => queue.send(message(resource)))
  await settle()
  assert.deepEqual(first.resources(), ['a', 'b', 'c'])
  first.requests[0]!.resolve('stored')
  await settle()
  for (const { reject } of first.requests.slice(1)) reject(lost)
  await settle()
  assert.equal(failures.length, 1)
  const second = aLink(10)
  queue.use(second.link)
  await settle()
  assert.deepEqual(second.resources(), ['b', 'c', 'd'])
  for (const { resolve } of second.requests) resolve('stored')
  assert.deepEqual(await Promise.all(sent), ['stored', 'stored', 'stored', 'stored'])
})

test('a message that the platform rejects is not sent again, and the next message is sent', async () => {
  const { queue } = aQueue()
  const { link, requests } = aLink(1)
  queue.use(link)
  const [bad, good] = [queue.send(message('bad')), queue.send(message('good'))]
  requests[0]!.reject(new WaypostError('wrong', { status: 400 }))
  await assert.rejects(bad, { status: 400 })
  await settle()
  requests[1]!.resolve('stored')
  assert.equal(await good, 'stored')
})

test('a full queue drops its oldest message', async () => {
  const { queue } = aQueue(2)
  const outcomes = ['a', 'b', 'c'].map((resource) => queue.send(message(resource)))
  await assert.rejects(outcomes[0]!, { code: 'queue_full' })
  const { link, resources, requests } = aLink(5)
  queue.use(link)
  await settle()
  assert.deepEqual(resources(), ['b', 'c'])
  for (const { resolve } of requests) resolve('')
  await Promise.all(outcomes.slice(1))
})

test('a closed queue rejects messages that wait or are added later, and does not send failed messages again', async () => {
  const { queue } = aQueue()
  const { link, requests } = aLink(1)
  queue.use(link)
  const [underWay, waiting] = [queue.send(message('a')), queue.send(message('b'))]
  queue.close()
  requests[0]!.reject(lost)
  await assert.rejects(underWay, { code: 'interrupted' })
  await assert.rejects(waiting, { code: 'aborted' })
  await assert.rejects(queue.send(message('c')), { code: 'aborted' })
})

test('a queue that is full while the device is online drops its oldest message and says so', async () => {
  const dropped: WaypostError[] = []
  const queue = createQueue({
    queueMax: 1,
    onSuccess: () => {},
    onFailure: () => {},
    onDrop: (error) => dropped.push(error),
  })
  const { link, requests } = aLink(1)
  queue.use(link)
  const outcomes = ['a', 'b', 'c'].map((resource) => queue.send(message(resource)))
  await assert.rejects(outcomes[1]!, { code: 'queue_full' })
  assert.match(dropped[0]!.message, /more than 1 messages wait because the platform answers more slowly/)
  assert.equal(dropped.length, 1)
  for (const turn of [0, 1]) {
    requests[turn]!.resolve('')
    await settle()
  }
  await Promise.all([outcomes[0], outcomes[2]])
})

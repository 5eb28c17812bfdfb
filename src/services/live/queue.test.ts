import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from '../../../test/harness/eventually.ts'
import type { StreamMessage } from '../../kernel/http/event-stream.ts'
import type { LiveEvent, TopicDefinition } from '../../kernel/live/live.ts'
import { createQueue } from './queue.ts'
import type { Subscription } from './subscription.ts'

const topic: TopicDefinition = { name: 'traffic', description: '', scopes: [], on: 'endpoint', facets: [] }

function openQueue() {
  const sent: StreamMessage[] = []
  let queued = 0
  const outlet = {
    send: () => true,
    sendAll: (messages: StreamMessage[]) => {
      sent.push(...messages)
      return true
    },
    onDrain() {},
    onClose() {},
    end() {},
  }
  const queue = createQueue({
    outlet,
    pace: { waiting: 0, intervalMs: () => 1 },
    position: () => '7',
    countQueued: (bytes) => {
      queued += bytes
    },
    countSent() {},
  })
  return { queue, sent, queued: () => queued }
}

const aSubscription = (newestOnly: boolean, isReadable: (event: LiveEvent) => boolean = () => true): Subscription => ({
  request: { id: 'messages', topic: 'traffic', newestOnly },
  topic,
  includes: isReadable,
  admission: {},
  gap: (reason) => assert.fail(reason),
})

/** Returns an event that counts how often its text is built. */
function anEvent(n: number) {
  let builds = 0
  const event: LiveEvent = {
    tenantId: 'default',
    text() {
      builds++
      return JSON.stringify({ n })
    },
  }
  return { event, builds: () => builds }
}

test('a subscription gets all events that wait, and with newestOnly only the newest; the text of other events is not built', async () => {
  for (const newestOnly of [false, true]) {
    const { queue, sent, queued } = openQueue()
    const subscription = aSubscription(newestOnly)
    const events = [1, 2, 3].map(anEvent)
    for (const { event } of events) queue.add(subscription, event)
    assert.ok(queued() > 0)
    await eventually(() => assert.equal(sent.length, 1))
    const items = newestOnly ? [{ n: 3 }] : [{ n: 1 }, { n: 2 }, { n: 3 }]
    assert.deepEqual(JSON.parse(sent[0]!.data), { subscription: 'messages', items })
    assert.equal(sent[0]!.id, '7')
    assert.deepEqual(
      events.map(({ builds }) => builds()),
      newestOnly ? [0, 0, 1] : [1, 1, 1],
    )
    assert.equal(queued(), 0, 'no bytes are counted for events that were sent')
    queue.close()
  }
})

test('with newestOnly, an event is checked again if the permissions of the caller changed while the event waited', async () => {
  const { queue, sent, queued } = openQueue()
  let admission = {}
  const subscription: Subscription = {
    ...aSubscription(true, () => false),
    get admission() {
      return admission
    },
  }
  queue.add(subscription, anEvent(1).event)
  admission = {}
  queue.add(aSubscription(false), anEvent(2).event)
  await eventually(() => assert.equal(queued(), 0))
  assert.deepEqual(
    sent.map(({ data }) => JSON.parse(data).items),
    [[{ n: 2 }]],
  )
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { createLog } from '../log.ts'
import { createRelay } from './relay.ts'
import type { Outgoing } from './transport.ts'

test('the first message to one node is sent without delay, and messages to all nodes wait for further messages', async () => {
  const batches: Outgoing[][] = []
  const relay = createRelay({
    transport: {
      open: async () => {},
      send: async (messages) => void batches.push(messages),
      close: async () => {},
    },
    nodeId: 'one',
    key: async () => Buffer.alloc(32),
    log: await createLog({ level: 'error', format: 'json' }),
    countSent() {},
    countDropped() {},
  })
  const add = (address: 'all' | 'node/two') => relay.add({ address, topic: 't', payload: '{}', rowId: undefined })
  // Five turns of the event loop are much shorter than the pause of a batch.
  const turns = async () => {
    for (let n = 0; n < 5; n++) await nextTurn()
  }
  add('node/two')
  await turns()
  assert.equal(batches.length, 1)
  await relay.flush()
  add('all')
  await turns()
  assert.equal(batches.length, 1)
  add('all')
  await relay.flush()
  assert.equal(batches.length, 2)
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from '../../test/harness/eventually.ts'
import { aNode, kernelDatabase } from '../../test/harness/nodes.ts'
import { defineEvent } from './bus.ts'
import type { ConnectionOptions } from './db.ts'

interface Payload {
  tenantId: string
  text: string
}
const Published = defineEvent<Payload>('test.node.published', { description: 'for tests' })
const Bulky = defineEvent<Payload>('test.node.bulky', { description: 'for tests', bulky: true })

async function aListeningNode(connection: ConnectionOptions) {
  const node = await aNode(connection)
  const { bus, db } = node
  const received: string[] = []
  const handled: string[] = []
  let resets = 0
  bus.subscribe(Published, ({ text }) => received.push(text))
  bus.subscribe(Bulky, ({ text }) => received.push(`bulky ${text.length}`))
  bus.onReset(() => resets++)
  bus.handle('test.published', Published, async (_, { text }) => void handled.push(text))
  await node.start()
  const publish = (text: string, event = Published) => db.tx((sql) => bus.publish(sql, event, { tenantId: 't', text }))
  const publishAll = (texts: string[]) =>
    db.tx((sql) =>
      bus.publishAll(
        sql,
        Published,
        texts.map((text) => ({ tenantId: 't', text })),
      ),
    )
  return { ...node, received, handled, publish, publishAll, resets: () => resets }
}

test('every node receives an event of any size, and one node handles it', async (t) => {
  const connection = await kernelDatabase(t)
  const [one, two] = [await aListeningNode(connection), await aListeningNode(connection)]
  const before = two.resets()
  for (let n = 0; n < 10; n++) await one.publish(`m${n}`)
  await eventually(() => assert.equal(two.received.length, 10), { withinMs: 1000 })
  assert.deepEqual(two.received, one.received)
  await eventually(() => assert.equal(one.handled.length + two.handled.length, 10))
  await one.publish('x'.repeat(100_000))
  await eventually(() => assert.equal(two.received.at(-1)!.length, 100_000))
  // A bulky event is delivered only to subscribers on the node that published it.
  await one.publish('x'.repeat(10_000), Bulky)
  await one.publish('last')
  await eventually(() => assert.equal(two.received.at(-1), 'last'))
  assert.equal(one.received.at(-2), 'bulky 10000')
  assert.equal(two.received.length, 12)
  await one.db.tx((sql) =>
    one.bus.publishAll(sql, Published, [{ tenantId: 't', text: 'here' }], { thisNodeOnly: true }),
  )
  await one.publish('there')
  await eventually(() => assert.equal(two.received.at(-1), 'there'))
  assert.deepEqual([one.received.at(-2), two.received.at(-2)], ['here', 'last'])
  const many = [...Array.from({ length: 30 }, (_, n) => `all ${n}`), 'again', 'again', 'x'.repeat(10_000), 'end']
  await one.publishAll(many)
  await eventually(() => assert.equal(two.received.at(-1), 'end'))
  assert.deepEqual(one.received.slice(-many.length), many)
  assert.deepEqual(two.received.slice(-many.length), many)
  assert.equal(two.resets(), before, 'the node must not reset its caches')
})

test('a transaction that publishes stores one signal, which is sent once after the commit', async (t) => {
  const connection = await kernelDatabase(t)
  const [one, two] = [await aListeningNode(connection), await aListeningNode(connection)]
  const notifications: string[] = []
  await two.db.sql.listen('waypost_all', (text) => notifications.push(text))
  let storedSignals = -1
  await one.db.tx(async (sql) => {
    await one.bus.publish(sql, Published, { tenantId: 't', text: 'first' })
    const [row] = await sql`select count(*)::int as rows from kernel.signals`
    storedSignals = row!.rows
  })
  assert.equal(storedSignals, 1)
  await eventually(() => assert.deepEqual(two.received, ['first']))
  // If the transaction sent a NOTIFY, this list would contain a further notification.
  await one.publish('second')
  await eventually(() => assert.deepEqual(two.received, ['first', 'second']))
  assert.equal(notifications.length, 2)
})

test('a node that has lost its database connection gets a reset, because it may have missed events', async (t) => {
  const connection = await kernelDatabase(t)
  const node = await aListeningNode(connection)
  await node.db.sql`
    select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid() and query ilike 'listen%'`
  await eventually(() => assert.ok(node.resets() > 0), { withinMs: 15_000 })
})

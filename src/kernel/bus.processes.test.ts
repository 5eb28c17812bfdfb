import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from '../../test/harness/eventually.ts'
import { aNode, kernelDatabase } from '../../test/harness/nodes.ts'
import { defineEvent } from './bus.ts'
import type { ConnectionOptions } from './db.ts'

interface Told {
  tenantId: string
  text: string
}
const Told = defineEvent<Told>('test.node.told', { description: 'for tests' })
const Much = defineEvent<Told>('test.node.much', { description: 'for tests', bulky: true })

async function aListener(connection: ConnectionOptions) {
  const node = await aNode(connection)
  const { bus, db } = node
  const heard: string[] = []
  const reacted: string[] = []
  let gaps = 0
  bus.subscribe(Told, ({ text }) => heard.push(text))
  bus.subscribe(Much, ({ text }) => heard.push(`much ${text.length}`))
  bus.onReset(() => gaps++)
  bus.handle('test.told', Told, async (_, { text }) => void reacted.push(text))
  await node.start()
  const tell = (text: string, event = Told) => db.tx((sql) => bus.publish(sql, event, { tenantId: 't', text }))
  const tellAll = (texts: string[]) =>
    db.tx((sql) =>
      bus.publishAll(
        sql,
        Told,
        texts.map((text) => ({ tenantId: 't', text })),
      ),
    )
  return { ...node, heard, reacted, tell, tellAll, gaps: () => gaps }
}

test('every node receives an event of any size, and one node handles it', async (t) => {
  const connection = await kernelDatabase(t)
  const [one, two] = [await aListener(connection), await aListener(connection)]
  const before = two.gaps()
  for (let n = 0; n < 10; n++) await one.tell(`m${n}`)
  await eventually(() => assert.equal(two.heard.length, 10), { withinMs: 1000 })
  assert.deepEqual(two.heard, one.heard)
  await eventually(() => assert.equal(one.reacted.length + two.reacted.length, 10))
  await one.tell('x'.repeat(100_000))
  await eventually(() => assert.equal(two.heard.at(-1)!.length, 100_000))
  // A bulky event stays on its node.
  await one.tell('x'.repeat(10_000), Much)
  await one.tell('last')
  await eventually(() => assert.equal(two.heard.at(-1), 'last'))
  assert.equal(one.heard.at(-2), 'much 10000')
  assert.equal(two.heard.length, 12)
  await one.db.tx((sql) => one.bus.publishAll(sql, Told, [{ tenantId: 't', text: 'here' }], { thisNodeOnly: true }))
  await one.tell('there')
  await eventually(() => assert.equal(two.heard.at(-1), 'there'))
  assert.deepEqual([one.heard.at(-2), two.heard.at(-2)], ['here', 'last'])
  const many = [...Array.from({ length: 30 }, (_, n) => `all ${n}`), 'again', 'again', 'x'.repeat(10_000), 'end']
  await one.tellAll(many)
  await eventually(() => assert.equal(two.heard.at(-1), 'end'))
  assert.deepEqual(one.heard.slice(-many.length), many)
  assert.deepEqual(two.heard.slice(-many.length), many)
  assert.equal(two.gaps(), before, 'no node had to reset its caches')
})

test('a transaction that publishes does not execute NOTIFY itself', async (t) => {
  const connection = await kernelDatabase(t)
  const [one, two] = [await aListener(connection), await aListener(connection)]
  const heard: string[] = []
  await two.db.sql.listen('waypost_all', (text) => heard.push(text))
  // A NOTIFY inside the transaction would be delivered with this commit, before anything that runs after it.
  let atCommit = -1
  await one.db.tx(async (sql) => {
    await one.bus.publish(sql, Told, { tenantId: 't', text: 'quiet' })
    const [row] = await sql`select count(*)::int as rows from kernel.signals`
    atCommit = row!.rows
  })
  assert.equal(atCommit, 1)
  await eventually(() => assert.equal(heard.length, 1))
  assert.deepEqual(two.heard, ['quiet'])
})

test('a node that lost its connection resets, because it may have missed events', async (t) => {
  const connection = await kernelDatabase(t)
  const node = await aListener(connection)
  await node.db.sql`
    select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid() and query ilike 'listen%'`
  await eventually(() => assert.ok(node.gaps() > 0), { withinMs: 15_000 })
})

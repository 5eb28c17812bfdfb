import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { freshDatabase } from '../../test/harness/database.ts'
import { eventually } from '../../test/harness/eventually.ts'
import { aNode, kernelDatabase } from '../../test/harness/nodes.ts'
import { defineEvent } from './bus.ts'
import { sleep } from './clock.ts'
import { type ConnectionOptions, connect, type Sql } from './db.ts'
import { migrate, readMigrations } from './migrate.ts'
import * as store from './outbox/store.ts'

interface Done {
  tenantId: string
  key: string
  n: number
}
const Done = defineEvent<Done>('test.outbox.done', { description: 'for tests', key: ({ key }) => key })

const done = (key: string, n: number): Done => ({ tenantId: 't', key, n })

type NodeOptions = Parameters<typeof aNode>[1] & { handle?: (sql: Sql, event: Done) => Promise<void> }

/** Starts a node whose event handler records events in a table. A delivery that is rolled back leaves no row in this table. */
async function aWorker(connection: ConnectionOptions, { handle, ...options }: NodeOptions = {}) {
  const node = await aNode(connection, options)
  await node.db
    .sql`create table if not exists kernel.test_got (at bigint generated always as identity, key text, n int)`
  node.bus.handle('test.outbox', Done, async (sql, event) => {
    await handle?.(sql, event)
    await sql`insert into kernel.test_got (key, n) values (${event.key}, ${event.n})`
  })
  await node.start()
  const publish = (...events: Done[]) => node.db.tx((sql) => node.bus.publishAll(sql, Done, events))
  const got = async (key: string) =>
    (await node.db.sql<{ n: number }[]>`select n from kernel.test_got where key = ${key} order by at`).map(({ n }) => n)
  const count = async () => (await node.db.sql`select count(*)::int as n from kernel.test_got`)[0]!.n as number
  const successes = async () =>
    Number(/delivered_total\{outcome="success"\} (\d+)/.exec(await node.metrics.text())?.[1] ?? 0)
  return { ...node, publish, got, count, successes }
}

const numbers = (to: number) => Array.from({ length: to }, (_, n) => n)

test('a node sleeps while another node delivers the events of a key, and counts only its own deliveries', async (t) => {
  const connection = await kernelDatabase(t)
  const { promise: blocked, resolve: resume } = Promise.withResolvers<void>()
  const one = await aWorker(connection, { handle: () => blocked })
  const two = await aWorker(connection)
  let transactions = 0
  const { tx } = two.db
  two.db.tx = (work) => {
    transactions++
    return tx(work)
  }
  await one.publish(done('slow', 0))
  await eventually(async () => {
    const rows = await two.db
      .sql`select from pg_locks where relation = 'kernel.outbox_heads'::regclass and mode = 'RowShareLock'`
    assert.ok(rows.length > 0)
  })
  await two.publish(done('slow', 1))
  await sleep(1000)
  assert.ok(transactions < 20, `${transactions} transactions in a second`)
  resume()
  await eventually(async () => assert.deepEqual(await one.got('slow'), [0, 1]))
  await eventually(async () => assert.equal((await one.successes()) + (await two.successes()), 2))
})

test('the cost of a batch depends on the number of delivered events, not on the number of waiting events', async (t) => {
  const connection = await kernelDatabase(t)
  const { db, bus } = await aNode(connection)
  bus.handle('test.outbox', Done, async () => {})
  const waiting = numbers(20_000).map((n) => done(`key ${n % 15_000}`, n))
  await db.tx((sql) => bus.publishAll(sql, Done, waiting))
  const readRows = (sql: Sql) => sql<{ rows: number }[]>`
    select sum(seq_tup_read + coalesce(idx_tup_fetch, 0))::int as rows from pg_stat_xact_user_tables
    where schemaname = 'kernel' and relname like 'outbox%'`
  for (let taken = 0; taken < 15_000; taken += 1000) await store.findDue(db.sql, ['test.outbox'])
  const rows = await db.tx(async (sql) => {
    const heads = await store.lockHeads(sql, 'test.outbox', 32)
    assert.equal(heads.length, 32)
    const keys = heads.map(({ key }) => key)
    const events = await store.findWaiting(sql, 'test.outbox', keys, { perKey: 100, all: 200 })
    assert.ok(events.length >= 32)
    const ids = events.map(({ id }) => id)
    await store.finish(sql, 'test.outbox', ids, heads, [])
    await store.findDue(sql, ['test.outbox'])
    return (await readRows(sql))[0]!.rows
  })
  assert.ok(rows < 500, `${rows} rows`)
})

test('event handlers that open another transaction do not block other handlers, even with few connections', async (t) => {
  const connection = await kernelDatabase(t)
  const node = await aNode(connection, { connections: 4, workers: 1 })
  const plain: string[] = []
  node.bus.handle('test.nested', Done, () => node.db.tx((sql) => sql`select 1`).then(() => {}))
  node.bus.handle('test.plain', Done, async (_, { key }) => void plain.push(key))
  await node.start()
  await Promise.all(numbers(8).map((n) => node.db.tx((sql) => node.bus.publish(sql, Done, done(`key ${n}`, n)))))
  await eventually(() => assert.equal(plain.length, 8))
  await node.db.tx((sql) => sql`select 1`)
})

test('after a failure within a batch, events keep their order, no event is repeated, and other keys continue', async (t) => {
  const connection = await kernelDatabase(t)
  let fails = true
  const node = await aWorker(connection, {
    async handle(_, { key, n }) {
      if (key === 'bad' && n === 3 && fails) throw new Error('not yet')
    },
  })
  await node.publish(...numbers(6).flatMap((n) => [done('bad', n), done('good', n)]))
  await eventually(async () => assert.deepEqual(await node.got('good'), numbers(6)))
  await eventually(async () => assert.deepEqual(await node.got('bad'), [0, 1, 2]))
  await node.publish(done('good', 6))
  await eventually(async () => assert.deepEqual(await node.got('good'), numbers(7)))
  assert.deepEqual(await node.got('bad'), [0, 1, 2])
  fails = false
  await eventually(async () => assert.deepEqual(await node.got('bad'), numbers(6)), { withinMs: 15_000 })
  await node.publish(done('bad', 6))
  await eventually(async () => assert.deepEqual(await node.got('bad'), numbers(7)))
  await node.bus.settled()
  assert.equal((await node.db.sql`select from kernel.outbox_heads`).length, 0)
})

test('an event that always fails is retried with growing delays, and later events of its key wait', async (t) => {
  const connection = await kernelDatabase(t)
  const node = await aWorker(connection, { handle: () => Promise.reject(new Error('never')) })
  await node.publish(done('bad', 0), done('bad', 1))
  await eventually(async () => {
    const [head] = await node.db.sql`select attempts, due_at > now() as waits from kernel.outbox_heads`
    assert.deepEqual({ ...head }, { attempts: 2, waits: true })
  })
  assert.match(await node.metrics.text(), /delivered_total\{outcome="failure"\} 2/)
  assert.equal((await node.db.sql`select from kernel.outbox`).length, 2)
})

test('publishers of one key do not wait for each other', async (t) => {
  const connection = await kernelDatabase(t)
  const node = await aWorker(connection)
  await node.db.tx(async (sql) => {
    await node.bus.publish(sql, Done, done('same', 0))
    // The inner transaction is on another node, because a transaction inside a transaction is rejected.
    const other = await aNode(connection)
    other.bus.handle('test.outbox', Done, async () => {})
    await other.db.tx((inner) => other.bus.publish(inner, Done, done('same', 1)))
  })
  await eventually(async () => assert.deepEqual((await node.got('same')).toSorted(), [0, 1]))
})

test('while two nodes publish and event handlers fail, all events are delivered once and in order', async (t) => {
  const connection = await kernelDatabase(t)
  const handle = async () => {
    if (Math.random() < 0.01) throw new Error('now and then')
  }
  const nodes = [await aWorker(connection, { handle }), await aWorker(connection, { handle })]
  const [one, two] = nodes as [(typeof nodes)[0], (typeof nodes)[0]]
  const each = 300
  await Promise.all(
    numbers(4).map(async (key) => {
      for (const n of numbers(each)) await (n % 2 ? one : two).publish(done(`key ${key}`, n))
    }),
  )
  await eventually(async () => assert.equal(await one.count(), 4 * each), { withinMs: 60_000, everyMs: 100 })
  for (const key of numbers(4)) assert.deepEqual(await one.got(`key ${key}`), numbers(each))
  assert.equal((await one.successes()) + (await two.successes()), 4 * each)
})

test('when a process without workers publishes an event, another node delivers it immediately', async (t) => {
  const connection = await kernelDatabase(t)
  const node = await aWorker(connection)
  const command = await aNode(connection)
  command.bus.handle('test.outbox', Done, async () => {})
  await sleep(300) // After this time, the node has finished its first search for events.
  await command.db.tx((sql) => command.bus.publish(sql, Done, done('command', 1)))
  await command.signals.flush()
  await eventually(async () => assert.deepEqual(await node.got('command'), [1]), { withinMs: 2000 })
})

test('events that waited in the outbox before an upgrade are delivered after it, in order', async (t) => {
  const connection = await olderDatabase(t)
  const pool = connect(connection, { max: 1 })
  await pool`
    insert into kernel.outbox (subscription, event, key, payload, attempts, due_at)
    select 'test.outbox', ${Done.name}, key, jsonb_build_object('tenantId', 't', 'key', key, 'n', n),
      case when key = 'failed' and n = 0 then 3 else 0 end, now() - interval '1 minute'
    from unnest(array['failed', 'fine']) as key, generate_series(0, 9) as n order by n`
  const directory = fileURLToPath(new URL('./migrations/', import.meta.url))
  await migrate(pool, readMigrations([{ module: 'kernel', directory }]))
  await pool.end()
  const node = await aWorker(connection)
  for (const key of ['failed', 'fine']) await eventually(async () => assert.deepEqual(await node.got(key), numbers(10)))
})

async function olderDatabase(t: TestContext): Promise<ConnectionOptions> {
  const connection = await kernelDatabase(t, freshDatabase)
  const directory = fileURLToPath(new URL('./migrations/', import.meta.url))
  const older = readMigrations([{ module: 'kernel', directory }]).filter(({ name }) => name < '0002')
  const pool = connect(connection, { max: 1 })
  await migrate(pool, older)
  await pool.end()
  return connection
}

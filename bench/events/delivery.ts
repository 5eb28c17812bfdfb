/**
 * Measures how fast waiting events are delivered by the outbox, and by the algorithm of version 0.1. The outbox stores which waiting event
 * of each key is the oldest (its head); the algorithm of version 0.1 searches for this event each time.
 */
import { join } from 'node:path'
import { defineEvent } from '../../src/kernel/bus.ts'
import { sleep } from '../../src/kernel/clock.ts'
import { type ConnectionOptions, connect, createDb, type Sql } from '../../src/kernel/db.ts'
import { startEmbeddedPostgres } from '../../src/kernel/embedded-postgres.ts'
import { migrateKernel } from '../../test/harness/database.ts'
import { openNode } from '../../test/harness/node.ts'

interface BenchEvent {
  tenantId: string
  key: string
  n: number
}
const Measured = defineEvent<BenchEvent>('bench.events.measured', {
  description: 'for measurements',
  key: ({ key }) => key,
})

const subscription = 'bench.events'
const handler = async (sql: Sql, { key, n }: BenchEvent) => {
  await sql`insert into bench.delivered (key, n) values (${key}, ${n})`
}

/** Runs work with a new database, which contains only the events of this measurement. */
export async function withDatabase<T>(directory: string, work: (connection: ConnectionOptions) => Promise<T>) {
  const server = await startEmbeddedPostgres({ directory: join(directory, 'postgres'), log: () => {} })
  try {
    await migrateKernel(server.connection)
    const pool = connect(server.connection, { max: 1 })
    await pool.unsafe('create schema bench; create table bench.delivered (key text, n int)')
    await pool.end()
    return await work(server.connection)
  } finally {
    await server.stop()
  }
}

/** Returns how many events the outbox delivers per second. At the start, `waiting` events wait. The measurement takes at most `seconds`. */
export async function outboxRate(connection: ConnectionOptions, waiting: number, seconds: number): Promise<number> {
  const node = await openNode(connection, { connections: 8, workers: 2 })
  let delivered = 0
  node.bus.handle(subscription, Measured, async (sql, event) => {
    await handler(sql, event)
    delivered++
  })
  const batch = 5000
  for (let from = 0; from < waiting; from += batch)
    await node.db.tx((sql) =>
      node.bus.publishAll(
        sql,
        Measured,
        Array.from({ length: Math.min(batch, waiting - from) }, (_, n) => ({
          tenantId: 't',
          key: `key ${from + n}`,
          n: from + n,
        })),
      ),
    )
  await node.start()
  const took = await waitUntil(() => delivered >= waiting, seconds)
  await node.stop()
  return delivered / took
}

async function waitUntil(holds: () => boolean, seconds: number): Promise<number> {
  const began = performance.now()
  while (!holds() && performance.now() - began < seconds * 1000) await sleep(5)
  return (performance.now() - began) / 1000
}

/**
 * Measures the algorithm of version 0.1. It finds the oldest event of each key among all waiting events, eight at a time, and delivers each
 * event in its own transaction under an advisory lock.
 */
export async function oneByOneRate(connection: ConnectionOptions, waiting: number, seconds: number): Promise<number> {
  const db = createDb(connection, { max: 8 })
  await db.sql`
    insert into kernel.outbox (subscription, event, key, payload)
    select ${subscription}, ${Measured.name}, 'old ' || n, jsonb_build_object('key', 'old ' || n, 'n', n)
    from generate_series(1, ${waiting}::int) as n`
  let delivered = 0
  let took = 0
  const began = performance.now()
  while (delivered < waiting && took < seconds) {
    const heads = await db.sql<{ id: number; key: string }[]>`
      with heads as (
        select distinct on (subscription, key) id, subscription, key from kernel.outbox order by subscription, key, id)
      select id, key from heads order by id limit 8`
    await Promise.all(heads.map((head) => deliverOne(head)))
    delivered += heads.length
    took = (performance.now() - began) / 1000
  }
  await db.close()
  return delivered / took

  async function deliverOne({ id, key }: { id: number; key: string }) {
    await db.tx(async (sql) => {
      await sql`select pg_try_advisory_xact_lock(hashtextextended(${`${subscription}\n${key}`}, 0))`
      const [row] = await sql<{ payload: BenchEvent }[]>`delete from kernel.outbox where id = ${id} returning payload`
      if (row) await handler(sql, row.payload)
    })
  }
}

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { afterAllTests, freshDatabase } from '../../test/harness/database.ts'
import { eventually } from '../../test/harness/eventually.ts'
import { createDb } from './db.ts'
import { analyzeGrownTables, createEarlyStatistics } from './early-statistics.ts'
import { createLog } from './log.ts'

const connection = await freshDatabase()
const db = createDb(connection, { max: 2 })
afterAllTests(() => db.close())
const { sql } = db
/** Connections of a separate pool, because code inside a transaction cannot open a second transaction on the same pool. */
const other = createDb(connection, { max: 2 })
afterAllTests(() => other.close())

/** Inserts rows and makes the connection report the counts of changed rows immediately, instead of a second later. */
const insertRows = (table: string, from: number, to: number) =>
  db.tx(async (tx) => {
    await tx.unsafe(`insert into ${table} select n from generate_series(${from}, ${to}) as n`)
    await tx`select pg_stat_force_next_flush()`
  })

const statisticsOf = async (table: string) =>
  (await sql`select reltuples::integer as rows from pg_class where oid = ${table}::regclass`)[0]!.rows

test('a table is analyzed when it has grown, again when it has doubled, and not in between', async () => {
  await sql`create table "Grown rows" (n integer)`
  await insertRows('"Grown rows"', 1, 99)
  assert.equal(await analyzeGrownTables(sql), 0)
  await insertRows('"Grown rows"', 100, 1000)
  assert.equal(await analyzeGrownTables(sql), 1)
  assert.equal(await statisticsOf('"Grown rows"'), 1000)
  await insertRows('"Grown rows"', 1001, 2000)
  assert.equal(await analyzeGrownTables(sql), 0)
  await insertRows('"Grown rows"', 2001, 2200)
  assert.equal(await analyzeGrownTables(sql), 1)
  assert.equal(await statisticsOf('"Grown rows"'), 2200)
})

test('a table that another session has locked is skipped', async () => {
  await sql`create table locked (n integer)`
  await insertRows('locked', 1, 500)
  await db.tx(async (tx) => {
    await tx`lock table locked in share update exclusive mode`
    assert.equal(await analyzeGrownTables(other.sql), 1)
  })
  assert.equal(await statisticsOf('locked'), -1)
})

test('after the start, a busy node analyzes grown tables on its own, and a stop does not wait for the end of the pause', async () => {
  const statistics = createEarlyStatistics({ db, log: await createLog({ level: 'silent', format: 'json' }) })
  statistics.start()
  await sql`create table busy (n integer)`
  await insertRows('busy', 1, 500)
  for (let n = 0; n < 200; n++) await sql`select 1`
  await eventually(async () => assert.equal(await statisticsOf('busy'), 500))
  await statistics.stop()
})

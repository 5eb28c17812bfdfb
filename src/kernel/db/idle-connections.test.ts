import assert from 'node:assert/strict'
import { mock, test } from 'node:test'
import { freshDatabase } from '../../../test/harness/database.ts'
import { eventually } from '../../../test/harness/eventually.ts'
import { connect } from '../db.ts'

test('connections that are idle for 15 s are closed, and a later statement opens a new connection', async () => {
  mock.timers.enable({ apis: ['setInterval'] })
  const connection = await freshDatabase()
  const observer = connect(connection, { max: 2, name: 'observer' })
  const sql = connect(connection, { max: 8, name: 'observed' })
  const open = async () => {
    const [row] = await observer`select count(*) from pg_stat_activity where application_name = 'observed'`
    return row!.count
  }
  await Promise.all(Array.from({ length: 4 }, () => sql.begin((tx) => tx`select pg_sleep(0.05)`)))
  assert.equal(await open(), 4)
  for (let sweep = 0; sweep < 3; sweep++) mock.timers.tick(5000)
  await eventually(async () => assert.equal(await open(), 0))
  assert.equal((await sql`select 1 as one`)[0]!.one, 1)
  mock.timers.reset()
  await Promise.all([sql.end(), observer.end()])
})

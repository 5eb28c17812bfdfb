import assert from 'node:assert/strict'
import { test } from 'node:test'
import { afterAllTests, freshDatabase } from '../../test/harness/database.ts'
import { eventually } from '../../test/harness/eventually.ts'
import { createDb, isDatabaseUnavailable } from './db.ts'

test('a transaction that has lost its connection fails, and its later statements are not executed', async () => {
  const connection = await freshDatabase()
  const db = createDb(connection, { max: 1 })
  const other = createDb(connection, { max: 1 })
  afterAllTests(() => db.close())
  afterAllTests(() => other.close())
  await other.sql`create table notes (text text)`

  const [begun, resume] = [Promise.withResolvers<number>(), Promise.withResolvers<void>()]
  const lost = db.tx(async (sql) => {
    const [row] = await sql`select pg_backend_pid() as pid`
    begun.resolve(row!.pid)
    await resume.promise
    await sql`insert into notes values ('late')`
    throw new Error('too late as well')
  })
  const failed = assert.rejects(lost, isDatabaseUnavailable)
  await other.sql`select pg_terminate_backend(${await begun.promise})`
  await failed

  // The pool has reconnected. When the transaction that lost its connection continues, another transaction uses the new connection.
  await eventually(() =>
    db.tx(async (sql) => {
      await sql`insert into notes values ('in time')`
      resume.resolve()
      await new Promise((done) => setTimeout(done, 50))
      await sql`insert into notes values ('in time')`
    }),
  )
  const notes = await other.sql`select text from notes`
  assert.deepEqual(
    notes.map(({ text }) => text),
    ['in time', 'in time'],
  )
})

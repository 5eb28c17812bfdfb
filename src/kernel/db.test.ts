import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freshDatabase } from '../../test/harness/database.ts'
import { createDb, isUniqueViolation, likePart } from './db.ts'

async function aDb() {
  const db = createDb(await freshDatabase(), { max: 4 })
  await db.sql`create table t (id int primary key, user_data jsonb, some_text text)`
  await db.sql`insert into t (id, user_data) values (1, '{"snake_case": 1, "camelCase": 2}'), (2, null)`
  return db
}

test('column names are translated, keys of the user are not', async () => {
  const db = await aDb()
  const [row] = await db.sql`select id, user_data, some_text from t where id = 1`
  assert.deepEqual(row, { id: 1, userData: { snake_case: 1, camelCase: 2 }, someText: null })
  await db.sql`insert into t ${db.sql({ id: 3, userData: db.sql.json({ a_b: 1 }), someText: 'x' } as never)}`
  const [count] = await db.sql`select count(*) as all_rows from t`
  assert.equal(count?.allRows, 3)
  await db.close()
})

test('a deadlock is resolved by running the loser again', async () => {
  const db = await aDb()
  let met: () => void = () => {}
  const bothHoldOne = new Promise<void>((resolve) => {
    met = resolve
  })
  let holding = 0
  const swap = (first: number, second: number) =>
    db.tx(async (sql) => {
      await sql`update t set some_text = 'one' where id = ${first}`
      if (++holding === 2) met()
      await bothHoldOne
      await sql`update t set some_text = 'two' where id = ${second}`
    })
  await Promise.all([swap(1, 2), swap(2, 1)])
  assert.ok(holding >= 3, 'one of them ran again')
  await db.close()
})

test('effects run after a commit and never after a rollback', async () => {
  const db = await aDb()
  const ran: string[] = []
  await db.tx(async (sql) => {
    db.afterCommit(sql, () => ran.push('committed'))
    assert.deepEqual(ran, [])
  })
  await assert.rejects(
    db.tx(async (sql) => {
      db.afterCommit(sql, () => ran.push('rolled back'))
      await sql`insert into t (id) values (1)`
    }),
    (error) => isUniqueViolation(error) && isUniqueViolation(error, 't_pkey') && !isUniqueViolation(error, 'other'),
  )
  assert.deepEqual(ran, ['committed'])
  assert.throws(() => db.afterCommit(db.sql, () => {}), /open db\.tx/)
  await db.close()
})

test('a partial match takes the text of the caller literally', async () => {
  const db = await aDb()
  for (const [text, part, found] of [
    ['100%', '0%', true],
    ['1000', '0%', false],
    ['a_b', 'a_b', true],
    ['axb', 'a_b', false],
    ['back\\slash', 'k\\s', true],
  ] as const) {
    const [row] = await db.sql`select ${text}::text like ${likePart(part)} as found`
    assert.equal(row?.found, found, `${part} in ${text}`)
  }
  await db.close()
})

test('what was acknowledged is there, however many statements wait on a connection when a transaction begins', async () => {
  const db = await aDb()
  await db.sql`create table written (n int)`
  let acknowledged = 0
  for (let round = 0; round < 20; round++) {
    const work: Promise<unknown>[] = []
    // The driver sends a hundred statements at once on each connection: somewhere here the transaction is the hundredth.
    for (let n = 0; n < 190 + (round % 20); n++) work.push(db.sql`select 1`.execute())
    const insert = () => void acknowledged++
    work.push(db.tx((sql) => sql`insert into written values (1)`).then(insert))
    for (let n = 0; n < 50; n++) work.push(db.sql`insert into written values (2)`.then(insert))
    await Promise.all(work)
  }
  const [row] = await db.tx((sql) => sql`select count(*) from written`)
  assert.equal(row?.count, acknowledged)
  await db.close()
})

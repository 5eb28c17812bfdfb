import assert from 'node:assert/strict'
import net from 'node:net'
import { suite, test } from 'node:test'
import { afterAllTests, freshDatabase, independentPool } from '../../../test/harness/database.ts'
import { eventually } from '../../../test/harness/eventually.ts'
import { sleep } from '../clock.ts'
import { connect, createDb, isDatabaseUnavailable, isStatementCanceled, type PoolOptions } from '../db.ts'

const connection = await freshDatabase()

function aDb(options: Partial<PoolOptions> = {}) {
  const db = createDb(connection, { max: 4, ...options })
  afterAllTests(() => db.close())
  return db
}

suite('the time limit of statements', () => {
  test('the time limit of statements cancels plain statements, texts of several statements, copies and transactions, and the connection stays usable', async () => {
    const db = aDb({ statementSeconds: 0.2 })
    await db.sql`create table if not exists limited (id int)`
    const slow = [
      () => db.sql`select pg_sleep(5)`,
      () => db.sql.unsafe('select 1; select pg_sleep(5)'),
      () => db.copyIn('select pg_sleep(5); copy limited from stdin', () => Buffer.from('1\n')),
      () => db.tx((sql) => sql`select pg_sleep(5)`),
      () => db.tx(async (sql) => [await sql`insert into limited values (2)`, await sql`select pg_sleep(5)`]),
    ]
    for (const run of slow) {
      await assert.rejects(run(), (error) => isStatementCanceled(error) && isDatabaseUnavailable(error))
      assert.equal((await db.sql`select 1 as one`)[0]?.one, 1)
    }
    assert.equal((await db.sql`select from limited`).length, 0)
  })

  test('the time limit of statements does not include the time that a statement waits behind another statement', async () => {
    const db = aDb({ max: 1, statementSeconds: 0.6 })
    const answers = await Promise.all(Array.from({ length: 4 }, () => db.sql`select pg_sleep(0.25), 1 as one`))
    assert.deepEqual(
      answers.map(([row]) => row?.one),
      [1, 1, 1, 1],
    )
  })

  test('statements do not wait behind a slow statement while another connection responds', async () => {
    const db = aDb({ max: 4 })
    await Promise.all([db.sql`select pg_sleep(0.1)`, db.sql`select pg_sleep(0.1)`])
    let isSlowAnswered = false
    const slow = db.sql`select pg_sleep(3)`.then(() => {
      isSlowAnswered = true
    })
    await sleep(20)
    for (let n = 0; n < 5; n++) await Promise.all(Array.from({ length: 20 }, () => db.sql`select 1 as one`))
    assert.equal(isSlowAnswered, false)
    await slow
  })

  test('the time limit of statements is 30 seconds by default, and can be removed for a transaction or a pool', async () => {
    const limit = (rows: Record<string, unknown>[]) => rows[0]?.statementTimeout
    const [db, unlimited] = [aDb(), aDb({ statementSeconds: 0 })]
    assert.equal(limit(await db.sql`show statement_timeout`), '30s')
    assert.equal(limit(await db.sql.begin((sql) => sql`show statement_timeout`)), '30s')
    assert.equal(limit(await unlimited.sql`show statement_timeout`), '0')
    const lifted = await db.tx(async (sql) => {
      await sql.withoutTimeLimit()
      return await sql`show statement_timeout`
    })
    assert.equal(limit(lifted), '0')
    assert.equal(
      limit(await db.tx((sql) => sql`show statement_timeout`)),
      '30s',
      'the next transaction must have the limit again',
    )
  })
})

test('connections to a server that no longer responds are closed, and their statements and transactions fail', async () => {
  const sockets = new Set<net.Socket>()
  const { host, port } = connection as { host: string; port: number }
  const server = net.createServer((near) => {
    const far = net.connect(`${host}/.s.PGSQL.${port}`)
    for (const socket of [near, far]) {
      sockets.add(socket)
      socket.on('error', () => {})
    }
    near.on('close', () => far.destroy())
    near.pipe(far).pipe(near)
  })
  await new Promise<void>((done) => void server.listen(0, '127.0.0.1', done))
  afterAllTests(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const { port: near } = server.address() as net.AddressInfo
  const db = createDb({ ...connection, host: '127.0.0.1', port: near }, { max: 2, statementSeconds: 0.3 })
  afterAllTests(() => db.close())
  await Promise.all([db.sql`select 1`, db.tx((sql) => sql`select 1`)])
  for (const socket of sockets) socket.pause().unpipe()
  const hung = [db.sql`select 1`, db.sql`select 2`, db.tx((sql) => sql`select 1`)]
  for (const outcome of await Promise.allSettled(hung))
    assert.equal((outcome as PromiseRejectedResult).reason?.code, 'CONNECTION_HUNG')
  assert.equal((await db.sql`select 1 as one`)[0]?.one, 1)
})

suite('a transaction inside a transaction', () => {
  test('a transaction inside a transaction throws immediately with the reason, and the outer transaction can continue', async () => {
    const db = aDb({ max: 2 })
    await db.tx(async (sql) => {
      for (const inner of [
        () => db.tx((own) => own`select 1`),
        () => db.sql.begin((own) => own`select 1`),
        () => db.sql.unsafe('select 1'),
        () => db.copyIn('copy x from stdin', () => Buffer.alloc(0)),
        () => Promise.all([sql`select 1`, sleep(1).then(() => db.tx((own) => own`select 1`))]),
      ])
        await assert.rejects(inner(), /opened inside a transaction/)
      assert.equal((await sql`select 1 as one`)[0]?.one, 1)
      assert.equal((await db.sql`select 1 as one`)[0]?.one, 1, 'plain statements must have their own connections')
    })
  })

  test('a transaction does not count as nested if the first transaction has ended, or if it uses another pool', async () => {
    const [db, other] = [aDb({ max: 1 }), aDb({ max: 1 })]
    let later: Promise<unknown> | undefined
    await db.tx(async () => {
      await other.tx((sql) => sql`select 1`)
      await db.open({ max: 1, name: 'beside' }).tx((sql) => sql`select 1`)
      later = sleep(30).then(() => db.tx((sql) => sql`select 1 as one`))
    })
    assert.deepEqual((await later) as object, Object.assign([{ one: 1 }], { count: 1 }))
    await Promise.all(Array.from({ length: 5 }, () => db.tx((sql) => sql`select 1`)))
  })
})

suite('a commit', () => {
  test('a commit that PostgreSQL answers with a rollback fails with the error that the work ignored', async () => {
    const db = aDb()
    await db.sql`create table if not exists committed (id int primary key)`
    const ignoring = db.tx(async (sql) => {
      await sql`insert into committed values (1)`
      await sql`select 1 / 0`.catch(() => {})
    })
    await assert.rejects(ignoring, { code: '22012' })
    const unawaited = db.tx(async (sql) => {
      sql`insert into committed values (2)`.execute()
      sql`insert into committed values (2)`.execute()
    })
    await assert.rejects(unawaited, { code: '23505' })
    assert.equal((await db.sql`select from committed`).length, 0)
  })

  test('a commit fails if a deferred constraint is violated, and effects do not run', async () => {
    const db = aDb()
    await db.sql.unsafe(`create table if not exists parents (id int primary key);
      create table if not exists children (id int references parents deferrable initially deferred)`)
    let ran = false
    const orphan = db.tx(async (sql) => {
      db.afterCommit(sql, () => {
        ran = true
      })
      await sql`insert into children values (1)`
    })
    await assert.rejects(orphan, { code: '23503' })
    assert.equal(ran, false)
  })

  test('a commit is not sent if the work ran no statement', async () => {
    const db = aDb()
    assert.equal(await db.tx(async () => 'nothing'), 'nothing')
  })

  test('a commit is sent after statements that were not awaited, and statements after the commit are rejected', async () => {
    const db = aDb()
    await db.sql`create table if not exists waited (id int)`
    let own: Parameters<Parameters<typeof db.tx>[0]>[0] | undefined
    await db.tx(async (sql) => {
      own = sql
      for (const id of [1, 2, 3]) sql`insert into waited values (${id})`.execute()
    })
    assert.equal((await db.sql`select from waited`).length, 3)
    await assert.rejects(own!`insert into waited values (4)`, /has ended/)
    await assert.rejects(own!.unsafe('insert into waited values (4)'), /has ended/)
    assert.equal((await db.sql`select from waited`).length, 3)
  })
})

test('statements that change the session are rejected on shared connections', async () => {
  const { sql } = aDb()
  await assert.rejects(sql`begin`, /needs a transaction: begin/)
  await assert.rejects(sql` set local statement_timeout = 0`, /needs a transaction/)
  await assert.rejects(sql`listen somewhere`, /needs a transaction/)
  await assert.rejects(sql.unsafe('begin; select 1'), /left its transaction open/)
  assert.equal((await sql`select 1 as one`)[0]?.one, 1)
})

suite('prepared statements', () => {
  test('the number of prepared statements is limited, and statements that are repeated stay prepared', async () => {
    const db = aDb({ max: 1 })
    for (let n = 0; n < 600; n++) {
      assert.equal((await db.sql.unsafe(`select ${n} + $1::int as sum`, [1]))[0]?.sum, n + 1)
      await db.sql`select 'again'`
    }
    const prepared = await db.sql`select statement from pg_prepared_statements`
    assert.ok(prepared.length <= 256, `${prepared.length}`)
    assert.equal(prepared.filter(({ statement }) => statement === "select 'again'").length, 1)
  })

  test('prepared statements are not kept if the caller requests it', async () => {
    const db = aDb({ max: 1 })
    assert.equal((await db.sql`select ${5}::int as once`.unprepared())[0]?.once, 5)
    const [row] = await db.sql`select count(*) as n from pg_prepared_statements where statement like '%once%'`
    assert.equal(row?.n, 1, 'only the counting query may be prepared')
  })

  test('prepared statements work after a change of their table, outside and inside of transactions', async () => {
    const db = aDb({ max: 2 })
    await db.sql.unsafe('create table changing (id int); insert into changing values (1)')
    const read = () => db.sql`select * from changing`
    const readInside = () => db.tx((sql) => sql`select * from changing where true`)
    for (const [change, expected] of [
      ['alter table changing add column more text', { id: 1, more: null }],
      ['alter table changing alter column id type text', { id: '1', more: null }],
      ['alter table changing drop column more', { id: '1' }],
    ] as const) {
      await Promise.all([read(), readInside()])
      await db.sql.unsafe(change)
      assert.deepEqual([...(await read())], [expected])
      assert.deepEqual([...(await readInside())], [expected])
    }
    assert.deepEqual(
      (await Promise.all([read(), read(), read()])).map(([row]) => row),
      Array(3).fill({ id: '1' }),
    )
  })

  test('prepared statements that fail the first time can run again, even if concurrent callers use the same text', async () => {
    const db = aDb({ max: 1 })
    const broken = () => db.sql`select * from not_there_yet where id = ${1}`
    for (const outcome of await Promise.allSettled([broken(), broken(), broken()]))
      assert.equal((outcome as PromiseRejectedResult).reason.code, '42P01')
    await db.sql`create table not_there_yet (id int)`
    assert.equal((await broken()).length, 0)
    const divided = (by: number) => db.sql`select 10 / ${by}::int as result`
    const results = await Promise.allSettled([divided(0), divided(2), divided(0), divided(5)])
    assert.deepEqual(
      results.map((outcome) => (outcome.status === 'fulfilled' ? outcome.value[0]?.result : outcome.reason.code)),
      ['22012', 5, '22012', 2],
    )
  })
})

suite('many callers', () => {
  test('many callers share few connections, and each caller gets its own result', async () => {
    const pool = connect(connection, { max: 4, name: 'shared' })
    afterAllTests(() => pool.end())
    const rows = await Promise.all(
      Array.from({ length: 2000 }, async (_, n) =>
        n % 10 === 3
          ? await pool`select 1 / ${0}::int`.catch(() => 'failed')
          : (await pool`select ${n}::int as n`)[0]?.n,
      ),
    )
    assert.deepEqual(
      rows,
      Array.from({ length: 2000 }, (_, n) => (n % 10 === 3 ? 'failed' : n)),
    )
    const [row] = await independentPool(
      connection,
    )`select count(*) as n from pg_stat_activity where application_name = 'shared'`
    assert.ok(row?.n <= 2, `${row?.n} connections`)
  })

  test('many callers are not delayed by one slow statement', async () => {
    const pool = connect(connection, { max: 4 })
    afterAllTests(() => pool.end())
    // Both shared connections must be open. With one connection, statements would be sent behind the slow statement.
    await eventually(async () => {
      const sleeping = () => pool`select pg_backend_pid() as pid, pg_sleep(0.05)`
      const [[first], [second]] = await Promise.all([sleeping(), sleeping()])
      assert.notEqual(first?.pid, second?.pid)
    })
    const holder = independentPool(connection)
    const release = Promise.withResolvers<void>()
    const locked = Promise.withResolvers<void>()
    const holding = holder.begin(async (sql) => {
      await sql`select pg_advisory_xact_lock(4711)`
      locked.resolve()
      await release.promise
    })
    await locked.promise
    let isOver = false
    const slow = pool`select pg_advisory_xact_lock(4711)`.then(() => {
      isOver = true
    })
    for (let n = 0; n < 50; n++) await pool`select 1`
    assert.equal(isOver, false)
    release.resolve()
    await holding
    await slow
  })
})

test('a closing pool lets running statements finish, and rejects new statements', async () => {
  const pool = connect(connection, { max: 2 })
  const begun = Promise.withResolvers<void>()
  const work = [
    pool`select pg_sleep(0.2), 1 as one`.execute(),
    pool.begin(async (sql) => {
      await sql`select 1`
      begun.resolve()
      await sleep(200)
      return await sql`select 1 as one`
    }),
  ]
  await eventually(async () =>
    assert.ok(
      (await independentPool(connection)`select from pg_stat_activity where query like '%pg_sleep(0.2)%'`).length > 1,
    ),
  )
  await begun.promise
  const ending = pool.end()
  await assert.rejects(pool`select 1`, { code: 'CONNECTION_ENDED' })
  await assert.rejects(
    pool.begin((sql) => sql`select 1`),
    { code: 'CONNECTION_ENDED' },
  )
  for (const rows of await Promise.all(work)) assert.equal(rows[0]?.one, 1)
  await ending
  const busyPool = connect(connection, { max: 2 })
  const endless = [busyPool`select pg_sleep(20)`, busyPool.begin((sql) => sql`select pg_sleep(20)`)]
  const outcomes = Promise.allSettled(endless.map((one) => one.then()))
  await sleep(100)
  await busyPool.end({ timeout: 0.1 })
  for (const outcome of await outcomes) assert.ok(isDatabaseUnavailable((outcome as PromiseRejectedResult).reason))
})

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import net from 'node:net'
import { suite, test } from 'node:test'
import { freshDatabase } from '../../test/harness/database.ts'
import { tcpProxy } from '../../test/harness/postgres-server.ts'
import { startUndisturbedTime } from '../../test/harness/undisturbed-time.ts'
import { sleep } from './clock.ts'
import { copyIn } from './copy-in.ts'
import {
  type ConnectionOptions,
  createDb,
  isDatabaseUnavailable,
  isUniqueViolation,
  likePart,
  type Sql,
  TransactionConflictError,
} from './db.ts'

async function aDb(connection?: ConnectionOptions) {
  const db = createDb(connection ?? (await freshDatabase()), { max: 4 })
  await db.sql`create table t (id int primary key, user_data jsonb, some_text text)`
  await db.sql`insert into t (id, user_data) values (1, '{"snake_case": 1, "camelCase": 2}'), (2, null)`
  return db
}

test('names of columns are translated to camelCase, and keys in JSON values are not', async () => {
  const db = await aDb()
  const [row] = await db.sql`select id, user_data, some_text from t where id = 1`
  assert.deepEqual(row, { id: 1, userData: { snake_case: 1, camelCase: 2 }, someText: null })
  await db.sql`insert into t ${db.sql({ id: 3, userData: db.sql.json({ a_b: 1 }), someText: 'x' } as never)}`
  const [count] = await db.sql`select count(*) as all_rows from t`
  assert.equal(count?.allRows, 3)
  await db.close()
})

test('a transaction whose work awaits no statement commits all of its statements or no statement', async () => {
  const db = await aDb()
  const rowsOfCopy = (ids: number[]) => Buffer.from(ids.map((id) => `${id}\n`).join(''))
  const write = (ids: number[]) =>
    db.tx(async (sql) => {
      const inserted = sql`insert into t (id) values (${ids[0]!}) returning id, xmin::text as transaction`.execute()
      const copied = copyIn(sql.unsafe('copy t (id) from stdin'), () => rowsOfCopy(ids.slice(1)))
      copied.catch(() => {})
      const last = sql`select count(*) as all_rows, now() = statement_timestamp() as is_first from t`.execute()
      last.catch(() => {})
      return { inserted, copied, last }
    })
  const { inserted, copied, last } = await write([10, 11, 12])
  assert.deepEqual(
    (await inserted).map(({ id }) => id),
    [10],
  )
  await copied
  assert.equal((await last)[0]?.allRows, 5)
  const [{ transactions } = {}] = await db.sql`select count(distinct xmin::text) as transactions from t where id >= 10`
  assert.equal(transactions, 1)
  await assert.rejects(write([20, 21, 10]), isUniqueViolation)
  await assert.rejects(write([30, 'x' as never]), { code: '22P02' })
  const [{ count } = {}] = await db.sql`select count(*) as count from t`
  assert.equal(count, 5, 'a failed transaction must store nothing')
  // SET LOCAL has an effect only in a transaction block, so this statement shows that `tx` has sent BEGIN.
  await db
    .tx(async (sql) => {
      sql`set local statement_timeout to 50`.execute()
      const slow = sql`select pg_sleep(5)`
      await assert.rejects(slow, { code: '57014' })
    })
    .catch(() => {})
  await db.close()
})

test('with the option `plans: once`, a statement is planned once for all values', async () => {
  const db = await aDb()
  const plans = async (database: typeof db) => {
    const [row] = await database.sql`select id from t where id = ${1}`
    assert.equal(row?.id, 1)
    const [plan] = await database.sql`
      select generic_plans, custom_plans from pg_prepared_statements where statement like 'select id from t%'`
    return plan
  }
  assert.deepEqual(await plans(db.open({ max: 2, name: 'once', plans: 'once' })), { genericPlans: 1, customPlans: 0 })
  assert.deepEqual(await plans(db.open({ max: 2, name: 'as usual' })), { genericPlans: 0, customPlans: 1 })
  await db.close()
})

test('after a deadlock the transaction that was rolled back runs again', async () => {
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
  assert.ok(holding >= 3, 'PostgreSQL must roll back one transaction, which must run again')
  await db.close()
})

test('a transaction whose work throws a conflict is rolled back and runs again, at most three times', async () => {
  const db = await aDb()
  let attempts = 0
  const insert = (failures: number) =>
    db.tx(async (sql) => {
      await sql`insert into t (id) values (${10 + attempts})`
      if (++attempts <= failures) throw new TransactionConflictError('again')
    })
  await insert(1)
  await assert.rejects(insert(9), TransactionConflictError)
  assert.equal(attempts, 5)
  assert.deepEqual([...(await db.sql`select id from t where id >= 10`)], [{ id: 11 }])
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
  const ended = await db.tx(async (sql) => ({ sql }))
  assert.throws(() => db.afterCommit(ended.sql, () => {}), /open db\.tx/)
  await db.close()
})

test('a search for a part of a text treats wildcards in the searched text as ordinary characters', async () => {
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

test('acknowledged rows are stored, however many statements wait on a connection when a transaction begins', async () => {
  const db = await aDb()
  await db.sql`create table written (n int)`
  let acknowledged = 0
  for (let round = 0; round < 20; round++) {
    const work: Promise<unknown>[] = []
    // The driver sends up to a hundred statements on a connection without waiting. In one of these rounds, the transaction is the
    // hundredth statement.
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

test('a copy that the work does not await is committed with its transaction, and if the copy fails, the commit fails with its error', async () => {
  const db = await aDb()
  const { sql } = db
  await sql`create table copied (id integer primary key)`
  const copyOf = (sql: Sql, ...ids: (number | string)[]) =>
    copyIn(sql.unsafe('copy copied (id) from stdin'), () => Buffer.from(ids.map((id) => `${id}\n`).join(''))).catch(
      () => {},
    )
  const idsOf = async () => (await sql`select id from copied order by id`).map(({ id }) => id)
  await db.tx(async (sql) => {
    sql`insert into copied values (1)`.execute()
    void copyOf(sql, 2, 3)
    void copyOf(sql, 4)
    sql`insert into copied values (5)`.execute()
  })
  assert.deepEqual(await idsOf(), [1, 2, 3, 4, 5])
  for (const wrong of [3, 'x'])
    await assert.rejects(
      db.tx(async (sql) => {
        sql`insert into copied values (6)`.execute()
        void copyOf(sql, 7, wrong)
        void copyOf(sql, 8)
      }),
      wrong === 3 ? { code: '23505' } : { code: '22P02' },
    )
  await db.tx(async (sql) => void copyOf(sql, 9))
  assert.deepEqual(await idsOf(), [1, 2, 3, 4, 5, 9])
  await db.close()
})

suite('a copy outside of a transaction', () => {
  const copy = 'copy t (id, some_text) from stdin'
  const lines = (from: number, count: number) =>
    Buffer.from(Array.from({ length: count }, (_, index) => `${from + index}\tcopied\n`).join(''))

  test('a copy outside of a transaction is stored completely or not at all, together with the statements before it', async () => {
    const db = await aDb()
    const count = async () => (await db.sql`select count(*) as n from t`)[0]?.n
    await db.copyIn(copy, () => lines(10, 5000))
    assert.equal(await count(), 5002)
    await assert.rejects(
      db.copyIn(copy, () => lines(6000, 5).fill('x', 0, 1)),
      { code: '22P02' },
    )
    await assert.rejects(
      db.copyIn(`insert into t (id) values (-1); select 1 / 0; ${copy}`, () => lines(6000, 5)),
      { code: '22012' },
    )
    await assert.rejects(
      db.copyIn(`insert into t (id) values (-1); ${copy}`, () => {
        throw new Error('no content')
      }),
      /no content/,
    )
    assert.equal(await count(), 5002)
    await db.copyIn(`insert into t (id) values (-1); ${copy}`, () => lines(6000, 5))
    assert.equal(await count(), 5008)
    await db.close()
  })

  test('a copy to the client returns rows of any size, and the connection is usable after an error', async () => {
    const db = await aDb()
    const read = (rows: string) => db.copyOut(`select set_config('enable_sort', 'off', true); copy (${rows}) to stdout`)
    assert.equal(Buffer.concat(await read('select n from generate_series(1, 3) n')).toString(), '1\n2\n3\n')
    const [large, small] = await read("select repeat('x', 3000000) union all select 'y'")
    assert.equal(large!.toString(), `${'x'.repeat(3_000_000)}\n`)
    assert.equal(small!.toString(), 'y\n')
    const lengths = [65_530, 65_531, 65_532, 200_000, 1, 65_536, 3_000_000, 2, 100_000, 65_535]
    const rows = `select repeat('z', length) from unnest('{${lengths}}'::int[]) as length`
    const expected = lengths.map((length) => 'z'.repeat(length))
    assert.deepEqual(
      Buffer.concat(await read(rows))
        .toString()
        .trimEnd()
        .split('\n'),
      expected,
    )
    await assert.rejects(read(`select repeat('z', 70000 / (5 - n)) from generate_series(1, 9) n`), { code: '22012' })
    assert.deepEqual(await read('select 1 where false'), [])
    await assert.rejects(read('select 1 / (3 - n) from generate_series(1, 3) n'), { code: '22012' })
    const results = await Promise.all(Array.from({ length: 20 }, (_, n) => read(`select ${n}`)))
    assert.deepEqual(
      results.map(String),
      Array.from({ length: 20 }, (_, n) => `${n}\n`),
    )
    const [setting] = await db.tx((sql) => sql`select current_setting('enable_sort') as sort`)
    assert.equal(setting!.sort, 'on')
    await db.close()
  })

  test('a copy outside of a transaction is not interleaved with concurrent copies and transactions', async () => {
    const db = await aDb()
    await Promise.all(
      Array.from({ length: 40 }, (_, turn) =>
        turn % 2 === 0
          ? db.copyIn(copy, () => lines(1000 + turn * 100, 100))
          : db.tx(async (sql) => {
              await sql`insert into t (id) values (${-turn})`
              await sql`update t set some_text = 'own' where id = ${-turn}`
            }),
      ),
    )
    const [row] =
      await db.sql`select count(*) filter (where id > 2) as copied, count(*) filter (where id < 0) as own from t`
    assert.deepEqual({ ...row }, { copied: 2000, own: 20 })
    await db.close()
  })

  test('a copy outside of a transaction fails if its connection breaks, and the next copy gets a new connection', async () => {
    const db = await aDb()
    const victims = `pg_stat_activity where datname = current_database() and query like '%pg_sleep%' and pid <> pg_backend_pid()`
    const broken = db.copyIn(`select pg_sleep(20); ${copy}`, () => lines(10, 5))
    broken.catch(() => {})
    for (let found = 0; found === 0; await sleep(5))
      found = (await db.sql.unsafe(`select pg_terminate_backend(pid) from ${victims}`)).length
    await assert.rejects(broken, isDatabaseUnavailable)
    await db.copyIn(copy, () => lines(10, 5))
    assert.equal((await db.sql`select count(*) as n from t`)[0]?.n, 7)
    await db.close()
  })
})

suite('a connection that breaks inside a transaction', () => {
  const breaking = {
    'while the transaction waits for something else': async (_: Sql, cut: () => Promise<void>) => {
      await cut()
      await sleep(50)
    },
    'while a statement runs': async (sql: Sql, cut: () => Promise<void>) => {
      await Promise.all([sql`select pg_sleep(5)`, sleep(20).then(cut)])
    },
    'while the work throws another error': async (sql: Sql, cut: () => Promise<void>) => {
      await Promise.all([sql`select pg_sleep(5)`.catch(() => {}), sleep(20).then(cut)])
      throw new Error('another error')
    },
    'inside a savepoint': async (sql: Sql, cut: () => Promise<void>) => {
      const { savepoint } = sql as Sql & { savepoint(work: (sql: Sql) => Promise<unknown>): Promise<unknown> }
      await savepoint((inner) => Promise.all([inner`select pg_sleep(5)`, sleep(20).then(cut)]))
    },
    'while another part of the transaction continues': async (sql: Sql, cut: () => Promise<void>) => {
      const laterInsert = sleep(100).then(() => sql`insert into t (id) values (77)`)
      await Promise.all([sql`select pg_sleep(5)`, sleep(20).then(cut), laterInsert.catch(() => {})])
    },
  }
  for (const [when, work] of Object.entries(breaking))
    for (const how of ['without a message', 'with an error message'])
      test(`a connection that breaks ${when}, ${how}, fails its transaction only, and the next transaction succeeds`, async () => {
        const proxy = await aProxy(await freshDatabase())
        const db = await aDb(proxy.connection)
        const attempt = db.tx(async (sql) => {
          await sql`insert into t (id) values (99)`
          const [backend] = await sql`select pg_backend_pid() as pid`
          await work(sql, async () => {
            if (how === 'without a message') proxy.cut()
            else await db.sql`select pg_terminate_backend(${backend?.pid})`
          })
        })
        await assert.rejects(attempt, (error) => isDatabaseUnavailable(error) || /another error/.test(String(error)))
        await db.tx((sql) => sql`insert into t (id) values (100)`)
        await sleep(120)
        const rows = await db.tx((sql) => sql`select id from t where id > 50`)
        assert.deepEqual(
          rows.map(({ id }) => id),
          [100],
        )
        await db.close()
        proxy.close()
      })
})

/** Proxies the database on a TCP port. `cut` breaks all connections, as a failure of the database machine does. */
async function aProxy(connection: ConnectionOptions) {
  const sockets = new Set<net.Socket>()
  const { host, port } = connection as { host: string; port: number }
  const server = net.createServer((near) => {
    const far = host.startsWith('/') ? net.connect(`${host}/.s.PGSQL.${port}`) : net.connect(port, host)
    for (const socket of [near, far]) {
      sockets.add(socket)
      socket
        .on('error', () => {})
        .on('close', () => {
          sockets.delete(socket)
          near.destroy()
          far.destroy()
        })
    }
    near.pipe(far).pipe(near)
  })
  await new Promise<void>((done) => void server.listen(0, '127.0.0.1', done))
  const cut = () => {
    for (const socket of sockets) socket.destroy()
  }
  return {
    connection: { ...connection, host: '127.0.0.1', port: (server.address() as net.AddressInfo).port },
    cut,
    close() {
      cut()
      server.close()
    },
  }
}

test("over TCP a copy is not delayed by Nagle's algorithm", async () => {
  const connection = await freshDatabase()
  const listener = await tcpProxy(() => connection as { host: string; port: number })
  const db = await aDb({ ...connection, host: '127.0.0.1', port: listener.port })
  const took: number[] = []
  for (let time = 0; time < 9; time++)
    await db.tx(async (sql) => {
      await sql`set local synchronous_commit = off`
      const undisturbedMs = startUndisturbedTime()
      // The copy needs two writes, between which the server sends nothing, and the second write is small.
      const copy = copyIn(sql.unsafe('copy t (id) from stdin'), async () => Buffer.from(`${100 + time}\n`))
      await copy
      took.push(undisturbedMs())
    })
  await db.close()
  listener.close()
  // Nagle's algorithm would delay each copy by 40 ms. Other programs of the machine may delay some of the copies.
  took.sort((a, b) => a - b)
  assert.ok(took[2]! < 35, `${took}`)
})

test('a connection that breaks while it is opened fails only the statement that waits for it', async () => {
  const connection = (await freshDatabase()) as { host: string; port: number }
  let cuts = 0
  const listener = await tcpProxy(
    () => connection,
    (text) => text.includes('application_name') && ++cuts < 3,
  )
  const options = JSON.stringify({ ...connection, host: '127.0.0.1', port: listener.port })
  const module = JSON.stringify(new URL('./db.ts', import.meta.url).href)
  const program = `
    import { connect, isDatabaseUnavailable } from ${module}
    const sql = connect(${options}, { max: 1 })
    for (let time = 0; time < 3; time++)
      await sql\`select 1 as one\`.then(([row]) => console.log(row.one), (error) => console.log('lost', isDatabaseUnavailable(error)))
    await sql.end()`
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let output = ''
  child.stdout.on('data', (text) => (output += text))
  const code = await new Promise((done) => child.on('close', done))
  listener.close()
  assert.deepEqual([code, output.split('\n')], [0, ['lost true', 'lost true', '1', '']])
})

import assert from 'node:assert/strict'
import { appendFileSync, globSync } from 'node:fs'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import {
  administrationOf,
  afterAllTests,
  freshDatabase,
  independentPool,
  startTestServer,
  temporaryDirectory,
} from '../../../test/harness/database.ts'
import { eventually } from '../../../test/harness/eventually.ts'
import { freePort } from '../../../test/harness/free-port.ts'
import { tcpProxy } from '../../../test/harness/postgres-server.ts'
import { createDb, isDatabaseUnavailable } from '../db.ts'
import { parseUrl } from './address.ts'
import { serverOf } from './hosts.ts'

suite('the database address', () => {
  const cases: Record<string, object> = {
    'postgres://ada:secret@db:6000/platform': {
      hosts: [{ host: 'db', port: 6000 }],
      login: { user: 'ada', password: 'secret', database: 'platform' },
    },
    'postgresql://ada@db/platform': {
      hosts: [{ host: 'db', port: 5432 }],
      login: { user: 'ada', database: 'platform' },
    },
    'postgres://one:1111,two,[::1]:3333/x': {
      hosts: [
        { host: 'one', port: 1111 },
        { host: 'two', port: 5432 },
        { host: '::1', port: 3333 },
      ],
      login: { database: 'x' },
    },
    'postgres://a%40b:p%3Aw%2F@db/n%20m': {
      hosts: [{ host: 'db', port: 5432 }],
      login: { user: 'a@b', password: 'p:w/', database: 'n m' },
    },
    'postgres://u:p@ss@db/x': {
      hosts: [{ host: 'db', port: 5432 }],
      login: { user: 'u', password: 'p@ss', database: 'x' },
    },
    'postgres://%2Frun%2Fpg/x': { hosts: [{ host: '/run/pg', port: 5432 }], login: { database: 'x' } },
    'postgres://u@/x?host=/run/pg&port=7': {
      hosts: [{ host: '/run/pg', port: 7 }],
      login: { user: 'u', database: 'x' },
    },
    'postgres:///': { hosts: [{ host: 'localhost', port: 5432 }], login: {} },
    'postgres://db/x?sslmode=disable': { hosts: [{ host: 'db', port: 5432 }], login: { database: 'x', ssl: false } },
    'postgres://db/x?sslmode=require': {
      hosts: [{ host: 'db', port: 5432 }],
      login: { database: 'x', ssl: { rejectUnauthorized: false } },
    },
    'postgres://db/x?sslmode=verify-full': { hosts: [{ host: 'db', port: 5432 }], login: { database: 'x', ssl: {} } },
  }
  for (const [url, expected] of Object.entries(cases))
    test(`the address ${url} is parsed`, () => {
      const { hosts, login } = parseUrl(url)
      assert.deepEqual({ hosts, login }, expected)
    })

  test('the database address is rejected if it is invalid, and the error does not contain the password', () => {
    for (const url of [
      'http://u:secret@db/x',
      'u:secret@db',
      'postgres://u:secret@db:x/y',
      'postgres://u:secret@db:0/y',
    ])
      assert.throws(
        () => parseUrl(url),
        (error: Error) => !error.message.includes('secret'),
        url,
      )
    assert.throws(() => parseUrl('postgres://db/x?sslmode=perhaps'), /sslmode=perhaps/)
  })
})

test('hosts are tried in order, beginning with the last host that accepted a connection, and the most useful error is reported', async () => {
  const server = serverOf({ url: 'postgres://one,two,three/x' })
  const tried: string[] = []
  const reach = (good: string) =>
    server.tryHosts(async ({ host }) => {
      tried.push(host)
      if (host !== good) throw Object.assign(new Error(host), { code: 'ECONNREFUSED' })
      return host
    })
  await reach('two')
  await reach('two')
  server.reportReadOnly()
  await reach('one')
  await assert.rejects(reach('none'), { code: 'ECONNREFUSED' })
  assert.deepEqual(tried, ['one', 'two', 'two', 'three', 'one', 'one', 'two', 'three'])
})

/** Starts two servers with the same tables. A setting can make one of the servers read-only. */
async function twoServers() {
  const [one, two] = await Promise.all([aServer(), aServer()])
  const address = `${one.user}:${one.password}@127.0.0.1:${one.port},127.0.0.1:${two.port}/${one.database}`
  return { one, two, url: `postgres://${address}` }
}

async function aServer() {
  const directory = join(temporaryDirectory(), 'postgres')
  const { connection, stop, pids } = await startTestServer(directory)
  const [postmaster] = pids()
  const configuration = globSync(join(directory, '{,*/}postgresql.auto.conf'))[0]!
  afterAllTests(stop)
  const listener = await tcpProxy(() => connection)
  afterAllTests(listener.close)
  const admin = independentPool(connection)
  await admin`create table who (name text)`
  await admin`create table written (id int primary key)`
  return {
    ...connection,
    host: '127.0.0.1',
    port: listener.port,
    admin,
    async readOnly(yes: boolean) {
      // The role of the platform may not change settings of the server, so the test edits the configuration file, as an operator does.
      appendFileSync(configuration, `default_transaction_read_only = ${yes ? 'on' : 'off'}\n`)
      process.kill(postmaster!, 'SIGHUP')
      await eventually(async () =>
        assert.equal(
          (await admin`show default_transaction_read_only`)[0]?.defaultTransactionReadOnly,
          yes ? 'on' : 'off',
        ),
      )
    },
  }
}

test('of several hosts, the host that accepts writes is used, even after a failover', async () => {
  const { one, two, url } = await twoServers()
  // Both servers have the same login and database. The row in the table `who` shows which server responds.
  await one.admin`insert into who values ('one')`
  await two.admin.unsafe(`alter role ${two.user} password '${one.password}'`)
  await two.admin`insert into who values ('two')`
  const where = async () => (await db.sql`select name from who`)[0]?.name
  await one.readOnly(true)

  const db = createDb({ url }, { max: 4 })
  afterAllTests(() => db.close())
  assert.equal(await where(), 'two', 'the second host must be used, because the first rejects writes')
  await db.sql`insert into written values (1)`
  await db.tx((sql) => sql`insert into written values (2)`)

  // Failover: the only error that writers may get is 503, until the other host is found.
  const problems: unknown[] = []
  let id = 10
  let stopped = false
  const writing = Promise.all(
    Array.from({ length: 6 }, async (_, n) => {
      while (!stopped) {
        const own = ++id
        try {
          if (n % 3 === 0) await db.tx((sql) => sql`insert into written values (${own})`)
          else if (n % 3 === 1) await db.sql`insert into written values (${own})`
          else await db.copyIn('copy written from stdin', () => Buffer.from(`${own}\n`))
          acknowledged.push(own)
        } catch (error) {
          problems.push(error)
          await new Promise((done) => setTimeout(done, 20))
        }
      }
    }),
  )
  const acknowledged: number[] = []
  await eventually(() => assert.ok(acknowledged.length > 20))
  await two.readOnly(true)
  await one.readOnly(false)
  await eventually(async () => assert.equal(await where(), 'one'))
  const before = acknowledged.length
  await eventually(() => assert.ok(acknowledged.length > before + 20))
  stopped = true
  await writing
  for (const problem of problems) assert.ok(isDatabaseUnavailable(problem), String(problem))
  const stored = new Set<number>()
  for (const { admin } of [one, two]) for (const row of await admin`select id from written`) stored.add(row.id)
  assert.deepEqual(
    acknowledged.filter((own) => !stored.has(own)),
    [],
  )
  assert.equal(await where(), 'one')
})

test('while no host accepts writes, callers get an error; when a host accepts writes, callers succeed', async () => {
  const { one, two, url } = await twoServers()
  await two.admin.unsafe(`alter role ${two.user} password '${one.password}'`)
  await Promise.all([one.readOnly(true), two.readOnly(true)])
  const db = createDb({ url }, { max: 2 })
  afterAllTests(() => db.close())
  await assert.rejects(
    db.sql`select 1`,
    (error) => isDatabaseUnavailable(error) && /accepts no writes/.test(String(error)),
  )
  await assert.rejects(
    db.tx((sql) => sql`select 1`),
    isDatabaseUnavailable,
  )
  await two.readOnly(false)
  await eventually(() => db.tx((sql) => sql`insert into written values (1)`))
  assert.equal((await two.admin`select from written`).length, 1)
})

test('a single host that becomes read-only counts as unavailable, and each failed write opens a new connection', async () => {
  const one = await aServer()
  const db = createDb(one, { max: 2 })
  afterAllTests(() => db.close())
  const pid = async () => (await db.sql`select pg_backend_pid() as pid`)[0]?.pid
  const first = await pid()
  await one.readOnly(true)
  await assert.rejects(db.sql`insert into written values (1)`, (error) => isDatabaseUnavailable(error))
  await assert.rejects(
    db.tx((sql) => sql`insert into written values (2)`),
    isDatabaseUnavailable,
  )
  assert.notEqual(await pid(), first)
  await one.readOnly(false)
  await db.sql`insert into written values (3)`
  await db.tx((sql) => sql`insert into written values (4)`)
  assert.deepEqual([...(await one.admin`select id from written order by id`)], [{ id: 3 }, { id: 4 }])
})

suite('LISTEN', () => {
  test('LISTEN uses one connection for all channels, and reports that it restarted after the connection broke', async () => {
    const one = await aServer()
    const db = createDb(one, { max: 2, name: 'listening' })
    afterAllTests(() => db.close())
    const received: string[] = []
    let begun = 0
    const first = await db.sql.listen(
      'one',
      (text) => received.push(`one ${text}`),
      () => void begun++,
    )
    const second = await db.sql.listen(
      'Two "quoted"',
      (text) => received.push(`two ${text}`),
      () => void begun++,
    )
    const listeners = () => one.admin`
      select pid from pg_stat_activity where application_name = 'listening' and query ilike '%listen%'`
    assert.equal(begun, 2)
    assert.equal((await listeners()).length, 1)
    await one.admin`select pg_notify('one', 'a'), pg_notify('Two "quoted"', 'b'), pg_notify('other', 'c')`
    await eventually(() => assert.deepEqual(received.toSorted(), ['one a', 'two b']))
    for (const { pid } of await listeners()) await one.admin`select pg_terminate_backend(${pid})`
    await eventually(() => assert.equal(begun, 4))
    await one.admin`select pg_notify('one', 'd'), pg_notify('Two "quoted"', 'e')`
    await eventually(() => assert.deepEqual(received.toSorted(), ['one a', 'one d', 'two b', 'two e']))
    await first.unlisten()
    await second.unlisten()
    await eventually(async () => assert.equal((await listeners()).length, 0))
  })
})

test('a database that refuses connections is named in the error, without its password', async () => {
  const port = await freePort()
  const db = createDb({ url: `postgres://ada:secret@127.0.0.1:${port}/x` }, { max: 1, name: 'refused' })
  try {
    await assert.rejects(db.sql`select 1`, (error: NodeJS.ErrnoException) => {
      assert.equal(error.code, 'ECONNREFUSED')
      assert.equal(
        error.message,
        `The database at 127.0.0.1:${port} cannot be reached: connect ECONNREFUSED 127.0.0.1:${port}`,
      )
      return true
    })
  } finally {
    await db.close()
  }
})

test('a database without free connections is named in the error, with the settings that an operator can change', async () => {
  const connection = await freshDatabase()
  const admin = independentPool(await administrationOf(connection))
  await admin`alter database ${admin(connection.database!)} connection limit 0`
  const db = createDb(connection, { max: 1, name: 'crowded' })
  try {
    await assert.rejects(db.sql`select 1`, {
      code: '53300',
      message: /^The database at .* accepts no more connections: .*max_connections.*WAYPOST_DATABASE_CONNECTIONS$/,
    })
  } finally {
    await db.close()
  }
})

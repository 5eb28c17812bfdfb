/** Runs random statements while faults happen, and checks that exactly the acknowledged rows are stored. */
import assert from 'node:assert/strict'
import net from 'node:net'
import { test } from 'node:test'
import { afterAllTests, freshDatabase } from '../../../test/harness/database.ts'
import { copyIn } from '../copy-in.ts'
import {
  type ConnectionOptions,
  connect,
  createDb,
  type Db,
  isDatabaseUnavailable,
  type TransactionSql,
} from '../db.ts'
import { isStatementCanceled } from './errors.ts'

const steps = 10_000
const workers = 24
/** Number of steps between two faults. A fault is a broken connection or a canceled statement. */
const stepsBetween = 12

/** Returns a generator whose numbers depend only on the seed. */
function random(seed: number) {
  let state = seed
  return (below: number) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

class OwnError extends Error {}

interface Step {
  db: Db
  /** Unique numbers that the step inserts. The step inserts either all numbers or no number. */
  ids: number[]
  pick: (below: number) => number
}

const line = (ids: number[]) => Buffer.from(ids.map((id) => `${id}\n`).join(''))
const insert = (sql: Db['sql'] | TransactionSql, id: number) => sql`insert into written (id) values (${id})`

/** Failures that are injected between two statements of a transaction. */
const faults: ((sql: TransactionSql) => Promise<unknown>)[] = [
  (sql) => sql`select 1 / 0`,
  (sql) => sql`insert into written (id) values (-1)`,
  (sql) => sql`select pg_terminate_backend(pg_backend_pid())`,
  (sql) => sql`select pg_cancel_backend(pg_backend_pid()), pg_sleep(1)`,
  (sql) => sql.unsafe('select 1; select broken'),
  (sql) => copyIn(sql.unsafe('copy written (id) from stdin'), () => Buffer.from('not a number\n')),
  (sql) =>
    copyIn(sql.unsafe('copy written (id) from stdin'), () => {
      throw new OwnError()
    }),
  (sql) => sql`insert into later (id) values (0)`, // This insert fails only at COMMIT.
  () => Promise.reject(new OwnError()),
]

const kinds: Record<string, (step: Step) => Promise<unknown>> = {
  'one statement': ({ db, ids: [id] }) => insert(db.sql, id!),
  'a statement that fails': ({ db, ids: [id] }) => db.sql`insert into written (id) values (${id!}), (-1)`,
  async 'a query'({ db, ids: [id] }) {
    const [row] = await db.sql`select ${id!}::int as id`
    assert.equal(row?.id, id, 'a query must get its own response')
    throw new OwnError()
  },
  'a transaction': ({ db, ids }) =>
    db.tx(async (sql) => {
      for (const id of ids) await insert(sql, id)
    }),
  'a transaction of parallel statements': ({ db, ids }) =>
    db.tx((sql) => Promise.all(ids.map((id) => insert(sql, id)))),
  'a transaction with a fault at some point': ({ db, ids, pick }) =>
    db.tx(async (sql) => {
      const at = pick(ids.length + 1)
      for (const [index, id] of ids.entries()) {
        if (index === at) await faults[pick(faults.length)]!(sql)
        await insert(sql, id)
      }
      if (at === ids.length) await faults[pick(faults.length)]!(sql)
    }),
  'a transaction in which some parallel statements fail': ({ db, ids, pick }) =>
    db.tx((sql) => Promise.all([...ids.map((id) => insert(sql, id)), faults[pick(faults.length)]!(sql)])),
  'a transaction that ignores the failure of a statement': ({ db, ids, pick }) =>
    db.tx(async (sql) => {
      await insert(sql, ids[0]!)
      await faults[pick(faults.length - 2)]!(sql).catch(() => {})
    }),
  'a transaction that does not wait for its last statement': ({ db, ids }) =>
    db.tx(async (sql) => {
      for (const id of ids) insert(sql, id).execute()
    }),
  'a transaction that awaits no statement': ({ db, ids }) =>
    db.tx(async (sql) => {
      insert(sql, ids[0]!).execute()
      copyIn(sql.unsafe('copy written (id) from stdin'), () => line(ids.slice(1))).catch(() => {})
    }),
  'a transaction that awaits no statement and fails': ({ db, ids, pick }) =>
    db.tx(async (sql) => {
      insert(sql, ids[0]!).execute()
      faults[pick(faults.length - 1)]!(sql).catch(() => {})
      copyIn(sql.unsafe('copy written (id) from stdin'), () => line(ids.slice(1))).catch(() => {})
    }),
  'a transaction with a savepoint that is rolled back': ({ db, ids }) =>
    db.tx(async (sql) => {
      await insert(sql, ids[0]!)
      await sql
        .savepoint(async (inner) => {
          await insert(inner, -ids[0]!)
          throw new OwnError()
        })
        .catch((error) => {
          if (!(error instanceof OwnError)) throw error
        })
      for (const id of ids.slice(1)) await insert(sql, id)
    }),
  'a transaction with a copy': ({ db, ids }) =>
    db.tx(async (sql) => {
      await insert(sql, ids[0]!)
      await copyIn(sql.unsafe('copy written (id) from stdin'), () => line(ids.slice(1)))
    }),
  'a copy': ({ db, ids }) => db.copyIn('copy written (id) from stdin', () => line(ids)),
  'a copy that fails': ({ db, ids }) => db.copyIn('copy written (id) from stdin', () => line([...ids, -1])),
  'a copy without content': ({ db, ids }) =>
    db.copyIn(`insert into written (id) values (${ids[0]}); copy written (id) from stdin`, () => {
      throw new OwnError()
    }),
  'a text with a transaction of its own': ({ db, ids }) =>
    db.sql.unsafe(`begin; ${ids.map((id) => `insert into written (id) values (${id});`).join('')} commit`),
  'a text whose transaction fails': ({ db, ids }) =>
    db.sql.unsafe(`begin; insert into written (id) values (${ids[0]}); select 1 / 0; commit`),
  'a text that leaves its transaction open': ({ db, ids }) =>
    db.sql.unsafe(`begin; insert into written (id) values (${ids[0]})`),
}

test(`${steps} steps store exactly the acknowledged rows while connections break, statements are canceled and transactions fail`, async (t) => {
  const seed = Date.now() % 1_000_000
  t.diagnostic(`seed ${seed}`)
  const connection = await freshDatabase()
  const admin = connect(connection, { max: 1, name: 'admin' })
  afterAllTests(() => admin.end())
  await admin.unsafe(`
    create table written (id int primary key);
    insert into written values (-1);
    create table later (id int, constraint never foreign key (id) references written (id) deferrable initially deferred)`)
  const proxy = await aProxy(connection)
  afterAllTests(proxy.close)
  const db = createDb({ ...connection, ...proxy.address }, { max: 8, name: 'victim' })
  afterAllTests(() => db.close())

  const pick = random(seed)
  const acknowledged = new Set<number>()
  const inDoubt = new Set<number>()
  const groups: number[][] = []
  const outcomes = new Map<string, { stored: number; failed: number; lost: number }>()
  let taken = 0

  async function work() {
    while (taken < steps) {
      const first = ++taken * 10
      const ids = Array.from({ length: 1 + pick(5) }, (_, index) => first + index)
      if (taken % stepsBetween === 0) await causeFault()
      const names = Object.keys(kinds)
      const name = names[pick(names.length)]!
      const outcome = outcomes.get(name) ?? { stored: 0, failed: 0, lost: 0 }
      outcomes.set(name, outcome)
      if (name.includes('one statement')) ids.length = 1
      try {
        await kinds[name]!({ db, ids, pick })
        outcome.stored++
        for (const id of ids) acknowledged.add(id)
      } catch (error) {
        if (error instanceof assert.AssertionError) throw error
        if (isDatabaseUnavailable(error) && !isStatementCanceled(error)) {
          outcome.lost++
          groups.push(ids)
          for (const id of ids) inDoubt.add(id)
        } else outcome.failed++
      }
    }
  }

  const victim = `from pg_stat_activity where application_name = 'victim' order by random() limit`
  async function causeFault() {
    const what = pick(4)
    if (what === 0) await admin.unsafe(`select pg_terminate_backend(pid) ${victim} 1`)
    else if (what === 1) proxy.cut(pick)
    else await admin.unsafe(`select pg_cancel_backend(pid) ${victim} 3`)
  }
  await Promise.all(Array.from({ length: workers }, work))

  const rows = await admin`select id from written where id <> -1`
  const stored = new Set(rows.map(({ id }) => id as number))
  const missing = [...acknowledged].filter((id) => !stored.has(id))
  const unexpected = [...stored].filter((id) => !acknowledged.has(id) && !inDoubt.has(id))
  const halves = groups.filter((ids) => new Set(ids.map((id) => stored.has(id))).size > 1)
  t.diagnostic(`${acknowledged.size} rows acknowledged, ${inDoubt.size} in doubt, ${proxy.cuts()} connections cut`)
  for (const [name, outcome] of outcomes) t.diagnostic(`${name}: ${JSON.stringify(outcome)}`)
  assert.deepEqual({ missing, unexpected, halves }, { missing: [], unexpected: [], halves: [] })
  // The test proves something only if many rows were stored and connections broke.
  assert.ok(inDoubt.size > steps / 100, `${inDoubt.size} rows in doubt`)
  for (const name of ['a statement that fails', 'a copy that fails', 'a copy without content', 'a query'])
    assert.equal(outcomes.get(name)?.stored, 0, name)
  for (const name of ['a text whose transaction fails', 'a text that leaves its transaction open'])
    assert.equal(outcomes.get(name)?.stored, 0, name)
})

/** Proxies TCP connections to the database. `cut` breaks one connection without a protocol message. */
async function aProxy(connection: ConnectionOptions) {
  const sockets = new Set<net.Socket>()
  const { host, port } = connection as { host: string; port: number }
  let cuts = 0
  const server = net.createServer((near) => {
    const far = net.connect(`${host}/.s.PGSQL.${port}`)
    sockets.add(near)
    near.setNoDelay(true)
    for (const socket of [near, far])
      socket
        .on('error', () => {})
        .on('close', () => {
          sockets.delete(near)
          near.destroy()
          far.destroy()
        })
    near.pipe(far).pipe(near)
  })
  await new Promise<void>((done) => void server.listen(0, '127.0.0.1', done))
  return {
    address: { host: '127.0.0.1', port: (server.address() as net.AddressInfo).port },
    cut(pick: (below: number) => number) {
      const victim = [...sockets][pick(sockets.size || 1)]
      if (!victim) return
      cuts++
      victim.destroy()
    },
    cuts: () => cuts,
    close() {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
}

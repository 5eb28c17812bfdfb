/** Tests how the program handles signals of npm, a terminal and a supervisor, and how it ends after a failed start. */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { connect as connectSocket } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { connect } from '../../src/kernel/db.ts'
import { lockMigrations } from '../../src/kernel/migrate.ts'
import { afterAllTests, freshDatabase } from '../harness/database.ts'
import { eventually } from '../harness/eventually.ts'
import { environmentOf, initializedDirectory, runCommand, startPlatform } from '../harness/platform.ts'
import { databaseUrl } from '../harness/postgres-server.ts'
import { isAlive, nameOf, processTree } from '../harness/processes.ts'
import { atTerminal, ctrlC } from '../harness/terminal.ts'

const assertReady = (directory: string) => {
  assert.ok(existsSync(join(directory, 'bootstrap.json')))
  return JSON.parse(readFileSync(join(directory, 'bootstrap.json'), 'utf8')) as { baseUrl: string }
}

const assertNoProcess = async (directory: string) => {
  const lock = join(directory, 'lock.pid')
  await eventually(() => assert.ok(!existsSync(lock), 'the platform must release the lock of its directory'))
}

const exitOf = (child: ChildProcess) =>
  new Promise<{ code: number | null; signal: string | null }>((done) =>
    child.on('close', (code, signal) => done({ code, signal })),
  )

test('after Ctrl-C at a terminal, npm start exits with 0, although npm forwards the signal that the program also got from the terminal', async () => {
  const directory = await initializedDirectory({ withBootstrap: false })
  const terminal = atTerminal('npm start', environmentOf(directory))
  await eventually(() => assertReady(directory), { withinMs: 60_000 }).catch((error) => {
    throw new Error(terminal.output(), { cause: error })
  })
  terminal.type(ctrlC)
  assert.equal(await terminal.exit, 0, terminal.output())
  assert.match(terminal.output(), /SIGINT: stopping.*stopped/s)
  await assertNoProcess(directory)
})

test('npm start exits with 0 after SIGTERM to npm alone and to the whole process group', async () => {
  for (const toGroup of [false, true]) {
    const directory = await initializedDirectory({ withBootstrap: false })
    const npm = spawn('npm', ['start'], { env: environmentOf(directory), detached: true })
    let output = ''
    npm.stdout.on('data', (text) => (output += text))
    npm.stderr.on('data', (text) => (output += text))
    let ended: Awaited<ReturnType<typeof exitOf>> | undefined
    void exitOf(npm).then((end) => (ended = end))
    // After a clean exit the process group no longer exists; the error of `kill` is ignored.
    afterAllTests(() => void spawnSync('kill', ['-KILL', '--', `-${npm.pid}`], { stdio: 'ignore' }))
    await eventually(() => assertReady(directory), { withinMs: 60_000 })
    process.kill(toGroup ? -npm.pid! : npm.pid!, 'SIGTERM')
    await eventually(
      () => {
        const processes = () =>
          spawnSync('ps', ['-eo', 'pid,ppid,pgid,args'])
            .stdout.toString()
            .match(RegExp(`.* ${npm.pid} .*`, 'g'))
        assert.deepEqual(ended, { code: 0, signal: null }, `${output}\n${processes()}`)
      },
      { withinMs: 60_000 },
    )
    assert.match(output, /SIGTERM: stopping.*stopped/s)
    await assertNoProcess(directory)
  }
})

test('repeated signals are ignored for a second; a later Ctrl-C does not wait for requests in flight', async () => {
  const platform = await startPlatform()
  const servers = processTree(platform.process.pid!).filter((pid) => nameOf(pid).startsWith('postgres'))
  assert.ok(servers.length > 0)
  const { hostname, port } = new URL(platform.baseUrl)
  const request = connectSocket(Number(port), hostname)
  request.on('error', () => {}) // The connection is reset when the process exits.
  await once(request, 'connect')
  request.write('POST /api/v1/applications HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\n')
  await eventually(async () => {
    // The platform reads connections in the order of their data. When it has responded on a later connection, it has read the request
    // above.
    assert.equal((await fetch(`${platform.baseUrl}/openapi.json`)).status, 200)
  })
  const exit = exitOf(platform.process)
  let ended = false
  void exit.then(() => (ended = true))
  const began = performance.now()
  await eventually(
    () => {
      if (!ended) for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) platform.process.kill(signal)
      assert.ok(ended)
    },
    { everyMs: 50 },
  )
  assert.deepEqual(await exit, { code: 130, signal: null })
  const took = performance.now() - began
  assert.ok(took >= 1000, `the platform must ignore repeated signals for a second, and it ended after ${took} ms`)
  assert.ok(took < 5000, `the stop must take less than 5 s, and it took ${took} ms`)
  request.destroy()
  await eventually(() => assert.deepEqual(servers.filter(isAlive), [], 'the database must stop'))
})

test('SIGTERM and SIGINT end a waiting start within seconds, with exit code 0', async () => {
  const connection = await freshDatabase()
  const holder = connect(connection, { max: 1 })
  const watcher = connect(connection, { max: 1 })
  const environment = { WAYPOST_DATABASE_URL: await databaseUrl(connection) }
  const release = Promise.withResolvers<void>()
  const locked = Promise.withResolvers<void>()
  const holding = holder.begin(async (sql) => {
    await lockMigrations(sql)
    locked.resolve()
    await release.promise
  })
  await locked.promise
  afterAllTests(async () => {
    release.resolve()
    await holding
    await Promise.all([holder.end(), watcher.end()])
  })
  for (const [index, signal] of (['SIGTERM', 'SIGINT'] as const).entries()) {
    let began = 0
    const { code, stdout, stderr } = await runCommand(['start'], {
      environment,
      async onSpawn(child) {
        await eventually(
          async () => {
            const waiting = await watcher`
              select from pg_stat_activity where datname = current_database() and wait_event = 'advisory'`
            // The database server still lists clients of earlier rounds, because it has not detected yet that they have disconnected.
            assert.equal(waiting.length, index + 1)
          },
          { withinMs: 60_000 },
        )
        began = performance.now()
        child.kill(signal)
        child.kill(signal)
      },
    })
    assert.equal(code, 0, stderr)
    assert.match(stdout, new RegExp(`${signal}: stopping before the start is complete`))
    assert.ok(performance.now() - began < 5000)
  }
})

test('if a start fails after it has opened the job queue, the program exits with 1', async () => {
  const connection = await freshDatabase()
  const pool = connect(connection, { max: 1 })
  const { default: boss } = await import('pg-boss/package.json', { with: { type: 'json' } })
  // The job queue finds its version number and assumes that its tables exist. The start fails, because they do not.
  await pool.unsafe(`create schema jobs; create table jobs.version as select ${Number(boss.pgboss.schema)} as version`)
  await pool.end()
  const { code, stderr } = await runCommand(['start'], {
    environment: { WAYPOST_DATABASE_URL: await databaseUrl(connection) },
    onSpawn: (child) => void setTimeout(() => child.kill('SIGKILL'), 30_000).unref(),
  })
  assert.equal(code, 1)
  assert.match(stderr, /^waypost: relation "jobs\.queue" does not exist$/m)
})

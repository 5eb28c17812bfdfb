/**
 * Databases for tests, on the PostgreSQL of the test runner (tools/test.ts). A test file that runs without the runner starts its own
 * server.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { freemem, tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'
import { fileURLToPath } from 'node:url'
import { type ConnectionOptions, connect, type Pool } from '../../src/kernel/db.ts'
import { layout } from '../../src/kernel/embedded-postgres/cluster.ts'
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../src/kernel/embedded-postgres.ts'
import { newShortToken } from '../../src/kernel/ids.ts'
import { migrate, readMigrations } from '../../src/kernel/migrate.ts'
import { sharedDirectoryVariable } from './timings.ts'

/** Environment variable set by the runner: JSON with the connection options of its PostgreSQL. */
export const sharedServerVariable = 'TEST_POSTGRES'

/**
 * Settings for speed instead of durability. Without fsync, creating and dropping databases takes a tenth of the time. Autovacuum is off,
 * because it would visit hundreds of short-lived databases. There are few buffers, because dropping a database scans all buffers. There are
 * many connections, because test files run in parallel, and a file can run several nodes.
 */
const fastSettings = {
  fsync: 'off',
  full_page_writes: 'off',
  max_wal_size: '1GB',
  checkpoint_timeout: '1h',
  max_connections: 400,
  autovacuum: 'off',
  shared_buffers: '128MB',
}

/**
 * Copies the files of an initialized server into the directory, because `initdb` takes a second of processor time. Without the test
 * runner, or if the directory already contains a server, this function does nothing. All copies have the same passwords.
 */
export async function copyInitializedServer(directory: string) {
  const shared = process.env[sharedDirectoryVariable]
  if (!shared || existsSync(directory)) return
  const template = join(shared, 'initialized-server')
  await oncePerRun(
    template,
    async () => existsSync(template),
    async () => {
      const making = join(shared, 'new-server')
      rmSync(making, { recursive: true, force: true })
      await (await startEmbeddedPostgres({ directory: making, log: () => {} })).stop()
      renameSync(making, template)
    },
  )
  mkdirSync(directory, { recursive: true })
  // `cp -p` keeps the owner of the files, which is the operating-system account of PostgreSQL.
  execFileSync('cp', ['-Rp', `${template}/.`, directory])
}

/**
 * Starts a server without password authentication, because checking a password takes longer than a short statement. Only the
 * operating-system account of the tests can reach the server.
 */
export async function startTestServer(directory: string): Promise<EmbeddedPostgres> {
  await copyInitializedServer(directory)
  const server = await startEmbeddedPostgres({ directory, log: () => {}, settings: fastSettings })
  writeFileSync(join(layout(directory).cluster, 'pg_hba.conf'), 'local all all trust\n')
  const admin = connect(server.administration, { max: 1 })
  await admin`select pg_reload_conf()`
  await admin.end()
  return server
}

/** Connection options of the test server: `connection` is for the role that owns the test databases, `administration` for a superuser. */
type TestServer = Pick<EmbeddedPostgres, 'connection' | 'administration'>

let server: Promise<TestServer> | undefined

const cleanups: (() => Promise<void> | void)[] = []

/** Registers a cleanup that runs after all tests of the file. Cleanups run in reverse order of registration. */
export const afterAllTests = (cleanup: () => Promise<void> | void) => void cleanups.push(cleanup)

/** Runs all registered cleanups, the newest first. */
export async function runCleanups(): Promise<void> {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
}

/** True if several test files run in this process. In this case, shared-process.ts runs the cleanups. */
export const sharedProcess = { enabled: false }

// The hook is registered when the module is loaded, because `after` inside a test applies to that test only. In a shared process the hook
// may run too early, so shared-process.ts runs the cleanups after each file.
after(async () => {
  if (!sharedProcess.enabled) await runCleanups()
})

/**
 * Returns /dev/shm if it has at least 6 GB of free space, because databases in memory are created ten times faster. Otherwise returns the
 * temporary folder.
 */
function temporaryRoot(): string {
  const memory = '/dev/shm'
  try {
    const { bavail, bsize } = statfsSync(memory)
    const room = Math.min(bavail * bsize, freemem(), process.constrainedMemory() || Number.POSITIVE_INFINITY)
    return room > 6e9 ? memory : tmpdir()
  } catch {
    return tmpdir()
  }
}

/** Creates a directory that is removed after the tests of the file, even if they fail. */
export function temporaryDirectory(name = 'waypost-test-') {
  const directory = mkdtempSync(join(temporaryRoot(), name))
  afterAllTests(() => rmSync(directory, { recursive: true, force: true }))
  return directory
}

function testServer(): Promise<TestServer> {
  const shared = process.env[sharedServerVariable]
  if (shared) return Promise.resolve(JSON.parse(shared) as TestServer)
  server ??= startOwnServer()
  return server
}

async function startOwnServer(): Promise<TestServer> {
  const directory = temporaryDirectory()
  const postgres = await startTestServer(join(directory, 'postgres'))
  afterAllTests(async () => {
    await postgres.stop()
    rmSync(directory, { recursive: true, force: true })
  })
  return postgres
}

/** Opens a pool that is independent of the pool of the tested code, for tests that hold locks or keep transactions open. */
export function independentPool(connection: ConnectionOptions): Pool {
  const pool = connect(connection, { max: 2 })
  afterAllTests(() => pool.end())
  return pool
}

/** Creates an empty database, which is dropped after the tests of the file. */
export async function freshDatabase(): Promise<ConnectionOptions> {
  return cloneDatabase('template1')
}

/** Returns connection options of a superuser on this database, for tests that change roles or server settings. */
export async function administrationOf(connection: ConnectionOptions): Promise<ConnectionOptions> {
  const { administration } = await testServer()
  return { ...administration, database: (connection as TestServer['connection']).database } as ConnectionOptions
}

let administrator: Promise<Pool> | undefined

/**
 * Returns the pool of this process for creating and dropping databases. The last cleanup closes it, because other cleanups drop databases.
 */
function administratorPool(): Promise<Pool> {
  administrator ??= testServer().then(({ administration }) => {
    const pool = connect(administration, { max: 1 })
    afterAllTests(async () => {
      administrator = undefined
      await pool.end()
    })
    return pool
  })
  return administrator
}

async function cloneDatabase(template: string): Promise<ConnectionOptions> {
  const { connection } = await testServer()
  const admin = await administratorPool()
  const name = `t_${newShortToken(12).toLowerCase()}`
  await admin.unsafe(`create database ${name} owner ${connection.user} template ${template} strategy file_copy`)
  afterAllTests(async () => {
    await admin.unsafe(`drop database if exists ${name} with (force)`)
  })
  return { ...connection, database: name }
}

/** Creates a resource once for all files of a test run. An advisory lock protects it, because files run in parallel. */
export async function oncePerRun(name: string, exists: () => Promise<boolean>, make: () => Promise<void>) {
  if (await exists()) return
  const admin = connect((await testServer()).administration, { max: 1 })
  await admin.begin(async (sql) => {
    await sql`select pg_advisory_xact_lock(hashtextextended(${name}, 0))`
    if (!(await exists())) await make()
  })
  await admin.end()
}

type FillDatabase = (connection: ConnectionOptions) => Promise<void>

/** Returns a template database for the key. The first call of a test run copies it from the template `base`, and `make` fills it. */
export async function preparedTemplate(key: string, make: FillDatabase, base = 'template1'): Promise<string> {
  const { connection } = await testServer()
  const admin = await administratorPool()
  const template = `prepared_${key}`
  const exists = async () => (await admin`select from pg_database where datname = ${template}`).length > 0
  await oncePerRun(template, exists, async () => {
    await admin.unsafe(`drop database if exists ${template}_new`)
    await admin.unsafe(`create database ${template}_new owner ${connection.user} template ${base} strategy file_copy`)
    await make({ ...connection, database: `${template}_new` })
    await admin.unsafe(`alter database ${template}_new rename to ${template}`)
  })
  return template
}

/** Creates a database as a copy of the template of the key (`preparedTemplate`). A copy takes a tenth of the time that `make` takes. */
export async function preparedDatabase(key: string, make: FillDatabase, base?: string): Promise<ConnectionOptions> {
  return cloneDatabase(await preparedTemplate(key, make, base))
}

/** Applies the migrations of the kernel. */
export async function migrateKernel(connection: ConnectionOptions) {
  const pool = connect(connection, { max: 1 })
  const directory = fileURLToPath(new URL('../../src/kernel/migrations/', import.meta.url))
  await migrate(pool, readMigrations([{ module: 'kernel', directory }]))
  await pool.end()
}

/** A PostgreSQL for tests: the runner's (tools/test.ts), or, for a file run alone, one of its own. A database for each caller. */
import { mkdtempSync, rmSync, statfsSync } from 'node:fs'
import { freemem, tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'
import { fileURLToPath } from 'node:url'
import { type ConnectionOptions, connect, type Pool } from '../../src/kernel/db.ts'
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../src/kernel/embedded-postgres.ts'
import { newShortToken } from '../../src/kernel/ids.ts'
import { migrate, readMigrations } from '../../src/kernel/migrate.ts'

/** Set by the runner: how to reach its PostgreSQL. */
export const sharedServerVariable = 'TEST_POSTGRES'

/**
 * Only a power failure would show the difference; making and dropping databases takes a tenth of the time. The connections
 * are for several test files at once, with several nodes each. Checking a password 4,096 times took most of a connect.
 */
const fastSettings = {
  fsync: 'off',
  full_page_writes: 'off',
  max_wal_size: '1GB',
  max_connections: 400,
  scram_iterations: 1,
}

export async function startTestServer(directory: string): Promise<EmbeddedPostgres> {
  const server = await startEmbeddedPostgres({ directory, log: () => {}, settings: fastSettings })
  const { user, password } = server.administration
  const admin = connect(server.administration, { max: 1 })
  await admin.unsafe(`alter role ${user} password '${password}'`) // initdb made it with the usual iterations
  await admin.end()
  return server
}

/** How to reach the server: as the role that owns the databases of tests and is no superuser, and as superuser. */
type TestServer = Pick<EmbeddedPostgres, 'connection' | 'administration'>

let server: Promise<TestServer> | undefined

const cleanups: (() => Promise<void> | void)[] = []

/** Runs when all tests of the file are over, the newest first: what was opened last is closed first. */
export const afterAllTests = (cleanup: () => Promise<void> | void) => void cleanups.push(cleanup)

export async function runCleanups(): Promise<void> {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
}

export const sharedProcess = { enabled: false }

// Registered while the file is loaded: within a test, `after` would mean after that test. Where files share a process, it would
// mean whenever nothing is left to run, and each file has its own end (shared-process.ts).
after(async () => {
  if (!sharedProcess.enabled) await runCleanups()
})

/** In memory where there is plenty of it: a new database is there in a tenth of the time, and a kill -9 spares it as it does a disk. */
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

/** Removed at the end, whatever becomes of the test. */
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

/** Connections beside those of the code under test, as another program has them: for locks and open transactions. */
export function independentPool(connection: ConnectionOptions): Pool {
  const pool = connect(connection, { max: 2 })
  afterAllTests(() => pool.end())
  return pool
}

/** An empty database of its own, dropped after the tests of the file. */
export async function freshDatabase(): Promise<ConnectionOptions> {
  return cloneDatabase('template1')
}

/** As superuser, for what a test does beside the platform: roles, settings of the server. */
export async function administrationOf(connection: ConnectionOptions): Promise<ConnectionOptions> {
  const { administration } = await testServer()
  return { ...administration, database: (connection as TestServer['connection']).database } as ConnectionOptions
}

let administrator: Promise<Pool> | undefined

/** One connection of each process, closed after everything that was opened later. */
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

/** Makes what the files of a run share, which run side by side, unless another has made it. */
export async function oncePerRun(name: string, isMade: () => Promise<boolean>, make: () => Promise<void>) {
  if (await isMade()) return
  const admin = connect((await testServer()).administration, { max: 1 })
  await admin.begin(async (sql) => {
    await sql`select pg_advisory_xact_lock(hashtextextended(${name}, 0))`
    if (!(await isMade())) await make()
  })
  await admin.end()
}

/**
 * A database of its own with everything in it that `make` makes; made once in a run of the tests for each key and copied from
 * then on, which takes a tenth of the time.
 */
export async function preparedDatabase(
  key: string,
  make: (connection: ConnectionOptions) => Promise<void>,
): Promise<ConnectionOptions> {
  const { connection } = await testServer()
  const admin = await administratorPool()
  const template = `prepared_${key}`
  const isMade = async () => (await admin`select from pg_database where datname = ${template}`).length > 0
  await oncePerRun(template, isMade, async () => {
    await admin.unsafe(`drop database if exists ${template}_new`)
    await admin.unsafe(`create database ${template}_new owner ${connection.user}`)
    await make({ ...connection, database: `${template}_new` })
    await admin.unsafe(`alter database ${template}_new rename to ${template}`)
  })
  return cloneDatabase(template)
}

/** The kernel's own tables, for tests of the kernel's parts. */
export async function migrateKernel(connection: ConnectionOptions) {
  const pool = connect(connection, { max: 1 })
  const directory = fileURLToPath(new URL('../../src/kernel/migrations/', import.meta.url))
  await migrate(pool, readMigrations([{ module: 'kernel', directory }]))
  await pool.end()
}

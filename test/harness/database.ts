/** A PostgreSQL for tests: the runner's (tools/test.ts), or, for a file run alone, one of its own. A database for each caller. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'
import { fileURLToPath } from 'node:url'
import { type ConnectionOptions, connect } from '../../src/kernel/db.ts'
import { startEmbeddedPostgres } from '../../src/kernel/embedded-postgres.ts'
import { newShortToken } from '../../src/kernel/ids.ts'
import { migrate, readMigrations } from '../../src/kernel/migrate.ts'

export const sharedServerVariable = 'TEST_POSTGRES'

let server: Promise<ConnectionOptions> | undefined

const cleanups: (() => Promise<void> | void)[] = []

/** Runs when all tests of the file are over, the newest first: what was opened last is closed first. */
export const atTheEnd = (cleanup: () => Promise<void> | void) => void cleanups.push(cleanup)

export async function putAway(): Promise<void> {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
}

// Registered while the file is loaded: within a test, `after` would mean after that test.
after(putAway)

/** Removed at the end, whatever becomes of the test. */
export function throwAwayDirectory(name = 'waypost-test-') {
  const directory = mkdtempSync(join(tmpdir(), name))
  atTheEnd(() => rmSync(directory, { recursive: true, force: true }))
  return directory
}

function testServer(): Promise<ConnectionOptions> {
  const shared = process.env[sharedServerVariable]
  if (shared) return Promise.resolve(JSON.parse(shared) as ConnectionOptions)
  server ??= startOwn()
  return server
}

async function startOwn(): Promise<ConnectionOptions> {
  const directory = throwAwayDirectory()
  const postgres = await startEmbeddedPostgres({ directory: join(directory, 'postgres'), log: () => {} })
  atTheEnd(async () => {
    await postgres.stop()
    rmSync(directory, { recursive: true, force: true })
  })
  return postgres.connection
}

/** An empty database of its own, dropped after the tests of the file. */
export async function freshDatabase(): Promise<ConnectionOptions> {
  const connection = await testServer()
  const name = `t_${newShortToken(12).toLowerCase()}`
  const admin = connect(connection, { max: 1 })
  await admin.unsafe(`create database ${name}`)
  atTheEnd(async () => {
    await admin.unsafe(`drop database if exists ${name} with (force)`)
    await admin.end()
  })
  return { ...connection, database: name } as ConnectionOptions
}

/**
 * A database of its own with everything in it that `make` makes; made once in a run of the tests for each key and copied from
 * then on, which takes a tenth of the time.
 */
export async function preparedDatabase(
  key: string,
  make: (connection: ConnectionOptions) => Promise<void>,
): Promise<ConnectionOptions> {
  const connection = await testServer()
  const admin = connect(connection, { max: 1 })
  const template = `prepared_${key}`
  const known = async () => (await admin`select from pg_database where datname = ${template}`).length > 0
  if (!(await known())) {
    // Test files run side by side.
    await admin`select pg_advisory_lock(hashtextextended(${template}, 0))`
    if (!(await known())) {
      await admin.unsafe(`drop database if exists ${template}_new`)
      await admin.unsafe(`create database ${template}_new`)
      await make({ ...connection, database: `${template}_new` } as ConnectionOptions)
      await admin.unsafe(`alter database ${template}_new rename to ${template}`)
    }
    await admin`select pg_advisory_unlock(hashtextextended(${template}, 0))`
  }
  const name = `t_${newShortToken(12).toLowerCase()}`
  await admin.unsafe(`create database ${name} template ${template}`)
  atTheEnd(async () => {
    await admin.unsafe(`drop database if exists ${name} with (force)`)
    await admin.end()
  })
  return { ...connection, database: name } as ConnectionOptions
}

/** The kernel's own tables, for tests of the kernel's parts. */
export async function kernelMigrated(connection: ConnectionOptions) {
  const pool = connect(connection, { max: 1 })
  const directory = fileURLToPath(new URL('../../src/kernel/migrations/', import.meta.url))
  await migrate(pool, readMigrations([{ module: 'kernel', directory }]))
  await pool.end()
}

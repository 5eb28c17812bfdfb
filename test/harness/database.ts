/** A PostgreSQL for tests: the runner's (tools/test.ts), or, for a file run alone, one of its own. A database for each caller. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'
import { type ConnectionOptions, connect } from '../../src/kernel/db.ts'
import { startEmbeddedPostgres } from '../../src/kernel/embedded-postgres.ts'
import { newShortToken } from '../../src/kernel/ids.ts'

export const sharedServerVariable = 'TEST_POSTGRES'

let server: Promise<ConnectionOptions> | undefined

export const throwAwayDirectory = (name = 'waypost-test-') => mkdtempSync(join(tmpdir(), name))

function testServer(): Promise<ConnectionOptions> {
  const shared = process.env[sharedServerVariable]
  if (shared) return Promise.resolve(JSON.parse(shared) as ConnectionOptions)
  server ??= startOwn()
  return server
}

async function startOwn(): Promise<ConnectionOptions> {
  const directory = throwAwayDirectory()
  const postgres = await startEmbeddedPostgres({ directory: join(directory, 'postgres'), log: () => {} })
  after(async () => {
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
  after(async () => {
    await admin.unsafe(`drop database if exists ${name} with (force)`)
    await admin.end()
  })
  return { ...connection, database: name } as ConnectionOptions
}

/** Creates databases for tests of backup and restore: with the tables of the kernel and of a small module `sample`. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { BuiltServices } from '../../src/assembly/build.ts'
import { backupKeyOf } from '../../src/kernel/backup/authentication.ts'
import { restoreBackup } from '../../src/kernel/backup/restore.ts'
import { writeBackup } from '../../src/kernel/backup/write.ts'
import { systemClock } from '../../src/kernel/clock.ts'
import { type ConnectionOptions, connect, type Pool } from '../../src/kernel/db.ts'
import { installJobs } from '../../src/kernel/jobs.ts'
import { type Migration, migrate, readMigrations } from '../../src/kernel/migrate.ts'
import { afterAllTests, freshDatabase, temporaryDirectory } from './database.ts'

const kernel = { module: 'kernel', directory: fileURLToPath(new URL('../../src/kernel/migrations/', import.meta.url)) }

/** Returns the migrations of the kernel and of a module `sample`, whose migration files are `files`. */
export function migrationsWith(files: Record<string, string>): Migration[] {
  const directory = temporaryDirectory()
  mkdirSync(directory, { recursive: true })
  for (const [name, text] of Object.entries(files)) writeFileSync(join(directory, name), text)
  return readMigrations([kernel, { module: 'sample', directory }])
}

export const masterKey = Buffer.alloc(32, 7)

export async function backupDatabase(migrations?: Migration[]): Promise<{ connection: ConnectionOptions; pool: Pool }> {
  const connection = await freshDatabase()
  const pool = connect(connection, { max: 4, translate: false })
  afterAllTests(() => pool.end())
  if (migrations) {
    await migrate(pool, migrations)
    const jobs = connect(connection, { max: 1, translate: false })
    await installJobs(jobs, async (work) => void (await pool.begin(work)))
    await jobs.end()
  }
  return { connection, pool }
}

export const backUp = (connection: ConnectionOptions, file: string, overrides = {}) =>
  writeBackup({ connection, file, masterKey, program: '1.2.3', now: systemClock, ...overrides })

export const restore = (connection: ConnectionOptions, file: string, migrations: Migration[], overrides = {}) =>
  restoreBackup({
    connection,
    file,
    masterKey,
    authentication: backupKeyOf(masterKey),
    migrations,
    replace: true,
    ...overrides,
  })

export const connectionOf = (waypost: BuiltServices): ConnectionOptions => waypost.connection

/** Tables about running nodes, which a backup does not contain. */
const nodeTables = ['kernel.nodes', 'kernel.signals', 'kernel.signal_key']

/** Returns every row of every table as text, sorted, so that two databases can be compared. */
export async function contentOf(pool: Pool, schemas = ['kernel', 'sample', 'jobs']): Promise<Record<string, string[]>> {
  const tables = await pool`
    select n.nspname || '.' || c.relname as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname = any(${schemas}) and c.relkind in ('r', 'p') and not c.relispartition
      and c.relname not in ('data_keys', 'version', 'bam', 'warning', 'queue_stats')
      and c.oid <> all(array(select to_regclass(name) from unnest(${nodeTables}::text[]) as name where to_regclass(name) is not null))
    order by 1`
  const content: Record<string, string[]> = {}
  for (const { name } of tables) {
    const rows = await pool.unsafe(`select t::text as row from ${name} as t order by 1`)
    content[name] = rows.map(({ row }) => row)
  }
  return content
}

/** Applies the numbered SQL files of all modules to the database, each once. */
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Pool, Sql } from './db.ts'

export interface Migration {
  module: string
  name: string
  text: string
  checksum: string
}

export interface MigrationSource {
  module: string
  directory: string
}

/** Reads the numbered SQL files of all modules, in the order in which the services are built. */
export function readMigrations(sources: MigrationSource[]): Migration[] {
  return sources.flatMap(({ module, directory }) =>
    readdirSync(directory)
      .filter((file) => /^\d{4}_[a-z0-9_]+\.sql$/.test(file))
      .sort()
      .map((name) => {
        const text = readFileSync(join(directory, name), 'utf8')
        return { module, name, text, checksum: createHash('sha256').update(text).digest('hex') }
      }),
  )
}

const lockKey = 7_238_120_651

/** Applies missing migrations under a lock, so that several nodes can start at the same time. */
export async function migrate(pool: Pool, migrations: Migration[]): Promise<string[]> {
  if (await isUpToDate(pool, migrations)) return []
  return await pool.begin(async (sql) => {
    await sql.withoutTimeLimit()
    return await applyMigrations(sql, migrations)
  })
}

/** Prevents other nodes from migrating until the end of the transaction. */
export const lockMigrations = (sql: Sql) => sql`select pg_advisory_xact_lock(${lockKey})`

/** Applies the missing migrations in the caller's transaction, and returns their names. */
export async function applyMigrations(sql: Sql, migrations: Migration[]): Promise<string[]> {
  await lockMigrations(sql)
  await sql.unsafe(`
    create schema if not exists kernel;
    create table if not exists kernel.migrations (
      module text not null,
      name text not null,
      checksum text not null,
      applied_at timestamptz not null default now(),
      primary key (module, name)
    )`)
  const applied = await readApplied(sql)
  const added: string[] = []
  for (const migration of migrations) {
    const known = applied.get(`${migration.module}/${migration.name}`)
    if (known !== undefined) continue
    await sql.unsafe(migration.text)
    await sql`insert into kernel.migrations (module, name, checksum)
      values (${migration.module}, ${migration.name}, ${migration.checksum})`
    added.push(`${migration.module}/${migration.name}`)
  }
  return added
}

/** Returns whether every migration was applied. */
export async function isUpToDate(pool: Pool, migrations: Migration[]): Promise<boolean> {
  const [exists] = await pool`select to_regclass('kernel.migrations') is not null as yes`
  if (!exists?.yes) return false
  const applied = await readApplied(pool)
  let complete = true
  for (const { module, name, checksum } of migrations) {
    const known = applied.get(`${module}/${name}`)
    if (known === undefined) complete = false
    else if (known !== checksum) throw new Error(`Migration ${module}/${name} was changed after it had been applied`)
    applied.delete(`${module}/${name}`)
  }
  const unknown = [...applied.keys()][0]
  if (unknown)
    throw new Error(
      `The database has ${unknown}, which this version does not know: a newer Waypost has used it. Start that version or a newer version`,
    )
  return complete
}

async function readApplied(sql: Sql): Promise<Map<string, string>> {
  const rows = await sql`select module, name, checksum from kernel.migrations`
  return new Map(rows.map((row) => [`${row.module}/${row.name}`, row.checksum as string]))
}

/** Checks restored rows whose values later become part of SQL text. All other restored values are only used as data. */
import type { Sql } from '../db.ts'
import { BackupError } from './errors.ts'
import type { Manifest } from './manifest.ts'

export async function checkRestoredRows(sql: Sql, manifest: Manifest) {
  await checkMigrations(sql, manifest)
  await checkQueues(sql)
}

/** Compares the rows of `kernel.migrations` with the manifest, because the next restore drops the schemas of the modules in these rows. */
async function checkMigrations(sql: Sql, manifest: Manifest) {
  const rows = await sql<Manifest['migrations']>`select module, name, checksum from kernel.migrations`
  const fingerprintOf = (migrations: Manifest['migrations']) =>
    JSON.stringify(migrations.map(({ module, name, checksum }) => [module, name, checksum]).sort())
  if (fingerprintOf([...rows]) !== fingerprintOf(manifest.migrations))
    throw new BackupError("The rows of the backup's kernel.migrations differ from the migrations in its manifest")
}

/** Checks names that pg-boss puts into its SQL text unquoted. */
async function checkQueues(sql: Sql) {
  const [unexpected] = await sql`
    select name from jobs.queue
    where name !~ '^[A-Za-z0-9_.-]+$' or dead_letter !~ '^[A-Za-z0-9_.-]+$' or policy !~ '^[a-z_]+$'
      or table_name <> 'job_common' or partition limit 1`
  if (unexpected)
    throw new BackupError(`The backup has a job queue ${JSON.stringify(unexpected.name)} that Waypost does not create`)
}

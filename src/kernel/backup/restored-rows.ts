/** Checks restored rows whose values later become part of SQL; everything else in a row is data and stays data. */
import type { Sql } from '../db.ts'
import { BackupError } from './format.ts'
import type { Manifest } from './manifest.ts'

export async function checkRestoredRows(sql: Sql, manifest: Manifest) {
  await checkMigrations(sql, manifest)
  await checkQueues(sql)
}

/** The next restore drops the schemas of the modules that stand here. */
async function checkMigrations(sql: Sql, manifest: Manifest) {
  const rows = await sql<Manifest['migrations']>`select module, name, checksum from kernel.migrations`
  const state = (migrations: Manifest['migrations']) =>
    JSON.stringify(migrations.map(({ module, name, checksum }) => [module, name, checksum]).sort())
  if (state([...rows]) !== state(manifest.migrations))
    throw new BackupError("The rows of the backup's kernel.migrations are others than those that its manifest names")
}

/** pg-boss writes names of queues and of their tables into its statements as they are. */
async function checkQueues(sql: Sql) {
  const [strange] = await sql`
    select name from jobs.queue
    where name !~ '^[A-Za-z0-9_.-]+$' or dead_letter !~ '^[A-Za-z0-9_.-]+$' or policy !~ '^[a-z_]+$'
      or table_name <> 'job_common' or partition limit 1`
  if (strange)
    throw new BackupError(`The backup has a job queue ${JSON.stringify(strange.name)} that Waypost does not make`)
}

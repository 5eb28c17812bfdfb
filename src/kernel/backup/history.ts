/** Records backups and restores, so that administrators see when the last backup or restore ran. */
import { hostname } from 'node:os'
import type { ConnectionOptions, Sql } from '../db.ts'
import { newId } from '../ids.ts'
import { runInTransaction } from './copy.ts'

export interface BackupRun {
  kind: 'backup' | 'restore'
  startedAt: Date
  finishedAt: Date
  host: string
  file: string
  /** Version of the program. */
  program: string
  encrypted: boolean
  /** True if contents of files and blobs were included. */
  withContents: boolean
  tables: number | null
  rows: number | null
  bytes: number | null
  sha256: string | null
  /** The reason of the failure; null if the run succeeded. */
  problem: string | null
}

/** Maximum number of runs that are kept. */
const runsMax = 1000

/** Records a run, unless an older version of the platform created the database and the table for runs does not exist yet. */
export async function recordRun(connection: ConnectionOptions, run: Omit<BackupRun, 'host'>) {
  await runInTransaction(connection, 'read write', async (sql) => {
    const [table] = await sql`select to_regclass('kernel.backup_runs') is not null as yes`
    if (!table?.yes) return
    await sql`
      insert into kernel.backup_runs (id, kind, started_at, finished_at, host, file, program, encrypted, with_contents, tables, rows, bytes,
        sha256, problem)
      values (${newId()}, ${run.kind}, ${run.startedAt}, ${run.finishedAt}, ${hostname()}, ${run.file}, ${run.program}, ${run.encrypted},
        ${run.withContents}, ${run.tables}, ${run.rows}, ${run.bytes}, ${run.sha256}, ${run.problem})`
    await sql`
      delete from kernel.backup_runs where finished_at <= (
        select finished_at from kernel.backup_runs order by finished_at desc offset ${runsMax} limit 1)`
  })
}

/** Returns the last runs, the newest first. */
export const findRuns = (sql: Sql, limit: number) =>
  sql<BackupRun[]>`
    select kind, started_at, finished_at, host, file, program, encrypted, with_contents, tables::float8 as tables,
      rows::float8 as rows, bytes::float8 as bytes, sha256, problem
    from kernel.backup_runs order by finished_at desc, id limit ${limit}`

import { resolve } from 'node:path'
import { version } from '../assembly/version.ts'
import { type BackupRun, recordRun } from '../kernel/backup/history.ts'
import { systemClock } from '../kernel/clock.ts'
import type { ConnectionOptions } from '../kernel/db.ts'

type Started = Pick<BackupRun, 'kind' | 'startedAt' | 'file' | 'encrypted' | 'withContents'>
interface Result {
  tables: number
  rows: number
  fileBytes: number
  sha256: string
}

/** Records how a backup or restore ended. If recording fails, only a warning is printed, because the run itself is not affected. */
export async function recordBackupRun(connection: ConnectionOptions, run: Started, outcome: Result | Error) {
  const nothing = { tables: null, rows: null, bytes: null, sha256: null }
  const result =
    outcome instanceof Error
      ? { ...nothing, problem: outcome.message }
      : { tables: outcome.tables, rows: outcome.rows, bytes: outcome.fileBytes, sha256: outcome.sha256, problem: null }
  try {
    const finishedAt = systemClock()
    await recordRun(connection, { ...run, file: resolve(run.file), program: version, finishedAt, ...result })
  } catch (error) {
    process.stderr.write(
      `waypost: this ${run.kind} could not be added to the list of backups in the database: ${(error as Error).message}\n`,
    )
  }
}

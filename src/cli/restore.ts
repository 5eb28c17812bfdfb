import { parseArgs } from 'node:util'
import { contentTables, migrationSources } from '../assembly/build.ts'
import { catalogue } from '../assembly/catalogue.ts'
import { borrowDatabase } from '../assembly/database.ts'
import { loadConfig } from '../config.ts'
import { type Verified, verifyBackup } from '../kernel/backup/read.ts'
import { type RestoreResult, restoreBackup } from '../kernel/backup/restore.ts'
import { createBlobs } from '../kernel/blobs/open.ts'
import { monotonicMs, systemClock } from '../kernel/clock.ts'
import { createLog } from '../kernel/log.ts'
import { readMigrations } from '../kernel/migrate.ts'
import { loadMasterKey } from '../kernel/secrets.ts'
import { amount, occasionally, secondsSince, sentencesAbout, size, tell } from './sentences.ts'

export const usage = `usage: waypost restore <file> [--yes | --check] [--without-files]

  --yes            replace the data that is there
  --check          only verify the file; no database is needed
  --without-files  bring back the rows alone: contents of files and blobs stay as they are
`

/** Brings a backup back, whole or not at all, while the platform runs or not. */
export async function run(args: string[]): Promise<number> {
  let file: string | undefined
  let flags: { yes?: boolean | undefined; check?: boolean | undefined; 'without-files'?: boolean | undefined } = {}
  try {
    const { values, positionals } = parseArgs({
      args,
      allowPositionals: true,
      options: { yes: { type: 'boolean' }, check: { type: 'boolean' }, 'without-files': { type: 'boolean' } },
    })
    if (positionals.length === 1) file = positionals[0]
    flags = values
  } catch (error) {
    process.stderr.write(`waypost: ${(error as Error).message}\n`)
  }
  if (!file) {
    process.stderr.write(usage)
    return 2
  }
  try {
    if (flags.check) {
      describe(file, await verifyBackup(file))
      tell('Every checksum matches.')
      return 0
    }
    return await restore(file, flags.yes === true, !flags['without-files'])
  } catch (error) {
    process.stderr.write(`waypost: ${(error as Error).message}\n`)
    return 1
  }
}

async function restore(file: string, replace: boolean, withFiles: boolean): Promise<number> {
  const config = loadConfig()
  const started = monotonicMs()
  // Before a database is started, or even made, for a file that is of no use.
  const verified = await verifyBackup(file)
  describe(file, verified)
  const database = await borrowDatabase(config, await createLog({ ...config.log, level: 'error' }))
  try {
    const sayNow = occasionally()
    let tables = 0
    const result = await restoreBackup({
      connection: database.connection,
      file,
      verified,
      masterKey: loadMasterKey(config.masterKey, config.dataDirectory),
      migrations: readMigrations(migrationSources(catalogue)),
      replace,
      ...(withFiles && {
        contents: {
          blobs: createBlobs(config.service.blobs, systemClock),
          tables: contentTables(catalogue),
          progress: (count: number, bytes: number) =>
            sayNow(() => `${amount(count, 'content')} of files and blobs so far, ${size(bytes)}`),
        },
      }),
      progress(table) {
        tables++
        sayNow(() => `${amount(tables, 'table')} so far, up to ${table}`)
      },
    })
    if (result.inTheWay) return refuse(result.inTheWay)
    tell(`Restored ${amount(result.tables, 'table')}, ${amount(result.rows, 'row')}, in ${secondsSince(started)}.`)
    tellStored(result, config.service.blobs.s3 ? 'the S3 store' : config.service.blobs.directory)
    if (result.upgraded.length > 0) tell(`Then applied ${result.upgraded.join(', ')}.`)
    tell('A running platform takes it up now and writes bootstrap.json anew; a stopped one does at its next start.')
    return 0
  } finally {
    await database.stop()
  }
}

function tellStored({ contents, stored }: RestoreResult, place: string) {
  if (stored)
    tell(
      `Wrote ${amount(stored.written, 'content')} of files and blobs to ${place}` +
        `${stored.kept > 0 ? `; ${amount(stored.kept, 'content')} lay there already.` : '.'}`,
    )
  else if (contents) tell('Contents of files and blobs were left out.')
  else tell(`Contents of files and blobs were not in the backup; what lies in ${place} was left as it is.`)
}

function describe(file: string, { manifest, tables, rows, fileBytes, sha256, contents }: Verified) {
  tell(
    `${file}: made by Waypost ${manifest.program} with PostgreSQL ${manifest.postgres} at ${manifest.createdAt}, ` +
      `${amount(tables, 'table')}, ${amount(rows, 'row')}, ${size(fileBytes)}.`,
  )
  for (const sentence of contents ? sentencesAbout(contents) : ['Without contents of files and blobs.']) tell(sentence)
  tell(`SHA-256 ${sha256}`)
}

function refuse(inTheWay: NonNullable<RestoreResult['inTheWay']>): number {
  const most = inTheWay.toSorted((a, b) => b.rows - a.rows)
  process.stderr.write(
    `waypost: the database has data, which a restore replaces:\n\n${most
      .slice(0, 10)
      .map(({ table, rows }) => `  ${table.padEnd(40)} ${amount(rows, 'row')}\n`)
      .join('')}${most.length > 10 ? `  and ${amount(most.length - 10, 'table')} more\n` : ''}\n` +
      'Nothing was changed. Run it again with --yes to replace all of it.\n',
  )
  return 2
}

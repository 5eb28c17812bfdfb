import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { contentTables } from '../assembly/build.ts'
import { catalogue } from '../assembly/catalogue.ts'
import { connectDatabase } from '../assembly/database.ts'
import { version } from '../assembly/version.ts'
import { loadConfig } from '../config.ts'
import { createPassphrase, passphraseLengthMin } from '../kernel/backup/encryption.ts'
import type { ContentTotals } from '../kernel/backup/manifest.ts'
import { backupSettings } from '../kernel/backup/settings.ts'
import { writeBackup } from '../kernel/backup/write.ts'
import { createBlobs } from '../kernel/blobs/open.ts'
import { monotonicMs, systemClock } from '../kernel/clock.ts'
import { createLog } from '../kernel/log.ts'
import { loadMasterKey } from '../kernel/secrets.ts'
import { recordBackupRun } from './backup-history.ts'
import { countText, describeContents, print, progressPrinter, secondsSince, sizeText } from './output.ts'

export const usage = `usage: waypost backup <file> [--force] [--with-files | --without-files]

  --force          replace an existing file
  --with-files     include the contents of files and blobs; the default if they are in the data directory
  --without-files  leave them out; the default if they are in an S3 store (WAYPOST_S3_URL)

With WAYPOST_BACKUP_PASSPHRASE, or WAYPOST_BACKUP_PASSPHRASE_FILE and a file that contains it, the backup is encrypted.
`

const options = {
  force: { type: 'boolean' },
  'with-files': { type: 'boolean' },
  'without-files': { type: 'boolean' },
} as const

/** Writes the database and the contents of files and blobs to one file. The platform may be running. */
export async function run(args: string[]): Promise<number> {
  let file: string | undefined
  let flags: {
    force?: boolean | undefined
    'with-files'?: boolean | undefined
    'without-files'?: boolean | undefined
  } = {}
  try {
    const { values, positionals } = parseArgs({ args, allowPositionals: true, options })
    const isClear = !(values['with-files'] && values['without-files'])
    if (!isClear) process.stderr.write('waypost: give --with-files or --without-files, not both\n')
    if (isClear && positionals.length === 1) file = positionals[0]
    flags = values
  } catch (error) {
    process.stderr.write(`waypost: ${(error as Error).message}\n`)
  }
  if (!file) {
    process.stderr.write(usage)
    return 2
  }

  const config = loadConfig()
  if (!config.databaseUrl && !existsSync(join(config.dataDirectory, 'postgres'))) {
    process.stderr.write(
      `waypost: there is no database in ${config.dataDirectory}; set WAYPOST_DATA to the data directory of the platform\n`,
    )
    return 1
  }
  const { passphrase } = config.read(backupSettings)
  if (passphrase !== undefined && passphrase.length < passphraseLengthMin) {
    process.stderr.write(`waypost: WAYPOST_BACKUP_PASSPHRASE must have at least ${passphraseLengthMin} characters\n`)
    return 2
  }
  const { blobs } = config.platform
  const withFiles = !flags['without-files'] && (flags['with-files'] === true || !blobs.s3)
  const started = monotonicMs()
  const run = {
    kind: 'backup' as const,
    startedAt: systemClock(),
    file,
    encrypted: passphrase !== undefined,
    withContents: withFiles,
  }
  const database = await connectDatabase(config, await createLog({ ...config.log, level: 'error' }))
  try {
    let rows = 0
    const printProgress = progressPrinter()
    const backup = await writeBackup({
      connection: database.connection,
      file,
      masterKey: loadMasterKey(config.masterKey, config.dataDirectory),
      program: version,
      now: systemClock,
      force: flags.force === true,
      ...(passphrase !== undefined && { passphrase: createPassphrase(passphrase) }),
      ...(withFiles && {
        contents: {
          blobs: createBlobs(blobs, systemClock),
          tables: contentTables(catalogue),
          progress: (count: number, bytes: number) =>
            printProgress(() => `${countText(count, 'content')} of files and blobs so far, ${sizeText(bytes)}`),
        },
      }),
      progress(table, added) {
        rows += added
        printProgress(() => `${countText(rows, 'row')} so far, up to ${table}`)
      },
    })
    await recordBackupRun(database.connection, run, backup)
    print(
      `Wrote ${file}: ${countText(backup.tables, 'table')}, ${countText(backup.rows, 'row')}, ${sizeText(backup.fileBytes)} ` +
        `(${sizeText(backup.bytes)} unpacked), in ${secondsSince(started)}.`,
    )
    printContents(backup.contents, blobs.s3 ? 'the S3 store' : 'the data directory')
    print(`Read back and verified. SHA-256 ${passphrase === undefined ? '' : 'before encryption '}${backup.sha256}`)
    if (passphrase === undefined)
      print(
        'The backup contains the key of the stored secrets: keep the file as safe as the data directory (mode 0600).',
      )
    else print('The backup is encrypted: nobody can restore it without the passphrase.')
    const source =
      config.masterKey === undefined ? join(config.dataDirectory, 'keys', 'master.key') : 'WAYPOST_MASTER_KEY'
    print(`To restore the backup on another installation, also keep the master key of this installation: ${source}.`)
    return 0
  } catch (error) {
    process.stderr.write(`waypost: ${(error as Error).message}\n`)
    await recordBackupRun(database.connection, run, error as Error)
    return 1
  } finally {
    await database.stop()
  }
}

function printContents(contents: ContentTotals | undefined, store: string) {
  if (contents) for (const sentence of describeContents(contents)) print(sentence)
  else
    print(
      `The backup does not include the contents of files and blobs: they are in ${store}, which needs its own backup` +
        `${store === 'the S3 store' ? '; --with-files includes them.' : '.'}`,
    )
}

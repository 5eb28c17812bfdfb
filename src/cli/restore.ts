import { parseArgs } from 'node:util'
import { contentTables, migrationSources } from '../assembly/build.ts'
import { catalogue } from '../assembly/catalogue.ts'
import { connectDatabase } from '../assembly/database.ts'
import { type Config, loadConfig } from '../config.ts'
import { authenticate, backupKeyOf, keyIdOf } from '../kernel/backup/authentication.ts'
import { createPassphrase, type Passphrase } from '../kernel/backup/encryption.ts'
import { BackupError } from '../kernel/backup/errors.ts'
import { PassphraseNeeded } from '../kernel/backup/format.ts'
import { type Verified, verifyBackup } from '../kernel/backup/read.ts'
import { type RestoreResult, restoreBackup } from '../kernel/backup/restore.ts'
import { backupSettings } from '../kernel/backup/settings.ts'
import { createBlobs } from '../kernel/blobs/open.ts'
import { monotonicMs, systemClock } from '../kernel/clock.ts'
import { createLog } from '../kernel/log.ts'
import { readMigrations } from '../kernel/migrate.ts'
import { findMasterKey, loadMasterKey, readMasterKey } from '../kernel/secrets.ts'
import { askSecret } from './ask-secret.ts'
import { recordBackupRun } from './backup-history.ts'
import { countText, describeContents, print, progressPrinter, secondsSince, sizeText } from './output.ts'

export const usage = `usage: waypost restore <file> [--yes | --check] [--without-files] [--key-file <file> | --unauthenticated]

  --yes              replace the existing data
  --check            only verify the file; needs no database
  --without-files    restore the rows only; contents of files and blobs are not changed
  --key-file <file>  the master key of the installation that made the backup (its keys/master.key, or a file with the text of
                     its WAYPOST_MASTER_KEY), if that is another installation
  --unauthenticated  restore a backup without checking who made it: of an older Waypost, or whose key is lost

An encrypted backup needs WAYPOST_BACKUP_PASSPHRASE or WAYPOST_BACKUP_PASSPHRASE_FILE; on a terminal it is asked for.
`

const options = {
  yes: { type: 'boolean' },
  check: { type: 'boolean' },
  'without-files': { type: 'boolean' },
  'key-file': { type: 'string' },
  unauthenticated: { type: 'boolean' },
} as const

interface Flags {
  yes?: boolean | undefined
  check?: boolean | undefined
  'without-files'?: boolean | undefined
  'key-file'?: string | undefined
  unauthenticated?: boolean | undefined
}

/** Restores a backup completely or not at all. The platform may be running. */
export async function run(args: string[]): Promise<number> {
  let file: string | undefined
  let flags: Flags = {}
  try {
    const { values, positionals } = parseArgs({ args, allowPositionals: true, options })
    const isClear = !(values['key-file'] !== undefined && values.unauthenticated)
    if (!isClear) process.stderr.write('waypost: give --key-file or --unauthenticated, not both\n')
    if (isClear && positionals.length === 1) file = positionals[0]
    flags = values
  } catch (error) {
    process.stderr.write(`waypost: ${(error as Error).message}\n`)
  }
  if (!file) {
    process.stderr.write(usage)
    return 2
  }
  try {
    return flags.check ? await check(file, flags) : await restore(file, flags)
  } catch (error) {
    process.stderr.write(`waypost: ${(error as Error).message}\n`)
    return 1
  }
}

async function check(file: string, flags: Flags): Promise<number> {
  const key = readAuthenticationKey(loadConfig(), flags)
  const { verified } = await verify(loadConfig(), file)
  describe(file, verified)
  print('Every checksum matches.')
  if (key === 'none') print('The origin of the backup was not checked.')
  else if (!key)
    print(
      'The origin of the backup was not checked: this installation has no master key. Name a key file with --key-file.',
    )
  else {
    authenticate(file, verified, key)
    print(`The backup was made with the master key ${keyIdOf(key)}.`)
  }
  return 0
}

/**
 * Verifies the file. The passphrase comes from the setting. If the setting is empty and the file needs a passphrase, a person at a terminal
 * is asked for it.
 */
async function verify(config: Config, file: string): Promise<{ verified: Verified; passphrase?: Passphrase }> {
  const { passphrase: text } = config.read(backupSettings)
  const known = text === undefined ? undefined : createPassphrase(text)
  try {
    return { verified: await verifyBackup(file, known), ...(known && { passphrase: known }) }
  } catch (error) {
    if (!(error instanceof PassphraseNeeded) || !process.stdin.isTTY) throw error
    const passphrase = createPassphrase(await askSecret(`Passphrase of ${file}: `))
    return { verified: await verifyBackup(file, passphrase), passphrase }
  }
}

/** Returns the key with which the backup must be authenticated: 'none' if the user declines the check, undefined if there is no key yet. */
function readAuthenticationKey({ masterKey, dataDirectory }: Config, flags: Flags): Buffer | 'none' | undefined {
  if (flags.unauthenticated) return 'none'
  const file = flags['key-file']
  const key = file === undefined ? findMasterKey(masterKey, dataDirectory) : readMasterKey(file)
  return key && backupKeyOf(key)
}

async function restore(file: string, flags: Flags): Promise<number> {
  const config = loadConfig()
  const started = monotonicMs()
  // The file is verified first, so that no database is started or created for an unusable file.
  const authentication = readAuthenticationKey(config, flags)
  const { verified, passphrase } = await verify(config, file)
  describe(file, verified)
  if (!authentication)
    throw new BackupError(
      `There is no master key in ${config.dataDirectory} to check the origin of the backup: name the key of the installation ` +
        'that made it with --key-file, or restore it with --unauthenticated',
    )
  if (authentication === 'none') print('Its origin is not checked, as requested.')
  else authenticate(file, verified, authentication)
  const database = await connectDatabase(config, await createLog({ ...config.log, level: 'error' }))
  const run = {
    kind: 'restore' as const,
    startedAt: systemClock(),
    file,
    encrypted: passphrase !== undefined,
    withContents: !flags['without-files'] && verified.contents !== undefined,
  }
  try {
    const printProgress = progressPrinter()
    let tables = 0
    const result = await restoreBackup({
      connection: database.connection,
      file,
      verified,
      ...(passphrase && { passphrase }),
      masterKey: loadMasterKey(config.masterKey, config.dataDirectory),
      authentication,
      migrations: readMigrations(migrationSources(catalogue)),
      replace: flags.yes === true,
      ...(!flags['without-files'] && {
        contents: {
          blobs: createBlobs(config.platform.blobs, systemClock),
          tables: contentTables(catalogue),
          progress: (count: number, bytes: number) =>
            printProgress(() => `${countText(count, 'content')} of files and blobs so far, ${sizeText(bytes)}`),
        },
      }),
      progress(table) {
        tables++
        printProgress(() => `${countText(tables, 'table')} so far, up to ${table}`)
      },
    })
    if (result.existingData) return printExistingData(result.existingData)
    const { tables: restored, rows } = result
    await recordBackupRun(database.connection, run, { ...verified, tables: restored, rows })
    print(
      `Restored ${countText(result.tables, 'table')}, ${countText(result.rows, 'row')}, in ${secondsSince(started)}.`,
    )
    printStored(result, config.platform.blobs.s3 ? 'the S3 store' : config.platform.blobs.directory)
    if (result.upgraded.length > 0) print(`Then applied ${result.upgraded.join(', ')}.`)
    print(
      'A running platform uses the restored data now and rewrites bootstrap.json; a stopped platform does so at its next start.',
    )
    return 0
  } catch (error) {
    await recordBackupRun(database.connection, run, error as Error)
    throw error
  } finally {
    await database.stop()
  }
}

function printStored({ contents, stored }: RestoreResult, store: string) {
  if (stored)
    print(
      `Wrote ${countText(stored.written, 'content')} of files and blobs to ${store}` +
        `${stored.kept > 0 ? `; kept ${countText(stored.kept, 'content')} that the store already had.` : '.'}`,
    )
  else if (contents) print('Contents of files and blobs were left out.')
  else print(`Contents of files and blobs were not in the backup; ${store} was not changed.`)
}

function describe(file: string, { manifest, tables, rows, fileBytes, sha256, contents }: Verified) {
  print(
    `${file}: made by Waypost ${manifest.program} with PostgreSQL ${manifest.postgres} at ${manifest.createdAt}, ` +
      `${countText(tables, 'table')}, ${countText(rows, 'row')}, ${sizeText(fileBytes)}.`,
  )
  for (const sentence of contents ? describeContents(contents) : ['Without contents of files and blobs.'])
    print(sentence)
  print(`SHA-256 ${sha256}`)
}

function printExistingData(existingData: NonNullable<RestoreResult['existingData']>): number {
  const sorted = existingData.toSorted((a, b) => b.rows - a.rows)
  process.stderr.write(
    `waypost: the database has data, which a restore replaces:\n\n${sorted
      .slice(0, 10)
      .map(({ table, rows }) => `  ${table.padEnd(40)} ${countText(rows, 'row')}\n`)
      .join('')}${sorted.length > 10 ? `  and ${countText(sorted.length - 10, 'table')} more\n` : ''}\n` +
      'Nothing was changed. Run the command again with --yes to replace this data.\n',
  )
  return 2
}

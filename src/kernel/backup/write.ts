/** Writes backups. */
import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { constants, createZstdCompress } from 'node:zlib'
import type { Blobs } from '../blobs/blobs.ts'
import type { Clock } from '../clock.ts'
import type { ConnectionOptions, Sql } from '../db.ts'
import { readJobsVersion } from '../jobs.ts'
import { readDataKey } from '../secrets.ts'
import { authenticate, backupKeyOf, keyIdOf, tagOf } from './authentication.ts'
import { type ContentProgress, type ContentTable, withRemovalsPaused, writeContents } from './contents.ts'
import { copyOut, createRowMeter, runInTransaction } from './copy.ts'
import type { Passphrase } from './encryption.ts'
import { BackupError } from './errors.ts'
import { createFrameWriter, type FrameWriter } from './format.ts'
import { findPartitions, findSchemas, findTables, readApplied, readSequences } from './inventory.ts'
import { type Manifest, qualifiedName, type TableEntry, type Totals } from './manifest.ts'
import { type Verified, verifyBackup } from './read.ts'

export interface BackupOptions {
  connection: ConnectionOptions
  file: string
  masterKey: Buffer
  /** The version of this program. */
  program: string
  now: Clock
  /** The passphrase that encrypts the file. If absent, the file is not encrypted. */
  passphrase?: Passphrase
  /** True if an existing file may be replaced. */
  force?: boolean
  /** The blob store, and the tables that reference its contents. If absent, contents are left out. */
  contents?: { blobs: Blobs; tables: ContentTable[]; progress?: ContentProgress }
  progress?(table: string, rows: number): void
}

/**
 * Writes a consistent snapshot of all Waypost tables while the platform runs. The file gets its final name only when it is complete, synced
 * to disk and verified.
 */
export async function writeBackup(options: BackupOptions): Promise<Verified> {
  const file = resolve(options.file)
  const partial = `${file}.partial`
  const rejectExistingFile = () => {
    if (!options.force && existsSync(file)) throw new BackupError(`${file} exists already; --force replaces it`)
  }
  rejectExistingFile()
  rmSync(partial, { force: true })
  const writer = await createFrameWriter(partial, options.passphrase)
  const inode = statSync(partial).ino
  try {
    if (options.contents) await withRemovalsPaused(options.connection, () => writeAll(writer, options))
    else await writeAll(writer, options)
    const verified = await verifyBackup(partial, options.passphrase)
    authenticate(partial, verified, backupKeyOf(options.masterKey))
    rejectExistingFile()
    if (statSync(partial, { throwIfNoEntry: false })?.ino !== inode)
      throw new BackupError(`Another backup is being written to ${file}`)
    renameSync(partial, file)
    syncDirectory(dirname(file))
    return verified
  } catch (error) {
    await writer.abandon()
    if (statSync(partial, { throwIfNoEntry: false })?.ino === inode) rmSync(partial, { force: true })
    throw error
  }
}

async function writeAll(writer: FrameWriter, options: BackupOptions) {
  const { connection, masterKey, program, now, progress, contents } = options
  const key = backupKeyOf(masterKey)
  const tablesBefore = await runInTransaction(connection, 'read only', findOwnTables)
  if (tablesBefore.length === 0)
    throw new BackupError('There is nothing to back up: Waypost has never used this database')
  await runInTransaction(connection, 'isolation level repeatable read read only', async (sql) => {
    // The tables are locked before the first query, which takes the snapshot. Otherwise a migration could change the columns in between, or
    // a restore could truncate a table, which then looks empty even in an older snapshot.
    await sql.unsafe(`lock table ${tablesBefore.map(qualifiedName).join(', ')} in access share mode`)
    const tables = await findOwnTables(sql)
    if (JSON.stringify(tables) !== JSON.stringify(tablesBefore))
      throw new BackupError('The tables changed while the backup started; run the backup again')
    const manifest = await readManifest(sql, tables, { masterKey, program, createdAt: now().toISOString() })
    const header: Manifest = { ...manifest, ...(contents && { contents: true }), keyId: keyIdOf(key) }
    await writer.writeJson('H', header)
    const totals: Totals = { tables: tables.length, rows: 0, bytes: 0 }
    for (const [index, table] of tables.entries()) {
      await writer.writeJson('T', { index })
      const meter = createRowMeter()
      const compress = createZstdCompress({ chunkSize: 256 * 1024, params: { [constants.ZSTD_c_checksumFlag]: 1 } })
      await pipeline(copyOut(sql, table), meter.stream, compress, async (pieces: AsyncIterable<Buffer>) => {
        for await (const piece of pieces) await writer.write('D', piece)
      })
      const end = meter.end()
      await writer.writeJson('E', end)
      totals.rows += end.rows
      totals.bytes += end.bytes
      progress?.(`${table.schema}.${table.name}`, end.rows)
    }
    if (contents) totals.contents = await writeContents(writer, sql, tables, contents)
    await writer.writeJson('Z', totals)
  })
  await writer.finish((digest) => tagOf(key, digest))
}

async function findOwnTables(sql: Sql): Promise<TableEntry[]> {
  const applied = await readApplied(sql)
  if (applied.length === 0) return []
  return await findTables(sql, await findSchemas(sql, modulesOf(applied)))
}

export const modulesOf = (migrations: { module: string }[]) => new Set(migrations.map(({ module }) => module))

async function readManifest(
  sql: Sql,
  tables: TableEntry[],
  { masterKey, program, createdAt }: { masterKey: Buffer; program: string; createdAt: string },
): Promise<Manifest> {
  const [server] = await sql`select current_setting('server_version') as version`
  const migrations = await readApplied(sql)
  const schemas = await findSchemas(sql, modulesOf(migrations))
  return {
    createdAt,
    program,
    postgres: server!.version,
    migrations,
    jobsVersion: await readJobsVersion(sql),
    dataKey: (await readDataKey(sql, masterKey))?.toString('base64url') ?? null,
    tables,
    partitions: await findPartitions(sql, schemas),
    sequences: await readSequences(sql, schemas),
  }
}

/** Makes a rename durable by syncing its directory. */
function syncDirectory(directory: string) {
  const descriptor = openSync(directory, 'r')
  fsyncSync(descriptor)
  closeSync(descriptor)
}

/** Restores a backup into the database and the blob store. */
import type { Blobs } from '../blobs/blobs.ts'
import { readMark } from '../blobs/mark.ts'
import { type ConnectionOptions, connect, type Sql, type TransactionSql } from '../db.ts'
import { installJobs, jobsSchema, readJobsVersion } from '../jobs.ts'
import { applyMigrations, lockMigrations, type Migration } from '../migrate.ts'
import { RotationUnderWay, readDataKey, storeDataKey } from '../secrets.ts'
import { resetAllNodes } from '../signals.ts'
import { authenticate } from './authentication.ts'
import { type ContentProgress, type ContentTable, restoreContents, withRemovalsPaused } from './contents.ts'
import { copyIn, runInTransaction } from './copy.ts'
import type { Passphrase } from './encryption.ts'
import { BackupError } from './errors.ts'
import {
  countExistingRows,
  findOtherBackends,
  findPartitions,
  findSchemas,
  findTables,
  readApplied,
  setSequences,
  suspendConstraints,
} from './inventory.ts'
import { type Manifest, qualifiedName, quoteIdentifier, type TableEntry } from './manifest.ts'
import { createPartitions } from './partitions.ts'
import { readTables, type Verified, verifyBackup } from './read.ts'
import { checkRestoredRows } from './restored-rows.ts'
import { modulesOf } from './write.ts'

export interface RestoreOptions {
  connection: ConnectionOptions
  file: string
  masterKey: Buffer
  /** The key with which the backup must be authenticated (`backupKeyOf`), or `none` if the operator vouches for the origin of the file. */
  authentication: Buffer | 'none'
  /** The migrations of this program, in order. */
  migrations: Migration[]
  /** True if existing data may be replaced. */
  replace: boolean
  /** The passphrase that opens the file, if the file is encrypted. */
  passphrase?: Passphrase
  /** The result of `verifyBackup`, if the caller has it already. */
  verified?: Verified
  /** The blob store for the contents. If absent, contents are not restored and the store is not changed. */
  contents?: { blobs: Blobs; tables: ContentTable[]; progress?: ContentProgress }
  progress?(table: string): void
}

export type RestoreResult = Verified & {
  /** The tables that already contain data. It is set only if `replace` is false and there are such tables; nothing was changed then. */
  existingData?: { table: string; rows: number }[]
  /** Migrations that were applied because this program has them and the backup does not. */
  upgraded: string[]
  /** Numbers of contents that were written to the store, and of contents that were kept because the store already had them. */
  stored?: { written: number; kept: number }
}

/**
 * Restores a backup completely or not at all. Verifies and authenticates the file first, then writes the contents, then replaces all rows
 * in one transaction. A running platform waits at its next query, then reads the restored data and resets its caches.
 */
export async function restoreBackup(options: RestoreOptions): Promise<RestoreResult> {
  const { connection, file, migrations } = options
  const verified = options.verified ?? (await verifyBackup(file, options.passphrase))
  const { manifest } = verified
  if (options.authentication !== 'none') authenticate(file, verified, options.authentication)
  const migrationsToReplay = migrationsOf(manifest, migrations)
  const modules = modulesOf(migrations)

  const existingData = await runInTransaction(connection, 'read only', async (sql) => {
    const appliedModules = modulesOf(await readApplied(sql))
    return await countExistingRows(sql, await findTables(sql, await findSchemas(sql, [...modules, ...appliedModules])))
  })
  if (existingData.length > 0 && !options.replace) return { ...verified, existingData, upgraded: [] }

  await installJobTables(connection)
  if (!options.contents)
    return { ...verified, upgraded: await restoreTables(options, verified, migrationsToReplay, undefined) }
  const { blobs } = options.contents
  // These conditions are checked before the contents are written, and again in the transaction that restores the tables.
  await runInTransaction(connection, 'read only', async (sql) => {
    await rejectNewerJobs(sql, manifest)
    await findBackendsWithAnotherKey(sql, manifest, options.masterKey)
  })
  return await withRemovalsPaused(connection, async () => {
    const mark = await readMark(blobs)
    const stored = manifest.contents
      ? await restoreContents(file, verified, { ...options.contents!, passphrase: options.passphrase })
      : undefined
    const upgraded = await restoreTables(options, verified, migrationsToReplay, mark)
    return { ...verified, upgraded, ...(stored && { stored }) }
  })
}

async function restoreTables(
  options: RestoreOptions,
  { manifest, tablesSha256 }: Verified,
  migrationsToReplay: Migration[],
  markOfStore: string | undefined,
): Promise<string[]> {
  const { connection, migrations } = options
  const upgraded = await runInTransaction(connection, '', async (sql) => {
    await lockMigrations(sql)
    await rejectNewerJobs(sql, manifest)
    const applied = await readApplied(sql)
    const schemas = await findSchemas(sql, [...modulesOf(migrations), ...modulesOf(applied)])
    await lockAll(sql, await findTables(sql, schemas))
    const outdatedBackends = await findBackendsWithAnotherKey(sql, manifest, options.masterKey)
    const restoreMarks = await saveMarks(sql, options.contents?.tables ?? [], markOfStore)
    await prepareTables(sql, manifest, applied, schemas, migrationsToReplay)
    await restoreRows(sql, options, await findSchemas(sql, modulesOf(migrationsToReplay)), tablesSha256)
    if (manifest.dataKey !== null)
      await storeDataKey(sql, options.masterKey, Buffer.from(manifest.dataKey, 'base64url'))
    const upgraded = await applyMigrations(sql, migrations)
    await restoreMarks()
    for (const pid of outdatedBackends) await sql`select pg_terminate_backend(${pid})`
    await resetAllNodes(sql)
    return upgraded
  })
  await analyze(connection, manifest)
  return upgraded
}

const keyOf = ({ module, name }: { module: string; name: string }) => `${module}/${name}`

/** Returns the migrations that this program has and the backup contains, in the order of this program. */
function migrationsOf(manifest: Manifest, programMigrations: Migration[]): Migration[] {
  const checksums = new Map(programMigrations.map((migration) => [keyOf(migration), migration.checksum]))
  for (const backupMigration of manifest.migrations) {
    const checksum = checksums.get(keyOf(backupMigration))
    if (checksum === undefined)
      throw new BackupError(
        `The backup was made by Waypost ${manifest.program} and has ${keyOf(backupMigration)}, which this version does not know: ` +
          'restore it with that version or a newer version',
      )
    if (checksum !== backupMigration.checksum)
      throw new BackupError(
        `The backup was made by Waypost ${manifest.program}, whose ${keyOf(backupMigration)} differs from this version's: ` +
          'restore it with that version',
      )
  }
  const backupKeys = new Set(manifest.migrations.map(keyOf))
  return programMigrations.filter((migration) => backupKeys.has(keyOf(migration)))
}

/**
 * Creates the job queue's tables. pg-boss does this in transactions of its own. If the restore fails, the tables stay empty and do no harm.
 */
async function installJobTables(connection: ConnectionOptions) {
  const pool = connect(connection, { max: 1, translate: false, name: 'waypost-backup', statementSeconds: 0 })
  try {
    await installJobs(pool, (work) => runInTransaction(connection, '', work))
  } finally {
    await pool.end({ timeout: 5 })
  }
}

async function rejectNewerJobs(sql: Sql, manifest: Manifest) {
  const version = await readJobsVersion(sql)
  if (manifest.jobsVersion !== null && version !== null && manifest.jobsVersion > version)
    throw new BackupError(
      `The backup's job queue has version ${manifest.jobsVersion}, this Waypost's has ${version}: ` +
        `restore it with Waypost ${manifest.program} or a newer version`,
    )
}

async function hasDataKeys(sql: Sql): Promise<boolean> {
  const [row] = await sql`select to_regclass('kernel.data_keys') is not null as yes`
  return row?.yes === true
}

const lockAttemptsMax = 10

/**
 * Locks all tables in one statement, before the restore changes any row. Then every other transaction that uses a table has ended or waits.
 */
async function lockAll(sql: TransactionSql, tables: TableEntry[]) {
  if (tables.length === 0) return
  const names = [...tables.map(qualifiedName), ...((await hasDataKeys(sql)) ? ['kernel.data_keys'] : [])].join(', ')
  for (let attempt = 1; ; attempt++) {
    try {
      await sql.savepoint((inner) => inner.unsafe(`lock table ${names} in access exclusive mode`))
      return
    } catch (error) {
      const { code } = error as { code?: string }
      if (code === '55P03')
        throw new BackupError(
          'The tables have been in use for more than a minute, perhaps by a backup; try again later',
        )
      // Another transaction locked the tables in a different order, and PostgreSQL resolved the deadlock by aborting the transaction of the
      // restore.
      if (code !== '40P01' || attempt === lockAttemptsMax) throw error
    }
  }
}

/**
 * Returns the backends of nodes that seal secrets with a data key that the restore replaces. A request on such a node may wait for the lock
 * of the restore and then write values that no key can open. These connections are closed, so that the nodes reconnect and load the new
 * key.
 */
async function findBackendsWithAnotherKey(sql: Sql, manifest: Manifest, masterKey: Buffer): Promise<number[]> {
  if (!(await hasDataKeys(sql))) return []
  const others = await findOtherBackends(sql)
  try {
    const current = await readDataKey(sql, masterKey)
    return (current?.toString('base64url') ?? null) === manifest.dataKey ? [] : others
  } catch (error) {
    if (error instanceof RotationUnderWay) return others
    // The machine does not have the master key of the existing data. The data may be replaced, unless a running platform still uses that
    // key.
    if (others.length === 0) return []
    throw new BackupError(
      'A platform uses this database with another master key: run this command with the WAYPOST_MASTER_KEY or WAYPOST_DATA of that platform, or stop that platform first',
    )
  }
}

/** Creates the tables as they were when the backup was made, and empties them. */
async function prepareTables(
  sql: Sql,
  manifest: Manifest,
  applied: Manifest['migrations'],
  schemas: string[],
  migrationsToReplay: Migration[],
) {
  const fingerprintOf = (migrations: Manifest['migrations']) =>
    JSON.stringify(migrations.map((migration) => `${keyOf(migration)} ${migration.checksum}`).sort())
  const partitions = JSON.stringify(await findPartitions(sql, schemas))
  const isUnchanged =
    fingerprintOf(applied) === fingerprintOf(manifest.migrations) && partitions === JSON.stringify(manifest.partitions)
  if (!isUnchanged) {
    for (const schema of schemas) await sql.unsafe(`drop schema ${quoteIdentifier(schema)} cascade`)
    await applyMigrations(sql, migrationsToReplay)
    await createPartitions(sql, await findSchemas(sql, modulesOf(migrationsToReplay)), manifest.partitions)
  }
  const tables = await findTables(sql, await findSchemas(sql, modulesOf(migrationsToReplay)))
  await sql.unsafe(`truncate ${tables.map(qualifiedName).join(', ')}`)
}

async function restoreRows(sql: Sql, options: RestoreOptions, schemas: string[], sha256: string) {
  const { file, progress, passphrase } = options
  const targets = new Map((await findTables(sql, schemas)).map((table) => [qualifiedName(table), table]))
  const resumeConstraints = await suspendConstraints(sql, schemas)
  const receive = async (table: TableEntry, rows: AsyncIterable<Buffer>) => {
    const target = targets.get(qualifiedName(table))
    if (!target)
      throw new BackupError(`The backup has a table ${qualifiedName(table)}, which its migrations do not create`)
    const commonColumns = table.columns.filter((column) => target.columns.includes(column))
    if (commonColumns.length === table.columns.length) await copyIn(sql, qualifiedName(table), table.columns, rows)
    else if (table.schema === jobsSchema) await copyThroughText(sql, table, commonColumns, rows)
    else throw new BackupError(`The backup's ${qualifiedName(table)} has columns that its migrations do not create`)
    progress?.(`${table.schema}.${table.name}`)
  }
  const { manifest, ...read } = await readTables(file, receive, passphrase)
  if (read.tablesSha256 !== sha256)
    throw new BackupError(`${file} was changed while it was being restored; nothing was changed`)
  await setSequences(sql, schemas, manifest.sequences)
  await resumeConstraints()
  await checkRestoredRows(sql, manifest)
}

/**
 * Keeps the mark of the blob store (blobs/mark.ts) if the store belonged to the replaced database, and ignores the mark in the backup. With
 * another mark, the platform would never remove contents without a row from the store.
 */
async function saveMarks(sql: Sql, tables: ContentTable[], markOfStore: string | undefined) {
  const ownTables: string[] = []
  for (const { schema, mark } of tables) {
    const table = qualifiedName({ schema, name: mark })
    const [exists] = await sql`select to_regclass(${table}) is not null as yes`
    const [row] = exists?.yes ? await sql.unsafe(`select mark from ${table}`) : []
    if (row && row.mark === markOfStore) ownTables.push(table)
  }
  return async () => {
    for (const table of ownTables)
      await sql.unsafe(
        `insert into ${table} (id, mark) values (1, $1) on conflict (id) do update set mark = excluded.mark`,
        [markOfStore!],
      )
  }
}

/** Restores a table of an older pg-boss version through text columns. Columns that pg-boss no longer has are left out. */
async function copyThroughText(sql: Sql, table: TableEntry, commonColumns: string[], rows: AsyncIterable<Buffer>) {
  const unexpected = table.columns.find((column) => !/^[a-z_][a-z0-9_]*$/.test(column))
  if (unexpected) throw new BackupError(`The backup's ${qualifiedName(table)} has columns that no job queue has`)
  const columns = table.columns.map((column) => `${quoteIdentifier(column)} text`).join(', ')
  await sql.unsafe(`create temporary table older (${columns}) on commit drop`)
  await copyIn(sql, 'pg_temp.older', table.columns, rows)
  const types = await sql<{ name: string; type: string }[]>`
    select attname::text as name, format_type(atttypid, atttypmod) as type from pg_attribute
    where attrelid = ${qualifiedName(table)}::text::regclass and attname = any(${commonColumns}::name[])`
  const names = types.map(({ name }) => quoteIdentifier(name)).join(', ')
  const values = types.map(({ name, type }) => `${quoteIdentifier(name)}::${type}`).join(', ')
  await sql.unsafe(
    `insert into ${qualifiedName(table)} (${names}) select ${values} from pg_temp.older; drop table pg_temp.older`,
  )
}

/**
 * Updates the statistics of PostgreSQL, because otherwise the first queries on large tables are slow. A failure does not undo the restore.
 */
async function analyze(connection: ConnectionOptions, manifest: Manifest) {
  const pool = connect(connection, { max: 1, translate: false, name: 'waypost-backup', statementSeconds: 0 })
  try {
    for (const table of manifest.tables) await pool.unsafe(`analyze ${qualifiedName(table)}`).catch(() => {})
  } finally {
    await pool.end({ timeout: 5 })
  }
}

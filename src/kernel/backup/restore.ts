import type { Blobs } from '../blobs/blobs.ts'
import { readMark } from '../blobs/mark.ts'
import { type ConnectionOptions, connect, type Sql, type TransactionSql } from '../db.ts'
import { installJobs, jobsSchema, readJobsVersion } from '../jobs.ts'
import { applyMigrations, lockMigrations, type Migration } from '../migrate.ts'
import { readDataKey, storeDataKey } from '../secrets.ts'
import { resetAllNodes } from '../signals.ts'
import { authenticate } from './authentication.ts'
import { type ContentProgress, type ContentTable, restoreContents, whileHeld } from './contents.ts'
import { copyIn, transaction } from './copy.ts'
import { BackupError } from './format.ts'
import {
  findData,
  findOthers,
  findPartitions,
  findSchemas,
  findTables,
  readApplied,
  setSequences,
  standAside,
} from './inventory.ts'
import { type Manifest, nameOf, quoted, type TableEntry } from './manifest.ts'
import { makePartitions } from './partitions.ts'
import { readTables, type Verified, verifyBackup } from './read.ts'
import { checkRestoredRows } from './restored-rows.ts'
import { modulesOf } from './write.ts'

export interface RestoreOptions {
  connection: ConnectionOptions
  file: string
  masterKey: Buffer
  /** The key that the backup must have been made with (`backupKeyOf`), or `none` for one whose origin the operator vouches for. */
  authentication: Buffer | 'none'
  /** Those of this program, in its order. */
  migrations: Migration[]
  /** Data that is there may be replaced. */
  replace: boolean
  /** By a caller who has just done it. */
  verified?: Verified
  /** Where contents go that the backup has; without it they are left out, and the store is not touched. */
  contents?: { blobs: Blobs; tables: ContentTable[]; progress?: ContentProgress }
  progress?(table: string): void
}

export type RestoreResult = Verified & {
  /** What is there and was not allowed to be replaced: nothing was done. */
  inTheWay?: { table: string; rows: number }[]
  /** Migrations that this program has and the backup's did not. */
  upgraded: string[]
  /** Contents that are in the store now; kept are those that lay there already. */
  stored?: { written: number; kept: number }
}

/**
 * All or nothing: the whole file is verified and authenticated before anything is touched, contents are in the store before the first row
 * changes, and everything else happens in one transaction.
 * A platform that runs meanwhile waits at its next query, then finds the restored data and starts its caches anew.
 */
export async function restoreBackup(options: RestoreOptions): Promise<RestoreResult> {
  const { connection, file, migrations } = options
  const verified = options.verified ?? (await verifyBackup(file))
  const { manifest } = verified
  if (options.authentication !== 'none') authenticate(file, verified, options.authentication)
  const replay = migrationsOf(manifest, migrations)
  const modules = modulesOf(migrations)

  const inTheWay = await transaction(connection, 'read only', async (sql) => {
    const others = modulesOf(await readApplied(sql))
    return await findData(sql, await findTables(sql, await findSchemas(sql, [...modules, ...others])))
  })
  if (inTheWay.length > 0 && !options.replace) return { ...verified, inTheWay, upgraded: [] }

  await ensureJobs(connection)
  if (!options.contents) return { ...verified, upgraded: await restoreTables(options, verified, replay, undefined) }
  const { blobs } = options.contents
  // Before contents are written for nothing; the transaction looks again.
  await transaction(connection, 'read only', async (sql) => {
    await refuseNewerJobs(sql, manifest)
    await othersWithAnotherKey(sql, manifest, options.masterKey)
  })
  return await whileHeld(connection, async () => {
    const mark = await readMark(blobs)
    const stored = manifest.contents ? await restoreContents(file, verified, options.contents!) : undefined
    const upgraded = await restoreTables(options, verified, replay, mark)
    return { ...verified, upgraded, ...(stored && { stored }) }
  })
}

async function restoreTables(
  options: RestoreOptions,
  { manifest, tablesSha256 }: Verified,
  replay: Migration[],
  markOfStore: string | undefined,
): Promise<string[]> {
  const { connection, migrations } = options
  const upgraded = await transaction(connection, '', async (sql) => {
    await lockMigrations(sql)
    await refuseNewerJobs(sql, manifest)
    const applied = await readApplied(sql)
    const schemas = await findSchemas(sql, [...modulesOf(migrations), ...modulesOf(applied)])
    await lockAll(sql, await findTables(sql, schemas))
    const others = await othersWithAnotherKey(sql, manifest, options.masterKey)
    const keepMarks = await rememberMarks(sql, options.contents?.tables ?? [], markOfStore)
    await prepareTables(sql, manifest, applied, schemas, replay)
    await fill(sql, options, await findSchemas(sql, modulesOf(replay)), tablesSha256)
    if (manifest.dataKey !== null)
      await storeDataKey(sql, options.masterKey, Buffer.from(manifest.dataKey, 'base64url'))
    const news = await applyMigrations(sql, migrations)
    await keepMarks()
    for (const pid of others) await sql`select pg_terminate_backend(${pid})`
    await resetAllNodes(sql)
    return news
  })
  await analyze(connection, manifest)
  return upgraded
}

const keyOf = ({ module, name }: { module: string; name: string }) => `${module}/${name}`

/** The backup's migrations as this program has them, in this program's order. */
function migrationsOf(manifest: Manifest, ours: Migration[]): Migration[] {
  const known = new Map(ours.map((migration) => [keyOf(migration), migration.checksum]))
  for (const theirs of manifest.migrations) {
    const checksum = known.get(keyOf(theirs))
    if (checksum === undefined)
      throw new BackupError(
        `The backup was made by Waypost ${manifest.program} and has ${keyOf(theirs)}, which this version does not know: ` +
          'restore it with that version or a newer one',
      )
    if (checksum !== theirs.checksum)
      throw new BackupError(
        `The backup was made by Waypost ${manifest.program}, whose ${keyOf(theirs)} differs from this version's: ` +
          'restore it with that version',
      )
  }
  const theirs = new Set(manifest.migrations.map(keyOf))
  return ours.filter((migration) => theirs.has(keyOf(migration)))
}

/** pg-boss makes its tables in transactions of its own; empty ones do no harm should the rest fail. */
async function ensureJobs(connection: ConnectionOptions) {
  const pool = connect(connection, { max: 1, translate: false, name: 'waypost-backup', statementSeconds: 0 })
  try {
    await installJobs(pool, (work) => transaction(connection, '', work))
  } finally {
    await pool.end({ timeout: 5 })
  }
}

async function refuseNewerJobs(sql: Sql, manifest: Manifest) {
  const version = await readJobsVersion(sql)
  if (manifest.jobsVersion !== null && version !== null && manifest.jobsVersion > version)
    throw new BackupError(
      `The backup's job queue has version ${manifest.jobsVersion}, this Waypost's has ${version}: ` +
        `restore it with Waypost ${manifest.program} or a newer one`,
    )
}

async function hasDataKeys(sql: Sql): Promise<boolean> {
  const [row] = await sql`select to_regclass('kernel.data_keys') is not null as yes`
  return row?.yes === true
}

const attempts = 10

/** All at once and before anything else: then every transaction of others is either over or has not begun. */
async function lockAll(sql: TransactionSql, tables: TableEntry[]) {
  if (tables.length === 0) return
  const names = [...tables.map(nameOf), ...((await hasDataKeys(sql)) ? ['kernel.data_keys'] : [])].join(', ')
  for (let attempt = 1; ; attempt++) {
    try {
      await sql.savepoint((inner) => inner.unsafe(`lock table ${names} in access exclusive mode`))
      return
    } catch (error) {
      const { code } = error as { code?: string }
      if (code === '55P03')
        throw new BackupError('The tables are in use for more than a minute, perhaps by a backup; try again later')
      // A deadlock: two of us locked in different order, and this one was chosen to let go.
      if (code !== '40P01' || attempt === attempts) throw error
    }
  }
}

/**
 * Processes that seal secrets with a data key which is about to be replaced: a request of theirs that waits for us would
 * write what nobody can open. Their connections end; they connect again and load the new key.
 */
async function othersWithAnotherKey(sql: Sql, manifest: Manifest, masterKey: Buffer): Promise<number[]> {
  if (!(await hasDataKeys(sql))) return []
  const others = await findOthers(sql)
  try {
    const current = await readDataKey(sql, masterKey)
    return (current?.toString('base64url') ?? null) === manifest.dataKey ? [] : others
  } catch {
    // Its master key is lost, and the backup brings its data back; but not beneath a platform that has that key.
    if (others.length === 0) return []
    throw new BackupError(
      'A platform uses this database with another master key: run this with its WAYPOST_MASTER_KEY or WAYPOST_DATA, or stop it first',
    )
  }
}

/** Leaves the tables as they were when the backup was made, and empty. */
async function prepareTables(
  sql: Sql,
  manifest: Manifest,
  applied: Manifest['migrations'],
  schemas: string[],
  replay: Migration[],
) {
  const state = (migrations: Manifest['migrations']) =>
    JSON.stringify(migrations.map((migration) => `${keyOf(migration)} ${migration.checksum}`).sort())
  const partitions = JSON.stringify(await findPartitions(sql, schemas))
  const same = state(applied) === state(manifest.migrations) && partitions === JSON.stringify(manifest.partitions)
  if (!same) {
    for (const schema of schemas) await sql.unsafe(`drop schema ${quoted(schema)} cascade`)
    await applyMigrations(sql, replay)
    await makePartitions(sql, await findSchemas(sql, modulesOf(replay)), manifest.partitions)
  }
  const tables = await findTables(sql, await findSchemas(sql, modulesOf(replay)))
  await sql.unsafe(`truncate ${tables.map(nameOf).join(', ')}`)
}

async function fill(sql: Sql, { file, progress }: RestoreOptions, schemas: string[], sha256: string) {
  const targets = new Map((await findTables(sql, schemas)).map((table) => [nameOf(table), table]))
  const comeBack = await standAside(sql, schemas)
  const { manifest, ...read } = await readTables(file, async (table, rows) => {
    const target = targets.get(nameOf(table))
    if (!target) throw new BackupError(`The backup has a table ${nameOf(table)}, which its migrations do not make`)
    const known = table.columns.filter((column) => target.columns.includes(column))
    if (known.length === table.columns.length) await copyIn(sql, nameOf(table), table.columns, rows)
    else if (table.schema === jobsSchema) await copyThroughText(sql, table, known, rows)
    else throw new BackupError(`The backup's ${nameOf(table)} has columns that its migrations do not make`)
    progress?.(`${table.schema}.${table.name}`)
  })
  if (read.tablesSha256 !== sha256)
    throw new BackupError(`${file} was changed while it was being restored; nothing was changed`)
  await setSequences(sql, schemas, manifest.sequences)
  await comeBack()
  await checkRestoredRows(sql, manifest)
}

/**
 * A store that was the replaced database's is the restored one's, whatever mark the backup brings: otherwise nobody would ever
 * remove what the restored rows do not name.
 */
async function rememberMarks(sql: Sql, tables: ContentTable[], markOfStore: string | undefined) {
  const ours: string[] = []
  for (const { schema, mark } of tables) {
    const table = nameOf({ schema, name: mark })
    const [exists] = await sql`select to_regclass(${table}) is not null as yes`
    const [row] = exists?.yes ? await sql.unsafe(`select mark from ${table}`) : []
    if (row && row.mark === markOfStore) ours.push(table)
  }
  return async () => {
    for (const table of ours)
      await sql.unsafe(
        `insert into ${table} (id, mark) values (1, $1) on conflict (id) do update set mark = excluded.mark`,
        [markOfStore!],
      )
  }
}

/** pg-boss's tables cannot be made as an older version had them: what it no longer has is left out. */
async function copyThroughText(sql: Sql, table: TableEntry, known: string[], rows: AsyncIterable<Buffer>) {
  const strange = table.columns.find((column) => !/^[a-z_][a-z0-9_]*$/.test(column))
  if (strange) throw new BackupError(`The backup's ${nameOf(table)} has columns that no job queue makes`)
  const columns = table.columns.map((column) => `${quoted(column)} text`).join(', ')
  await sql.unsafe(`create temporary table older (${columns}) on commit drop`)
  await copyIn(sql, 'pg_temp.older', table.columns, rows)
  const types = await sql<{ name: string; type: string }[]>`
    select attname::text as name, format_type(atttypid, atttypmod) as type from pg_attribute
    where attrelid = ${nameOf(table)}::text::regclass and attname = any(${known}::name[])`
  const names = types.map(({ name }) => quoted(name)).join(', ')
  const values = types.map(({ name, type }) => `${quoted(name)}::${type}`).join(', ')
  await sql.unsafe(
    `insert into ${nameOf(table)} (${names}) select ${values} from pg_temp.older; drop table pg_temp.older`,
  )
}

/** Without statistics the first queries on a large table would be slow; the restore stands whatever becomes of this. */
async function analyze(connection: ConnectionOptions, manifest: Manifest) {
  const pool = connect(connection, { max: 1, translate: false, name: 'waypost-backup', statementSeconds: 0 })
  try {
    for (const table of manifest.tables) await pool.unsafe(`analyze ${nameOf(table)}`).catch(() => {})
  } finally {
    await pool.end({ timeout: 5 })
  }
}

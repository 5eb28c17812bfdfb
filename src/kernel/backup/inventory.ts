/** Finds the schemas, tables, partitions and sequences of Waypost in PostgreSQL's catalogue. */
import type { Sql } from '../db.ts'
import { jobsSchema, jobsTables } from '../jobs.ts'
import { BackupError } from './errors.ts'
import {
  type Manifest,
  type Partition,
  qualifiedName,
  quoteIdentifier,
  type Sequence,
  type TableEntry,
} from './manifest.ts'

/** Returns the schema that has the module's tables. */
export const schemaOf = (module: string) => module.replaceAll('-', '_')

/** Returns the migrations that were applied to this database. The list of a new database is empty. */
export async function readApplied(sql: Sql): Promise<Manifest['migrations']> {
  const [exists] = await sql`select to_regclass('kernel.migrations') is not null as yes`
  if (!exists?.yes) return []
  return await sql<Manifest['migrations']>`
    select module, name, checksum from kernel.migrations order by module, name`
}

/** Returns the existing schemas of these modules. Other programs' schemas in the same database are never touched. */
export async function findSchemas(sql: Sql, modules: Iterable<string>): Promise<string[]> {
  const names = [...new Set(['kernel', ...[...modules].map(schemaOf)])]
  const rows = await sql`select nspname as name from pg_namespace where nspname = any(${names}::name[]) order by 1`
  return rows.map((row) => row.name as string)
}

/** Tables of the kernel that backups leave out, because they describe running nodes or this installation, or contain a key. */
const installationTables = new Set([
  'backup_runs',
  'data_keys',
  'key_rotation',
  'key_rotation_nodes',
  'nodes',
  'signals',
  'signal_key',
])

/** Finds the tables to back up. Of the job queue's schema, only the tables of queues and jobs are included. */
export async function findTables(sql: Sql, schemas: string[]): Promise<TableEntry[]> {
  const rows = await sql<TableEntry[]>`
    select n.nspname::text as schema, c.relname::text as name, array(
      select a.attname::text from pg_attribute a
      where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = '' order by a.attnum
    ) as columns
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname = any(${[...schemas, jobsSchema]}::name[])
      and c.relkind in ('r', 'p') and not c.relispartition and c.relpersistence <> 't'
    order by n.nspname, c.relname`
  return rows
    .filter(({ schema, name }) => schema !== jobsSchema || jobsTables.includes(name))
    .filter(({ schema, name }) => schema !== 'kernel' || !installationTables.has(name))
}

export async function findPartitions(sql: Sql, schemas: string[]): Promise<Partition[]> {
  return await sql<Partition[]>`
    select n.nspname::text as schema, c.relname::text as name, pn.nspname::text as "parentSchema",
      p.relname::text as parent, pg_get_expr(c.relpartbound, c.oid) as bound, pg_get_partkeydef(c.oid) as key
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
      join pg_inherits i on i.inhrelid = c.oid
      join pg_class p on p.oid = i.inhparent join pg_namespace pn on pn.oid = p.relnamespace
    where c.relispartition and c.relkind in ('r', 'p') and n.nspname = any(${schemas}::name[])
    order by (select count(*) from pg_partition_ancestors(c.oid)), n.nspname, c.relname`
}

/**
 * Reads the values of the sequences. Sequences are not part of snapshots, so a value may be higher than the ids in the snapshot's rows, but
 * never lower.
 */
export async function readSequences(sql: Sql, schemas: string[]): Promise<Sequence[]> {
  const sequences: Sequence[] = []
  for (const sequence of await findSequences(sql, schemas)) {
    const [row] = await sql.unsafe(
      `select last_value::text as value, is_called as called from ${qualifiedName(sequence)}`,
    )
    sequences.push({ ...sequence, value: row!.value, called: row!.called })
  }
  return sequences
}

const findSequences = (sql: Sql, schemas: string[]) => sql<{ schema: string; name: string }[]>`
  select n.nspname::text as schema, c.relname::text as name
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where c.relkind = 'S' and n.nspname = any(${schemas}::name[])
    and (n.nspname, c.relname) <> ('kernel', 'signals_id_seq') order by 1, 2`

/**
 * Sets the sequences to the values of the backup. Throws for a sequence that the migrations do not create, because a restore must not
 * change sequences of other programs in the database.
 */
export async function setSequences(sql: Sql, schemas: string[], sequences: Sequence[]) {
  const known = new Set((await findSequences(sql, schemas)).map(qualifiedName))
  for (const sequence of sequences) {
    if (!known.has(qualifiedName(sequence)))
      throw new BackupError(`The backup has a sequence ${qualifiedName(sequence)}, which its migrations do not create`)
    await sql`select setval(${qualifiedName(sequence)}::text::regclass, ${sequence.value}::text::bigint, ${sequence.called})`
  }
}

/**
 * Drops foreign keys and disables triggers until all rows are restored. The returned function adds the foreign keys and enables the
 * triggers again. Rows arrive in no particular order, and checking a foreign key once for all rows is many times faster.
 */
export async function suspendConstraints(sql: Sql, schemas: string[]): Promise<() => Promise<void>> {
  const names = [...schemas, jobsSchema]
  const keys = await sql`
    select k.conrelid::regclass::text as table, k.conname::text as name, pg_get_constraintdef(k.oid) as definition
    from pg_constraint k join pg_class c on c.oid = k.conrelid join pg_namespace n on n.oid = c.relnamespace
    where k.contype = 'f' and k.conparentid = 0 and n.nspname = any(${names}::name[]) order by 1, 2`
  const triggers = await sql`
    select t.tgrelid::regclass::text as table, t.tgname::text as name
    from pg_trigger t join pg_class c on c.oid = t.tgrelid join pg_namespace n on n.oid = c.relnamespace
    where not t.tgisinternal and t.tgenabled = 'O' and t.tgparentid = 0 and n.nspname = any(${names}::name[])`
  for (const key of keys) await sql.unsafe(`alter table ${key.table} drop constraint ${quoteIdentifier(key.name)}`)
  for (const { table, name } of triggers)
    await sql.unsafe(`alter table ${table} disable trigger ${quoteIdentifier(name)}`)
  return async () => {
    for (const { table, name, definition } of keys)
      await sql.unsafe(`alter table ${table} add constraint ${quoteIdentifier(name)} ${definition}`)
    for (const { table, name } of triggers)
      await sql.unsafe(`alter table ${table} enable trigger ${quoteIdentifier(name)}`)
  }
}

const countMax = 1_000_000

/** Counts the rows that a restore would replace. Tables that the platform fills at every start are left out. */
export async function countExistingRows(sql: Sql, tables: TableEntry[]): Promise<{ table: string; rows: number }[]> {
  const ignoredTables = ['kernel.migrations', 'kernel.periodic', `${jobsSchema}.queue`]
  const nonEmpty: { table: string; rows: number }[] = []
  for (const table of tables) {
    const fullName = `${table.schema}.${table.name}`
    if (ignoredTables.includes(fullName)) continue
    const [row] = await sql.unsafe(
      `select count(*)::int as rows from (select from ${qualifiedName(table)} limit ${countMax}) as first`,
    )
    if (row!.rows > 0) nonEmpty.push({ table: fullName, rows: row!.rows })
  }
  return nonEmpty
}

/** Returns the backend pids of other Waypost connections to this database, except connections of backups and restores. */
export async function findOtherBackends(sql: Sql): Promise<number[]> {
  const rows = await sql`
    select pid from pg_stat_activity
    where datname = current_database() and usename = current_user and pid <> pg_backend_pid()
      and application_name like 'waypost%' and application_name <> 'waypost-backup'`
  return rows.map((row) => row.pid as number)
}

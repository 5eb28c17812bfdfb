/** Creates those partitions of a backup that the migrations do not create. */
import type { Sql } from '../db.ts'
import { parseBound, parseKey, printBound, printKey } from './bounds.ts'
import { BackupError } from './errors.ts'
import { findPartitions } from './inventory.ts'
import { type Partition, qualifiedName } from './manifest.ts'

/**
 * Creates partitions. A parent must be a partitioned table of the migrations or an earlier partition. The name of a new partition must be
 * the name of its parent, followed by a suffix of plain characters.
 */
export async function createPartitions(sql: Sql, schemas: string[], partitions: Partition[]) {
  const parents = new Set((await findPartitionedTables(sql, schemas)).map(qualifiedName))
  const existingPartitions = new Map(
    (await findPartitions(sql, schemas)).map((partition) => [qualifiedName(partition), parentOf(partition)]),
  )
  for (const partition of partitions) {
    const parent = parentOf(partition)
    const isKnown = existingPartitions.get(qualifiedName(partition)) === parent
    const isPlain = partition.schema === partition.parentSchema && isPlainName(partition)
    if (!parents.has(parent) || !(isKnown || isPlain))
      throw new BackupError(
        `The backup has a partition ${qualifiedName(partition)} of ${parent}, which no migration allows`,
      )
    if (!isKnown) await sql.unsafe(createStatement(partition))
    if (partition.key !== null) parents.add(qualifiedName(partition))
  }
}

const parentOf = ({ parentSchema, parent }: Partition) => qualifiedName({ schema: parentSchema, name: parent })

/** Only plain names are accepted, because services put the names of partitions into SQL text unquoted. */
const isPlainName = ({ name, parent }: Partition) =>
  name.startsWith(`${parent}_`) && /^[a-z0-9_]+$/.test(name) && name.length <= 63

function createStatement(partition: Partition): string {
  const bound = parseBound(partition.bound)
  const key = partition.key === null ? undefined : parseKey(partition.key)
  if (!bound || (partition.key !== null && !key))
    throw new BackupError(`The backup has a partition ${qualifiedName(partition)} whose bounds cannot be read`)
  const subpartitions = key ? printKey(key) : ''
  return `create table ${qualifiedName(partition)} partition of ${parentOf(partition)} ${printBound(bound)} ${subpartitions}`
}

const findPartitionedTables = (sql: Sql, schemas: string[]) => sql<{ schema: string; name: string }[]>`
  select n.nspname::text as schema, c.relname::text as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where c.relkind = 'p' and n.nspname = any(${schemas}::name[])`

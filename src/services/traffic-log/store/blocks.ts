/** SQL of blocks, which contain a tenant's packed records of one hour, and of the numbers of their endpoints. */
import { copyIn } from '../../../kernel/copy-in.ts'
import type { Sql } from '../../../kernel/db.ts'
import type { Group } from '../codec/groups.ts'
import { copyData, integersIn } from './copy-rows.ts'

export interface Block {
  day: number
  tenantId: string
  firstAt: number
  lastAt: number
  n: number
  groups: Group[]
  endpoints: ArrayLike<number>
  requestIds: ArrayLike<number> | null
  data: Buffer
}

const copy = `copy traffic_log.blocks (day, tenant_id, first_at, last_at, n, groups, endpoints, request_ids, data)
  from stdin (format binary)`

/** Writes blocks, in a transaction that holds the packing lock. */
export async function insertBlocks(sql: Sql, blocks: Block[]) {
  if (blocks.length === 0) return
  const rows = blocks.map((block) => [
    { integer: block.day },
    { text: block.tenantId },
    { bigint: block.firstAt },
    { bigint: block.lastAt },
    { integer: block.n },
    { json: block.groups },
    { integers: block.endpoints },
    { smallints: block.requestIds },
    { bytes: block.data },
  ])
  await copyIn(sql.unsafe(copy), () => copyData(rows))
}

/** Takes the lock under which records are packed and deleted. Returns false if another node has it. */
export async function tryPackingLock(sql: Sql): Promise<boolean> {
  const [row] = await sql`select pg_try_advisory_xact_lock(hashtextextended('traffic-log.packing', 0)) as ok`
  return row!.ok
}

/** Waits for the packing lock. */
export async function lockPacking(sql: Sql) {
  await sql`select pg_advisory_xact_lock(hashtextextended('traffic-log.packing', 0))`
}

/** Waits until no node packs, and prevents packing until the end of the transaction. */
export async function preventPacking(sql: Sql) {
  await sql`select pg_advisory_xact_lock_shared(hashtextextended('traffic-log.packing', 0))`
}

/**
 * Maximum number of endpoints in one statement. Processing the answer for ten thousand endpoints would block the thread for tens of
 * milliseconds.
 */
const endpointsPerStatement = 1000
/**
 * The day until which an endpoint number is kept is rounded up to a multiple of this number of days, so that not every row is updated every
 * day.
 */
const daysPerUpdate = 8

/** Returns the numbers of endpoints; new endpoints get a number. Must be called in a transaction that holds the packing lock. */
export async function numbersOf(
  sql: Sql,
  tenantId: string,
  endpointIds: string[],
  day: number,
): Promise<Map<string, number>> {
  const numbers = new Map<string, number>()
  const usedDay = day - (day % daysPerUpdate) + daysPerUpdate - 1
  for (let at = 0; at < endpointIds.length; at += endpointsPerStatement)
    await addNumbers(numbers, sql, tenantId, endpointIds.slice(at, at + endpointsPerStatement), usedDay)
  return numbers
}

async function addNumbers(
  numbers: Map<string, number>,
  sql: Sql,
  tenantId: string,
  endpointIds: string[],
  until: number,
) {
  const rows = await sql<{ endpointId: string; endpointNo: number; usedDay: number }[]>`
    select endpoint_id, endpoint_no, used_day from traffic_log.endpoints
    where tenant_id = ${tenantId} and endpoint_id = any(${endpointIds}::text[])`
  for (const { endpointId, endpointNo } of rows) numbers.set(endpointId, endpointNo)
  const changed = [
    ...endpointIds.filter((id) => !numbers.has(id)),
    ...rows.filter(({ usedDay }) => usedDay < until).map(({ endpointId }) => endpointId),
  ]
  if (changed.length === 0) return
  const written = await sql<{ endpointId: string; endpointNo: number }[]>`
    insert into traffic_log.endpoints as known (tenant_id, endpoint_id, used_day)
    select ${tenantId}, id, ${until} from unnest(${changed}::text[]) as id
    on conflict (tenant_id, endpoint_id) do update set used_day = greatest(known.used_day, excluded.used_day)
    returning endpoint_id, endpoint_no`
  for (const { endpointId, endpointNo } of written) numbers.set(endpointId, endpointNo)
}

export async function findNumbers(sql: Sql, tenantId: string, endpointIds: string[]): Promise<Map<number, string>> {
  if (endpointIds.length === 0) return new Map()
  const rows = await sql<{ endpointId: string; endpointNo: number }[]>`
    select endpoint_id, endpoint_no from traffic_log.endpoints
    where tenant_id = ${tenantId} and endpoint_id = any(${endpointIds}::text[])`
  return new Map(rows.map(({ endpointId, endpointNo }) => [endpointNo, endpointId]))
}

export async function findEndpointIds(sql: Sql, tenantId: string, numbers: number[]): Promise<Map<number, string>> {
  if (numbers.length === 0) return new Map()
  const rows = await sql<{ endpointId: string; endpointNo: number }[]>`
    select endpoint_id, endpoint_no from traffic_log.endpoints
    where tenant_id = ${tenantId} and endpoint_no = any(${numbers}::bigint[])`
  return new Map(rows.map(({ endpointId, endpointNo }) => [endpointNo, endpointId]))
}

export interface StoredBlock {
  day: number
  blockId: number
  firstAt: number
  lastAt: number
  n: number
  endpoints: Int32Array
  data: Buffer
}

interface BlockRow extends Omit<StoredBlock, 'endpoints'> {
  endpoints: Buffer
}

const blockOf = (row: BlockRow): StoredBlock => ({ ...row, endpoints: integersIn(row.endpoints) })

/** Removes and returns the small blocks that end in the given time, so that they are packed again together with later records. */
export async function takeSmallBlocks(
  sql: Sql,
  tenantId: string,
  { from, to, recordsMax }: { from: number; to: number; recordsMax: number },
): Promise<StoredBlock[]> {
  const rows = await sql<BlockRow[]>`
    delete from traffic_log.blocks where tenant_id = ${tenantId} and last_at >= ${from} and last_at < ${to} and n < ${recordsMax}
    returning day, block_id, first_at, last_at, n, array_send(endpoints) as endpoints, data`
  return rows.map(blockOf)
}

/** Finds blocks of a tenant that have records up to a time, for deletion. */
export async function findBlocksUntil(
  sql: Sql,
  tenantId: string,
  until: number,
  limit: number,
): Promise<StoredBlock[]> {
  const rows = await sql<BlockRow[]>`
    select day, block_id, first_at, last_at, n, array_send(endpoints) as endpoints, data from traffic_log.blocks
    where tenant_id = ${tenantId} and first_at <= ${until} order by first_at limit ${limit}`
  return rows.map(blockOf)
}

export async function deleteBlocks(sql: Sql, tenantId: string, blockIds: number[]) {
  await sql`delete from traffic_log.blocks where tenant_id = ${tenantId} and block_id = any(${blockIds}::bigint[])`
}

/** Deletes the endpoint numbers of a tenant if the tenant has no blocks. */
export async function deleteNumbersWithoutBlocks(sql: Sql, tenantId: string) {
  await sql`
    delete from traffic_log.endpoints where tenant_id = ${tenantId}
      and not exists (select from traffic_log.blocks where tenant_id = ${tenantId})`
}

/**
 * Packs batches into blocks. One node at a time packs, with a transaction for each tenant. If the packing process is killed, nothing is
 * stored.
 */
import type { Clock } from '../../../kernel/clock.ts'
import { monotonicMs } from '../../../kernel/clock.ts'
import type { Db, Sql } from '../../../kernel/db.ts'
import type { Partitions } from '../partitions.ts'
import { type BatchRow, findTenants, type TenantOfBatches, takeBatches } from '../store/batches.ts'
import * as store from '../store/blocks.ts'
import { addCounts, addStored, hourMs } from '../store/counts.ts'
import { type PackResult, type PackSource, recordsPerBlock } from './pack-records.ts'
import type { PackThread } from './pack-thread.ts'

export interface Packer {
  /** Packs the batches that are due. With `all`, packs every batch. Returns the number of packed records. */
  round(options?: { all?: boolean }): Promise<number>
  /** Packs all batches of a tenant. If another node is packing, waits for it. */
  packAllOf(tenantId: string): Promise<void>
}

export interface PackerDeps {
  db: Db
  now: Clock
  thread: PackThread
  /** Ensures that the days of blocks have partitions. It is called before the transaction. */
  ensureDays: Partitions['ensure']
  /** Called if a partition is missing although `ensureDays` had cached it. This happens after a restore, which replaces the database. */
  invalidateDays: Partitions['invalidate']
}

/** Minimum age of a batch that is packed, so that blocks rarely overlap in time. */
const lagMs = 2000
/** Batches of a tenant are packed when they have this many records, or are this old. */
const recordsMin = 2048
const ageMaxMs = 300_000
/** If a tenant has at least this many batches, they are packed earlier, because a search reads all of them. */
const batchesMax = 1000
/** Maximum number of records in memory at a time. They take about 20 MB. */
const recordsMax = 10_000
/** Blocks with fewer records than this are packed again, together with later records of their hour. */
const smallBlock = recordsPerBlock / 2
const roundMaxMs = 10_000
const dayMs = 86_400_000
/** Approximate size of a block besides its data: bytes for columns and keys, and bytes for each record in the indexes. */
const blockBytes = 320
const bytesPerRecord = 6

export function createPacker({ db, now, thread, ensureDays, invalidateDays }: PackerDeps): Packer {
  async function packTenant(tenantId: string, endedBefore: number, waits = false): Promise<number> {
    return await db.tx(async (sql) => {
      if (waits) await store.lockPacking(sql)
      else if (!(await store.tryPackingLock(sql))) return 0
      const batches = await takeBatches(sql, tenantId, endedBefore, recordsMax)
      if (batches.length === 0) return 0
      const records = batches.reduce((sum, { n }) => sum + n, 0)
      const small = records < recordsPerBlock * 4 ? await takeSmallBlocks(sql, tenantId, batches) : []
      const sources: PackSource[] = [
        ...batches.map(({ data }) => ({ data })),
        ...(await sourcesOf(sql, tenantId, small)),
      ]
      const result = await thread.pack(sources, records)
      await writeBlocks(sql, tenantId, result, { replaced: small })
      return records
    })
  }

  async function withPartitions<T>(fromMs: number, work: () => Promise<T>): Promise<T> {
    const ensure = () => ensureDays(fromMs, now().getTime() + dayMs)
    await ensure()
    try {
      return await work()
    } catch (error) {
      if (!isPartitionMissing(error)) throw error
      invalidateDays()
      await ensure()
      return await work()
    }
  }

  return {
    async packAllOf(tenantId) {
      const pack = () => packTenant(tenantId, Number.MAX_SAFE_INTEGER, true)
      while (await withPartitions(now().getTime() - dayMs, pack));
    },
    async round({ all = false } = {}) {
      const began = monotonicMs()
      const nowMs = now().getTime()
      const endedBefore = all ? Number.MAX_SAFE_INTEGER : (nowMs - lagMs) * 1000
      const isDue = ({ records, batches, firstAt }: TenantOfBatches) =>
        all || records >= recordsMin || batches >= batchesMax || firstAt < (nowMs - ageMaxMs) * 1000
      let total = 0
      for (const tenant of (await findTenants(db.sql, endedBefore)).filter(isDue)) {
        for (let left = tenant.records; left > 0 && monotonicMs() - began < roundMaxMs; ) {
          const packed = await withPartitions(tenant.firstAt / 1000, () => packTenant(tenant.tenantId, endedBefore))
          if (packed === 0) break
          total += packed
          left = all || left - packed >= recordsMin ? left - packed : 0
        }
      }
      return total
    },
  }
}

const noPartitionCode = '23514'
const isPartitionMissing = (error: unknown) => (error as { code?: string } | null)?.code === noPartitionCode
const hourMicros = hourMs * 1000

async function takeSmallBlocks(sql: Sql, tenantId: string, batches: BatchRow[]): Promise<store.StoredBlock[]> {
  const from = Math.floor(Math.min(...batches.map(({ firstAt }) => firstAt)) / hourMicros) * hourMicros
  const to = (Math.floor(Math.max(...batches.map(({ lastAt }) => lastAt)) / hourMicros) + 1) * hourMicros
  return await store.takeSmallBlocks(sql, tenantId, { from, to, recordsMax: smallBlock })
}

/** Returns stored blocks with the ids of their endpoints, so that they can be packed again. */
export async function sourcesOf(sql: Sql, tenantId: string, blocks: store.StoredBlock[]): Promise<PackSource[]> {
  const numbers = [...new Set(blocks.flatMap(({ endpoints }) => [...endpoints]))]
  const ids = await store.findEndpointIds(sql, tenantId, numbers)
  return blocks.map(({ data, endpoints }) => ({
    data,
    endpointIds: Array.from(endpoints, (number) => ids.get(number) ?? ''),
    isCounted: true,
  }))
}

export interface WriteOptions {
  /** Stored blocks that the new blocks replace. */
  replaced?: store.StoredBlock[]
  /** False if the records are already included in the hourly statistics. */
  withHourly?: boolean
}

/** Stores blocks and counts their records, in a transaction that holds the packing lock. */
export async function writeBlocks(
  sql: Sql,
  tenantId: string,
  { blocks, counts }: PackResult,
  { replaced = [], withHourly = true }: WriteOptions = {},
) {
  const endpointIds = [...new Set(blocks.flatMap((block) => block.endpointIds))]
  const day = Math.max(...blocks.map((block) => block.day))
  const numbers = blocks.length === 0 ? new Map() : await store.numbersOf(sql, tenantId, endpointIds, day)
  const rows = blocks.map(({ endpointIds: ids, endpoint, data, ...block }) => ({
    ...block,
    tenantId,
    endpoints: endpoint.map((index) => numbers.get(ids[index]!)!),
    data: Buffer.from(data.buffer, data.byteOffset, data.length),
  }))
  await store.insertBlocks(sql, rows)
  await addCounts(sql, tenantId, counts, { withHourly })
  await addStored(sql, tenantId, storedOf(rows, replaced))
}

type Sized = { lastAt: number; n: number; data: Buffer }

/** Returns the changes of the number of records and of the size of the blocks, by hour. */
export function storedOf(added: Sized[], removed: Sized[]): Map<number, { records: number; bytes: number }> {
  const hours = new Map<number, { records: number; bytes: number }>()
  const add = ({ lastAt, n, data }: Sized, sign: number) => {
    const hour = Math.floor(lastAt / hourMicros)
    const { records, bytes } = hours.get(hour) ?? { records: 0, bytes: 0 }
    const size = data.length + blockBytes + n * bytesPerRecord
    hours.set(hour, { records: records + sign * n, bytes: bytes + sign * size })
  }
  for (const block of added) add(block, 1)
  for (const block of removed) add(block, -1)
  return hours
}

/** Writes batches exactly once, whatever the outcome of earlier attempts. */
import { monotonicMs } from '../../kernel/clock.ts'
import type { Db, Sql } from '../../kernel/db.ts'
import type { Batch } from './batch.ts'
import { decodeColumns } from './codec/block-codec.ts'
import { recordAt } from './codec/columns.ts'
import { findFirst } from './search/search.ts'
import { searchSeconds } from './search/stream.ts'
import { insertBatches, insertMissingBatches } from './store/batches.ts'
import { preventPacking } from './store/blocks.ts'

/** Writes all batches or no batch. The batches are durable when the promise resolves. */
export const writeBatches = (db: Db, batches: Batch[], isRetry: boolean) =>
  isRetry ? insertUnlessWritten(db, batches) : insertBatches(db, batches)

/** Writes batches after an attempt with an unknown outcome. The batches may already be written and even packed. */
async function insertUnlessWritten(db: Db, batches: Batch[]) {
  await db.tx(async (sql) => {
    await preventPacking(sql)
    const missing: Batch[] = []
    for (const batch of batches) if (!(await isPacked(sql, batch))) missing.push(batch)
    await insertMissingBatches(sql, missing)
  })
}

/** Returns whether the first record of a batch is in a block. */
async function isPacked(sql: Sql, { tenantId, data }: Batch): Promise<boolean> {
  const first = recordAt(decodeColumns(data), 0)
  const filter = {
    tenantId,
    span: { from: first.micros, to: first.micros + 1 },
    visible: 'all' as const,
    endpointIds: new Set([first.endpointId]),
    correlationId: first.correlationId,
    outbound: first.outbound,
  }
  const [found] = await findFirst(sql, filter, 1, monotonicMs() + searchSeconds * 1000)
  return found !== undefined
}

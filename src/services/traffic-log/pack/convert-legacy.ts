/** Packs rows of earlier versions, which had no blocks. This task runs in the background and starts with the newest rows. */
import { monotonicMs } from '../../../kernel/clock.ts'
import type { Db } from '../../../kernel/db.ts'
import { encodeColumns } from '../codec/block-codec.ts'
import { createColumns } from '../codec/columns.ts'
import { lockPacking } from '../store/blocks.ts'
import { findLegacyTenant, type LegacyRow, takeLegacyRows } from '../store/legacy.ts'
import type { PackThread } from './pack-thread.ts'
import { type PackerDeps, writeBlocks } from './packer.ts'

export interface ConvertDeps extends Pick<PackerDeps, 'db' | 'ensureDays'> {
  thread: PackThread
}

const rowsPerTransaction = 5000
const roundMaxMs = 20_000

/** Converts rows since a time. Returns the number of converted rows. */
export async function convertLegacyRows({ db, thread, ensureDays }: ConvertDeps, since: Date, now: Date) {
  const began = monotonicMs()
  let total = 0
  for (;;) {
    const tenantId = await findLegacyTenant(db.sql, since)
    if (tenantId === undefined || monotonicMs() - began > roundMaxMs) return total
    await ensureDays(since.getTime(), now.getTime())
    total += await convertSome(db, thread, tenantId, since)
  }
}

async function convertSome(db: Db, thread: PackThread, tenantId: string, since: Date): Promise<number> {
  return await db.tx(async (sql) => {
    await lockPacking(sql)
    const rows = await takeLegacyRows(sql, tenantId, since, rowsPerTransaction)
    const columns = createColumns()
    for (const row of rows) columns.add(recordOf(row))
    const result = await thread.pack([{ data: encodeColumns(columns, { withEndpoints: true }) }], rows.length)
    await writeBlocks(sql, tenantId, result, { withHourly: false })
    return rows.length
  })
}

function recordOf({ requestId, additionalMetadata, payload: text, ...row }: LegacyRow) {
  const { encoding, payloadBytes } = JSON.parse(additionalMetadata ?? '{}')
  const payload = Buffer.from(text, encoding === 'base64' ? 'base64' : 'utf8')
  return {
    ...row,
    requestId: requestId ?? undefined,
    metadata: additionalMetadata ?? undefined,
    payload,
    isText: encoding !== 'base64',
    payloadBytes: payloadBytes ?? payload.length,
  }
}

/** Deletes the records of a tenant up to a time. Records of a new tenant with the same id stay. */
import type { Db, Sql } from '../../kernel/db.ts'
import { countRecords, packRecords, recordsAfter } from './pack/pack-records.ts'
import { type Packer, sourcesOf, storedOf, writeBlocks } from './pack/packer.ts'
import * as blocks from './store/blocks.ts'
import { addCounts, addStored, deleteCountsBefore, hourMs } from './store/counts.ts'
import { deleteRefusals } from './store/endpoints.ts'

const blocksPerTransaction = 200

export async function deleteTenantRecords({ db, packer }: { db: Db; packer: Packer }, tenantId: string, until: Date) {
  await packer.packAllOf(tenantId)
  while (await db.tx((sql) => deletePart(sql, tenantId, until.getTime() * 1000 + 999)));
  await db.tx(async (sql) => {
    await blocks.lockPacking(sql)
    await countAgain(sql, tenantId, until)
    await blocks.deleteNumbersWithoutBlocks(sql, tenantId)
    await deleteRefusals(sql, tenantId, until)
  })
}

/** Deletes some blocks. A block that contains later records is replaced. Returns false if there are no more blocks. */
async function deletePart(sql: Sql, tenantId: string, until: number): Promise<boolean> {
  await blocks.lockPacking(sql)
  const found = await blocks.findBlocksUntil(sql, tenantId, until, blocksPerTransaction)
  if (found.length === 0) return false
  const later = found.filter(({ lastAt }) => lastAt > until)
  const kept = (await sourcesOf(sql, tenantId, later)).flatMap((source) => recordsAfter(source, until) ?? [])
  await blocks.deleteBlocks(
    sql,
    tenantId,
    found.map(({ blockId }) => blockId),
  )
  if (kept.length > 0) await writeBlocks(sql, tenantId, packRecords(kept))
  return true
}

/** Counts the remaining records in the hour that contains `until`. */
async function countAgain(sql: Sql, tenantId: string, until: Date) {
  const hour = Math.floor(until.getTime() / hourMs)
  const end = new Date((hour + 1) * hourMs)
  await deleteCountsBefore(sql, tenantId, end)
  const found = await blocks.findBlocksUntil(sql, tenantId, end.getTime() * 1000 - 1, Number.MAX_SAFE_INTEGER)
  await addCounts(sql, tenantId, countRecords(found))
  await addStored(sql, tenantId, storedOf(found, []))
}

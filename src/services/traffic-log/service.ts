import type { Sql } from '../../kernel/db.ts'
import type { Kit } from '../../kernel/define-service.ts'
import type { TrafficLog } from './contract.ts'
import { createPartitions } from './partitions.ts'
import { createRefusals } from './refusals.ts'
import type { Rows } from './rows.ts'
import * as records from './store/records.ts'
import { insertRefusals } from './store/refusals.ts'
import { createWriter, type FirstRow } from './writer.ts'

export interface TrafficLogService {
  /** Makes the partitions of the days to come and drops those that are too old. */
  renewPartitions(sql: Sql): Promise<void>
  start(): Promise<void>
  stop(): Promise<void>
  api: TrafficLog
}

/** PostgreSQL's codes: a row for which there is no partition; what the data itself is to blame for. */
const noPartition = '23514'
const dataTrouble = /^(22|54)/

export function createTrafficLog(kit: Kit): TrafficLogService {
  const { db, log, now, metrics } = kit
  const { payloadBytesMax, retentionDays } = kit.settings.trafficLog
  const partitions = createPartitions(kit, retentionDays)

  async function inPartitions(from: number, to: number, write: () => Promise<void>) {
    await partitions.cover(from, to)
    try {
      await write()
    } catch (error) {
      // The database was restored to a day of long ago.
      if (codeOf(error) === noPartition) partitions.forget()
      throw error
    }
  }

  async function write(rows: Rows, again: FirstRow | undefined) {
    if (again && (await records.isWritten(db.sql, again, new Date(rows.from / 1000)))) return
    await inPartitions(rows.from / 1000, rows.to / 1000, () => records.copyRecords(db, rows))
  }

  const writer = createWriter({
    now,
    log,
    metrics,
    payloadBytesMax,
    write,
    mayPass: (error) => !dataTrouble.test(codeOf(error) ?? ''),
  })
  const refusals = createRefusals({
    now,
    log,
    write: (rows) => {
      const times = rows.map(({ createdAt }) => createdAt.getTime())
      return inPartitions(Math.min(...times), Math.max(...times), () => insertRefusals(db.sql, rows))
    },
  })

  return {
    renewPartitions: partitions.renew,
    start: partitions.prepare,
    async stop() {
      await Promise.all([writer.drained(), refusals.flush()])
    },
    api: { record: writer.add, refuse: refusals.add },
  }
}

const codeOf = (error: unknown) => (error as { code?: string } | null)?.code

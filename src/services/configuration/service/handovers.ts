/** Records deliveries to devices and the reports of devices, many in one statement. */
import { createBatcher } from '../../../kernel/batcher.ts'
import type { Kit } from '../../../kernel/define-service.ts'
import { ConfigurationApplied } from '../events.ts'
import { handoverNotRecorded } from '../log-messages.ts'
import { pruneSent } from '../store/cleanup.ts'
import * as store from '../store/deliveries.ts'
import type { Pushes } from './pushes.ts'

export interface Handovers {
  /** Marks a configuration as delivered. Never rejects: if the database fails, the status stays PENDING. */
  mark(handover: store.Handover): Promise<void>
  /** Records a report. Returns false if this endpoint never had the configuration. */
  report(report: store.Report): Promise<boolean>
  settled(): Promise<void>
}

const batchMax = 500
const everyMs = 5

export function createHandovers(kit: Pick<Kit, 'db' | 'bus' | 'now' | 'log' | 'metrics'>, pushes: Pushes): Handovers {
  const { db, log, now, metrics } = kit
  const pending = new Set<Promise<void>>()
  const reports = metrics.counter(
    'waypost_configuration_reports_total',
    'Number of reports of devices on configurations, by outcome (applied, failed, unknown).',
    ['outcome'],
  )
  const mark = createBatcher<store.Handover, true>(
    async (handovers) => {
      const recorded = await store.markDispatched(db.sql, handovers, now())
      for (const { isReplaced, isNew: _, ...key } of recorded) if (isReplaced) pushes.pushAgain(key)
      const grown = recorded.filter(({ isNew }) => isNew)
      if (grown.length > 0) await pruneSent(db.sql, grown, now())
      return handovers.map(() => true)
    },
    batchMax,
    everyMs,
  )
  const report = createBatcher<store.Report, boolean>((given) => record(kit, given), batchMax, everyMs)

  return {
    mark(handover) {
      const marked = mark(handover)
        .then(() => {})
        .catch((error) => handoverNotRecorded(log, { err: error, endpointId: handover.endpointId }))
        .finally(() => pending.delete(marked))
      pending.add(marked)
      return marked
    },
    async report(given) {
      const isKnown = (await report(given)) === true
      reports.inc({ outcome: isKnown ? (isApplied(given) ? 'applied' : 'failed') : 'unknown' })
      return isKnown
    },
    async settled() {
      await Promise.all(pending)
    },
  }
}

const isApplied = ({ statusCode }: { statusCode: number }) => statusCode >= 200 && statusCode <= 299

async function record({ db, bus, now }: Pick<Kit, 'db' | 'bus' | 'now'>, reports: store.Report[]): Promise<boolean[]> {
  const known = new Set<number>()
  if (!bus.hasSubscribers(ConfigurationApplied)) {
    for (const position of await store.recordReports(db.sql, reports, now())) known.add(position)
    return reports.map((_, position) => known.has(position))
  }
  await db.tx(async (sql) => {
    known.clear()
    for (const position of await store.recordReports(sql, reports, now())) known.add(position)
    const reported = reports.filter((_, position) => known.has(position))
    for (const [tenantId, ofTenant] of Map.groupBy(reported, (one) => one.tenantId))
      await bus.publish(sql, ConfigurationApplied, {
        tenantId,
        reports: ofTenant.map(({ endpointId, versionName, name, configId, statusCode, reasonPhrase }) => ({
          ...{ endpointId, versionName, name, configId, statusCode },
          ...(reasonPhrase !== null && { reasonPhrase }),
        })),
      })
  })
  return reports.map((_, position) => known.has(position))
}

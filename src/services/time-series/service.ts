import { type Clock, monotonicMs } from '../../kernel/clock.ts'
import type { Kit } from '../../kernel/define-service.ts'
import { createGate } from '../../kernel/gate.ts'
import type { Applications } from '../applications/contract.ts'
import type { Register } from '../register/contract.ts'
import type { TimeSeries } from './contract.ts'
import { createForget, type Forget } from './delete/deletions.ts'
import { createRetention } from './delete/retention.ts'
import { createRetentionPreview, type RetentionPreview } from './delete/retention-preview.ts'
import { PointsStored } from './events.ts'
import { createReplay } from './live/replay.ts'
import { createLive, type Live } from './live/watchers.ts'
import { createNumbers, type Numbers } from './numbers/numbers.ts'
import { createPacker, type Packer } from './pack/packer.ts'
import { type Configured, createConfigured } from './read/configured-series.ts'
import { createDataRules, type DataRules } from './read/data.ts'
import { createLastRules, type LastRules } from './read/last.ts'
import { createReader } from './read/reader.ts'
import { createSights } from './read/visible-series.ts'
import type { TimeSeriesSettings } from './settings.ts'
import { createCollect } from './write/collect.ts'
import { createConnectivitySeries } from './write/connectivity-series.ts'
import { createPlans, type Plans } from './write/extraction-plans.ts'
import { createLatest, type Latest } from './write/latest-values.ts'
import { createPointRules, type PointRules } from './write/points-request.ts'
import { tellStored } from './write/publish-samples.ts'
import { createPutPoints } from './write/put-points.ts'
import { createSlots, type Slots } from './write/slots.ts'
import { createWriter, writesAtOnce } from './write/writer.ts'

export interface TimeSeriesService {
  api: TimeSeries
  connectivity: ReturnType<typeof createConnectivitySeries>
  configured: Configured
  data: DataRules
  last: LastRules
  points: PointRules
  live: Live
  retentionPreview: RetentionPreview
  now: Clock
  numbers: Numbers
  plans: Plans
  slots: Slots
  latest: Latest
  packer: Packer
  forget: Forget
  memory: {
    forgetNumbers(of: { tenantId: string; applicationName?: string; endpointIds?: string[] }): void
    forgetAll(): void
  }
  start(): Promise<void>
  stop(): Promise<void>
}

/** Reading takes connections of its own: whoever reads years does not hold up the rest of the platform. */
const readsAtOnce = { perTenant: 2, inAll: 4, waitingPerTenant: Infinity, waitMs: Infinity }
/** Answers of a kind that are under way. */
const answersAtOnce = { perTenant: 32, perCaller: 24, waitingPerTenant: 1000, waitMs: 30_000 }

const retentionEveryMs = 15 * 60_000
const straysEveryMs = 24 * 3_600_000

export function createTimeSeries(
  kit: Kit<TimeSeriesSettings>,
  { applications, register }: { applications: Applications; register: Register },
): TimeSeriesService {
  const { bus, jobs, log, metrics, now } = kit
  const db = kit.db.open({ max: writesAtOnce * 2, name: 'waypost-series' })
  const background = kit.db.open({ max: 2, name: 'waypost-series-packing', statementSeconds: 300 })
  const numbers = createNumbers(kit.db, kit.settings)
  const plans = createPlans(applications)
  const slots = createSlots(kit)
  const writer = createWriter({
    db,
    slots,
    log,
    metrics,
    storing: { wanted: () => bus.isHeard(PointsStored), run: (sql, rows) => tellStored(bus, sql, rows, numbers) },
    stored(rows) {
      latest.stored(rows)
      live.stored(rows)
    },
  })
  const latest = createLatest({
    db,
    reading: kit.db,
    numbers,
    node: kit.newId(),
    now,
    log,
    storedUpTo: writer.storedUpTo,
  })
  const forget = createForget({ db: kit.db, own: background, bus, jobs, register, now })
  const reading = kit.db.open({ max: readsAtOnce.inAll * 2, name: 'waypost-series-reading' })
  const turns = createGate(readsAtOnce)
  const retention = createRetention({ db: background, reading, turns, numbers, applications, now, log })
  let [retainedAt, straysAt] = [Number.NEGATIVE_INFINITY, monotonicMs()]
  const packer = createPacker({
    db: background,
    slots,
    numbers,
    now,
    log,
    metrics,
    retention,
    async also(check) {
      await latest.complete()
      await forget.sweep(check)
      if (monotonicMs() - retainedAt > retentionEveryMs) {
        await retention.run(check)
        retainedAt = monotonicMs()
      }
      if (monotonicMs() - straysAt > straysEveryMs) {
        await forget.strays(check)
        straysAt = monotonicMs()
      }
    },
  })

  const reader = createReader({ db: reading, turns })
  const sights = createSights({ db: kit.db, applications, register })
  const live = createLive(kit, {
    numbers,
    sights,
    replay: createReplay({ db: reading, numbers, latest, retention, now, position: writer.position }),
    limits: kit.settings.live,
  })
  const putPoints = createPutPoints({ numbers, writer })
  return {
    connectivity: createConnectivitySeries({ log, applications, register, putPoints }),
    configured: createConfigured({ db: kit.db, applications }),
    data: createDataRules({ sights, reader, answers: createGate(answersAtOnce) }),
    last: createLastRules({ sights, reader, latest, retention, answers: createGate(answersAtOnce) }),
    points: createPointRules({ applications, register, putPoints }),
    api: {
      collect: createCollect({ plans, numbers, writer }),
      putPoints,
      latestOf: latest.of,
      retentionWouldDelete: retention.wouldGo,
    },
    live,
    retentionPreview: createRetentionPreview({ applications, wouldGo: retention.wouldGo }),
    now,
    numbers,
    plans,
    slots,
    latest,
    packer,
    forget,
    memory: {
      forgetNumbers({ tenantId, applicationName, endpointIds }) {
        if (endpointIds) latest.forget(numbers.forgetEndpoints(endpointIds))
        else if (applicationName !== undefined) numbers.forgetApplication({ tenantId, applicationName })
        else numbers.forgetAll()
      },
      forgetAll() {
        numbers.forgetAll()
        slots.forget()
        latest.forgetAll()
      },
    },
    async start() {
      await slots.current()
      await latest.start()
      await live.start()
      packer.start()
    },
    async stop() {
      await Promise.all([live.stop(), writer.drained(), packer.stop()])
      await latest.stop()
    },
  }
}

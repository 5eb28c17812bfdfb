/** Assembles the service from writing, packing, reading, live streams and deletion. See README.md. */
import type { Clock } from '../../kernel/clock.ts'
import { createConcurrencyLimit } from '../../kernel/concurrency-limit.ts'
import type { Db } from '../../kernel/db.ts'
import type { Kit } from '../../kernel/define-service.ts'
import type { Applications } from '../applications/contract.ts'
import type { Register } from '../register/contract.ts'
import type { SampleCompanion, TimeSeries } from './contract.ts'
import { createDeletions, type Deletions } from './delete/deletions.ts'
import { createPeriodicDeletion } from './delete/periodic-deletion.ts'
import { createRetention, type Retention } from './delete/retention.ts'
import { createRetentionPreview, type RetentionPreview } from './delete/retention-preview.ts'
import { PointsStored } from './events.ts'
import { createLive, type Live } from './live/live.ts'
import { createReplay } from './live/replay.ts'
import { defineTopic } from './live/topic.ts'
import { createNumbers, type Numbers } from './numbers/numbers.ts'
import { createPacker, type Packer } from './pack/packer.ts'
import { type ConfiguredSeries, createConfiguredSeries } from './read/configured-series.ts'
import { createDataQuery, type DataQuery } from './read/data.ts'
import { createSeriesExport } from './read/export.ts'
import { createLastQuery, type LastQuery } from './read/last.ts'
import { createPointsOfEndpoint } from './read/points-of-endpoint.ts'
import { createReader } from './read/reader.ts'
import { createVisibleSeries } from './read/visible-series.ts'
import type { TimeSeriesSettings } from './settings.ts'
import { createCollect } from './write/collect.ts'
import { createConnectivitySeries } from './write/connectivity-series.ts'
import { createExtractionPlans } from './write/extraction-plan.ts'
import { createLatestMark } from './write/latest-mark.ts'
import { createLatestValues, type LatestValues } from './write/latest-values.ts'
import { withinQuota } from './write/points-quota.ts'
import { createPointsRequest, type PointsRequest } from './write/points-request.ts'
import { publishPoints } from './write/publish-points.ts'
import { publishReceived } from './write/publish-samples.ts'
import { createPutPoints } from './write/put-points.ts'
import { createPlaceReports } from './write/report-places.ts'
import type { Origin, Rows } from './write/rows.ts'
import { createSlots, type Slots } from './write/slots.ts'
import { createWriteOrder } from './write/write-order.ts'
import { connectionsMax, createWriter } from './write/writer.ts'

export interface TimeSeriesService {
  /** The contract without the functions that need the device extension. */
  api: Omit<TimeSeries, 'receive' | 'samplesOf'>
  connectivity: ReturnType<typeof createConnectivitySeries>
  configured: ConfiguredSeries
  data: DataQuery
  last: LastQuery
  points: PointsRequest
  live: Live
  retentionPreview: RetentionPreview
  now: Clock
  numbers: Numbers
  slots: Slots
  latest: LatestValues
  packer: Packer
  deletions: Deletions
  caches: {
    invalidateNumbers(selection: { tenantId: string; applicationName?: string; endpointIds?: string[] }): void
    invalidateAll(): void
  }
  start(): Promise<void>
  stop(): Promise<void>
}

interface Services {
  applications: Applications
  register: Register
}

/** Limits how many parts are read from the database at the same time. */
const readLimits = { perTenant: 2, total: 4, waitingPerTenant: Infinity, waitMs: Infinity }
/** Limits concurrent responses, separately for `data` and for `last`. */
const responseLimits = { perTenant: 32, perCaller: 24, waitingPerTenant: 1000, waitMs: 30_000 }

export function createTimeSeries(kit: Kit<TimeSeriesSettings>, services: Services): TimeSeriesService {
  const { applications, register } = services
  const { bus, jobs, log, now } = kit
  const pools = openPools(kit.db)
  const numbers = createNumbers(kit.db, kit.settings)
  const slots = createSlots(kit)
  const readLimit = createConcurrencyLimit(readLimits)
  const retention = createRetention({ db: pools.background, applications, now, log })
  const deletions = createDeletions({ db: kit.db, background: pools.background, bus, jobs, register, now })
  const writePath = createWritePath(kit, { ...services, pools, numbers, slots })
  const { latest, putPoints } = writePath
  const quotaPoints = withinQuota(kit.quota, putPoints)
  const reader = createReader({ db: pools.reading, readLimit })
  const visibleSeries = createVisibleSeries({ db: kit.db, applications, register })
  const replay = createReplay({ db: pools.reading, numbers, latest, retention, now, position: writePath.position })
  const live = createLive(kit, {
    numbers,
    visible: visibleSeries,
    replay,
    limits: kit.settings.live,
  })
  writePath.onStored(live.stored)
  writePath.onStored(createPlaceReports(log, register, numbers))
  writePath.onStored(defineTopic(kit.live, { numbers, replay }))
  const packer = createPacker({
    ...kit,
    db: pools.background,
    slots,
    numbers,
    retention,
    afterPacking: createPeriodicDeletion({ deletions, retention }),
  })
  const queries = createQueries({ visible: visibleSeries, reader, latest, retention })
  const retentionPreview = createRetentionPreview({ db: pools.reading, readLimit, numbers, applications, now })
  return {
    ...queries,
    connectivity: createConnectivitySeries({ log, applications, register, putPoints }),
    configured: createConfiguredSeries({ db: kit.db, applications }),
    points: createPointsRequest({ applications, register, putPoints: quotaPoints }),
    api: {
      collect: writePath.collect,
      setCompanion: writePath.setCompanion,
      putPoints: quotaPoints,
      latestValues: latest.read,
      ...createPointsOfEndpoint(kit, queries),
      previewRetention: retentionPreview.preview,
      ...createSeriesExport(kit, { ...queries, visible: visibleSeries }),
    },
    live,
    retentionPreview,
    now,
    numbers,
    slots,
    latest,
    packer,
    deletions,
    caches: cacheInvalidationOf({ numbers, slots, latest }),
    async start() {
      await slots.current()
      await latest.start()
      await live.start()
      packer.start()
    },
    async stop() {
      await Promise.all([live.stop(), writePath.drained(), packer.stop()])
      await latest.stop()
    },
  }
}

/** The pools are separate, so that writing, packing and reading do not wait for each other's connections. */
const openPools = (db: Db) => ({
  writing: db.open({ max: connectionsMax, name: 'waypost-series' }),
  background: db.open({ max: 2, name: 'waypost-series-packing', statementSeconds: 300 }),
  reading: db.open({ max: readLimits.total * 2, name: 'waypost-series-reading' }),
})

function createWritePath(
  kit: Kit<TimeSeriesSettings>,
  parts: Services & { pools: ReturnType<typeof openPools>; numbers: Numbers; slots: Slots },
) {
  const { bus, members, log, metrics } = kit
  const { pools, numbers, slots, applications } = parts
  const mark = createLatestMark(pools.writing, members.nodeId)
  const order = createWriteOrder(mark)
  const listeners: ((rows: Rows) => void)[] = []
  let companion: SampleCompanion | undefined
  const writer = createWriter({
    db: pools.writing,
    order,
    slots,
    log,
    metrics,
    isAlone: members.isAlone,
    publishReceived: (sql, { received }) => publishReceived(bus, sql, received),
    duringCommit: {
      isNeeded: ({ companionRows, hasPublishedPoints }) => companionRows.length > 0 || hasPublishedPoints,
      async run(sql, rows) {
        if (rows.companionRows.length > 0) await companion?.store(sql, rows.companionRows, rows.isRepeated)
        if (rows.hasPublishedPoints) await publishPoints(bus, sql, rows, numbers)
      },
    },
    stored(rows) {
      for (const listener of listeners) listener(rows)
    },
  })
  const latest = createLatestValues({
    db: pools.writing,
    reading: kit.db,
    numbers,
    members,
    mark,
    log,
    writes: writer,
  })
  const isPublished = (origin: Origin) => bus.isWanted(PointsStored, origin)
  const onStored = (listener: (rows: Rows) => void) => void listeners.push(listener)
  onStored(latest.stored)
  return {
    collect: createCollect({
      plans: createExtractionPlans(applications),
      numbers,
      writer,
      isPublished,
      companion: () => companion,
      quota: kit.quota,
    }),
    setCompanion(given: SampleCompanion) {
      if (companion) throw new Error('samples have a companion already')
      companion = given
    },
    putPoints: createPutPoints({ numbers, writer, isPublished }),
    latest,
    position: order.position,
    /** Registers a listener for rows that this node has committed. */
    onStored,
    drained: writer.drained,
  }
}

function createQueries(parts: {
  visible: ReturnType<typeof createVisibleSeries>
  reader: ReturnType<typeof createReader>
  latest: LatestValues
  retention: Retention
}) {
  return {
    data: createDataQuery({ ...parts, responses: createConcurrencyLimit(responseLimits) }),
    last: createLastQuery({ ...parts, responses: createConcurrencyLimit(responseLimits) }),
  }
}

const cacheInvalidationOf = ({
  numbers,
  slots,
  latest,
}: Pick<TimeSeriesService, 'numbers' | 'slots' | 'latest'>): TimeSeriesService['caches'] => ({
  invalidateNumbers({ tenantId, applicationName, endpointIds }) {
    if (endpointIds) latest.drop(numbers.invalidateEndpoints(endpointIds))
    else if (applicationName !== undefined) numbers.invalidateApplication({ tenantId, applicationName })
    else numbers.invalidateAll()
  },
  invalidateAll() {
    numbers.invalidateAll()
    slots.invalidate()
    latest.dropAll()
  },
})

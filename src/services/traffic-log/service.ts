import { STATUS_CODES } from 'node:http'
import type { Clock } from '../../kernel/clock.ts'
import { type ConcurrencyLimit, createConcurrencyLimit } from '../../kernel/concurrency-limit.ts'
import { type Ctx, requireTenantAccess } from '../../kernel/contract.ts'
import type { Db, Sql } from '../../kernel/db.ts'
import type { Kit } from '../../kernel/define-service.ts'
import type { DeviceEndpoint } from '../../kernel/device.ts'
import { defineJob } from '../../kernel/jobs.ts'
import type { Window } from '../../kernel/paging.ts'
import { holds, onPlatform, visibleResources } from '../../kernel/permissions.ts'
import type { Applications } from '../applications/contract.ts'
import { requestStatusInstance, trafficLogInstance } from './configuration.ts'
import type { InboundMessage, InboundQuery, TrafficExport, TrafficLog } from './contract.ts'
import { deleteTenantRecords } from './delete-tenant.ts'
import { NoOutcome } from './errors.ts'
import { createLevelFilter } from './level.ts'
import { defineTopics, type TrafficTopics } from './live.ts'
import { convertLegacyRows } from './pack/convert-legacy.ts'
import { createPackThread } from './pack/pack-thread.ts'
import { createPacker } from './pack/packer.ts'
import { createPartitions, type Partitions } from './partitions.ts'
import { createRefusals } from './refusals.ts'
import { findNextRecords } from './search/export-page.ts'
import { findOutcome } from './search/outcome.ts'
import type { PageRequest } from './search/page.ts'
import { findFirst, findRecords, visibleTo } from './search/search.ts'
import type { TrafficLogSettings } from './settings.ts'
import { createSizeLimit } from './size-limit.ts'
import { inSnapshot } from './snapshot.ts'
import { trafficStatistics } from './store/counts.ts'
import * as endpoints from './store/endpoints.ts'
import { findRefusals, insertRefusals, rowOf } from './store/refusals.ts'
import type { Span, TrafficQuery, Visibility } from './traffic-query.ts'
import { type RecordView, refusalView, viewOf } from './views.ts'
import { withinQuota } from './within-quota.ts'
import { writeBatches } from './write-batches.ts'
import { concurrentWrites, createWriter } from './writer.ts'

export type TrafficListRequest = Omit<TrafficQuery, 'tenantId' | 'visibility'> & { tenantId?: string | undefined }

interface RefusalListRequest extends Window {
  tenantId?: string | undefined
  reason?: string | undefined
  endpointIds?: string[] | undefined
  span: Span
}

export interface Outcome {
  requestId: number
  statusCode: number
  reasonPhrase: string
}

export interface TrafficLogService {
  list(ctx: Ctx, request: TrafficListRequest): Promise<{ totalElements: number; content: RecordView[] }>
  listRefusals(ctx: Ctx, request: RefusalListRequest): Promise<{ totalElements: number; content: object[] }>
  /** Returns the outcome of an endpoint's request. Throws 404 if it is not among the latest outcomes of the extension. */
  outcome(endpoint: DeviceEndpoint, extension: string, requestId: number): Promise<Outcome>
  /** Enqueues, in the given transaction, a job that deletes all present records of the tenant. */
  enqueueTenantDeletion(sql: Sql, tenantId: string): Promise<void>
  recordUnregistered(sql: Sql, tenantId: string, endpointIds: string[], at: Date): Promise<void>
  /** Creates the partitions of the coming days and drops expired partitions. */
  renewPartitions(sql: Sql): Promise<void>
  /** Packs batches that are due. */
  pack(): Promise<void>
  /** Returns the seconds until the next call of `pack`. */
  packPauseSeconds(): number
  /** Packs rows of earlier versions. */
  convertLegacyRows(): Promise<void>
  /** Deletes the oldest records if they take too many bytes. */
  limitSize(): Promise<void>
  now: Clock
  start(): Promise<void>
  stop(): Promise<void>
  api: TrafficLog
}

export const readRefusals = 'tenant:refusal:read'
const read = 'endpoint:read'

const DeleteTenantRecords = defineJob<{ tenantId: string; until: string }>('traffic-log.forget-tenant', {
  timeoutSeconds: 3600,
})
const dayMs = 86_400_000
/** Packing runs often, so that searches find few records that are not packed. It runs less often while there is little to pack. */
export const packSeconds = 1
const idlePackSeconds = 5

/** Error codes of PostgreSQL: no partition for a row, and (by class) invalid data. */
const noPartitionCode = '23514'
const invalidDataCode = /^(22|54)/
const codeOf = (error: unknown) => (error as { code?: string } | null)?.code

export function createTrafficLog(kit: Kit<TrafficLogSettings>, applications: Applications): TrafficLogService {
  const { db, jobs, now, settings } = kit
  const partitions = createPartitions(kit, settings.retentionDays)
  const { writer, refusals } = createWriters(kit, partitions, defineTopics(kit))
  const thread = createPackThread()
  let lastPacked = 0
  const packingDb = db.open({ max: 2, name: 'waypost-traffic-packing' })
  const { ensure: ensureDays, invalidate: invalidateDays } = createPartitions(
    { db: packingDb, now },
    settings.retentionDays,
  )
  const packing = { db: packingDb, now, thread, ensureDays, invalidateDays }
  const packer = createPacker(packing)
  const sizeLimit = createSizeLimit({ ...kit, db: packingDb }, settings.bytesMax)
  const outcomesOf = applications.derivedConfiguration(requestStatusInstance, ({ outcomes }) => outcomes)
  const levelOf = applications.derivedConfiguration(trafficLogInstance, ({ level }) => level)
  const searches = createConcurrencyLimit({ perTenant: 2, total: 4, waitingPerTenant: 20 })
  jobs.handle(DeleteTenantRecords, ({ tenantId, until }) =>
    deleteTenantRecords({ db: packingDb, packer }, tenantId, new Date(until)),
  )
  return {
    now,
    list: (ctx, request) => list({ db, searches }, ctx, request),
    listRefusals: (ctx, request) => listRefusals({ db, searches }, ctx, request),
    async outcome(endpoint, extension, requestId) {
      const outcomes = await outcomesOf(endpoint)
      const find = () => outcomeOf(db, endpoint, { extension, requestId, outcomes })
      // A response is sent before its record is written. Searching again after the write avoids a 404 and a retransmission.
      const outcome = (await find()) ?? (await writer.settled().then(find))
      if (!outcome) throw NoOutcome({ extension, requestId })
      return outcome
    },
    enqueueTenantDeletion: (sql, tenantId) =>
      jobs.send(sql, DeleteTenantRecords, { tenantId, until: now().toISOString() }),
    recordUnregistered: endpoints.insertUnregistered,
    renewPartitions: partitions.renew,
    packPauseSeconds: () => (lastPacked > 0 ? packSeconds : idlePackSeconds),
    async pack() {
      lastPacked = await packer.round()
    },
    async convertLegacyRows() {
      await convertLegacyRows(packing, new Date(partitions.oldestDay() * dayMs), now())
    },
    limitSize: sizeLimit.enforce,
    start: partitions.prepare,
    async stop() {
      await Promise.all([writer.drained(), refusals.stop()])
      await thread.stop()
    },
    api: {
      record: createLevelFilter(levelOf, withinQuota(kit, writer.add)),
      recordRefusal: refusals.add,
      statistics: trafficStatistics,
      inbound: (query) => findInbound(db, query),
      exportPage: (ctx, selection, position) => exportPage(db, ctx, selection, position),
    },
  }
}

function createWriters(
  { db, log, now, newId, metrics, settings }: Kit<TrafficLogSettings>,
  partitions: Partitions,
  topics: TrafficTopics,
) {
  const connections = db.open({ max: concurrentWrites * 2, name: 'waypost-traffic' })
  const writer = createWriter({
    now,
    log,
    metrics,
    writerId: newId().replaceAll('-', '').slice(0, 16),
    payloadBytesMax: settings.payloadBytesMax,
    eventOf: topics.eventOf,
    stored: topics.publishRecords,
    write: (batches, isRetry) => writeBatches(connections, batches.finish(), isRetry),
    isTemporary: (error) => !invalidDataCode.test(codeOf(error) ?? ''),
  })
  const refusals = createRefusals({
    now,
    log,
    async write(refused) {
      const rows = refused.map(rowOf)
      const times = rows.map(({ createdAt }) => createdAt.getTime())
      const span = { from: Math.min(...times), to: Math.max(...times) }
      await writeIntoPartitions(partitions, span, () => insertRefusals(db.sql, rows))
      topics.publishRefusals(rows)
    },
  })
  return { writer, refusals }
}

async function writeIntoPartitions(partitions: Partitions, { from, to }: Span, write: () => Promise<void>) {
  await partitions.ensure(from, to)
  try {
    await write()
  } catch (error) {
    // A restore has replaced the database, so the cached partitions possibly do not exist.
    if (codeOf(error) === noPartitionCode) partitions.invalidate()
    throw error
  }
}

interface SearchDeps {
  db: Db
  searches: ConcurrencyLimit
}

async function list({ db, searches }: SearchDeps, ctx: Ctx, { tenantId: requested, ...request }: TrafficListRequest) {
  const tenantId = requireTenantAccess(ctx, requested, read)
  const query: TrafficQuery = { ...request, tenantId, visibility: visibilityOf(ctx, tenantId) }
  const find = () => inSnapshot(db, async (sql, deadline) => findRecords(sql, await pageOf(sql, query), deadline))
  const { total, records } = await (isCountedAhead(query) ? find() : searches.run(tenantId, find, ctx))
  return { totalElements: total, content: records.map((record) => viewOf(tenantId, record)) }
}

/** Returns whether the total is known from counts, so that no record must be decoded. */
const isCountedAhead = ({ endpointIds, payload, resourcePath, requestId, visibility }: TrafficQuery) =>
  !endpointIds &&
  !payload &&
  !resourcePath &&
  requestId === undefined &&
  (visibility === 'all' || visibility.endpointIds.length === 0)

const spanInMicros = ({ from, to }: Span) => ({ from: from * 1000, to: to * 1000 })

async function pageOf(sql: Sql, query: TrafficQuery): Promise<PageRequest> {
  const { tenantId, visibility, span, endpointIds, payload, descending, offset, limit } = query
  return {
    filter: {
      tenantId,
      span: spanInMicros(span),
      visible: visibility === 'all' ? 'all' : await visibleTo(sql, tenantId, visibility),
      ...(endpointIds && { endpointIds: new Set(endpointIds) }),
      ...(payload && { payload: Buffer.from(payload) }),
      versionName: query.versionName,
      extension: query.extension,
      resourcePath: query.resourcePath,
      requestId: query.requestId,
    },
    descending,
    offset,
    limit,
  }
}

async function listRefusals(
  { db, searches }: SearchDeps,
  ctx: Ctx,
  { tenantId: requested, ...request }: RefusalListRequest,
) {
  const tenantId = requireTenantAccess(ctx, requested, readRefusals)
  // Administrators of the platform also get refusals without a known tenant.
  const withoutTenant = requested === undefined && holds(ctx.caller, readRefusals, onPlatform)
  const tenantIds = withoutTenant ? [tenantId, ''] : [tenantId]
  const find = () => inSnapshot(db, (sql) => findRefusals(sql, { ...request, tenantIds }))
  const { total, rows } = await searches.run(tenantId, find, ctx)
  return { totalElements: total, content: rows.map(refusalView) }
}

async function findInbound(db: Db, query: InboundQuery): Promise<InboundMessage[]> {
  const filter = {
    tenantId: query.tenantId,
    span: { from: query.afterMicros + 1, to: query.to.getTime() * 1000 + 1 },
    visible: 'all' as const,
    extension: query.extension,
    outbound: false,
    ...(query.endpointIds && { endpointIds: new Set(query.endpointIds) }),
  }
  const records = await inSnapshot(db, async (sql, deadline) => {
    const page = await findFirst(sql, filter, query.limit, deadline)
    if (page.length < query.limit) return page
    // The next page begins after the last microsecond, so all records of this microsecond are on this page.
    const { micros } = page.at(-1)!
    const ofMicrosecond = { ...filter, span: { from: micros, to: micros + 1 } }
    const last = await findFirst(sql, ofMicrosecond, Number.MAX_SAFE_INTEGER, deadline)
    return [...page.filter((record) => record.micros < micros), ...last]
  })
  return records.map((record) => ({
    createdAt: new Date(record.micros / 1000),
    micros: record.micros,
    endpointId: record.endpointId,
    applicationName: record.applicationName,
    versionName: record.versionName,
    correlationId: record.correlationId,
    resourcePath: record.resourcePath,
    payload: record.payload,
    isTruncated: record.payloadBytes > record.payload.length,
  }))
}

async function exportPage(
  db: Db,
  ctx: Ctx,
  { endpointIds, appVersionName: versionName, from, to, ...conditions }: TrafficExport,
  position: number | undefined,
) {
  const { tenantId } = ctx
  const visibility = visibilityOf(ctx, tenantId)
  const filterOf = async (sql: Sql, span: { from: number; to: number }) => {
    const query = { tenantId, visibility, endpointIds, versionName, ...conditions, descending: false }
    const { filter } = await pageOf(sql, { ...query, span: { from: 0, to: 0 }, offset: 0, limit: 0 })
    return { ...filter, span }
  }
  const span = { from: position ?? from * 1000, to: to * 1000 }
  const { records, next } = await findNextRecords((work) => inSnapshot(db, work), filterOf, span)
  return { records: records.map((record) => viewOf(tenantId, record)), next }
}

async function outcomeOf(
  db: Db,
  { tenantId, endpointId }: DeviceEndpoint,
  { extension, requestId, outcomes }: { extension: string; requestId: number; outcomes: number },
): Promise<Outcome | undefined> {
  const query = { tenantId, endpointId, extension, requestId, outcomes }
  const record = await inSnapshot(db, (sql, deadline) => findOutcome(sql, query, deadline))
  const statusCode = record && statusOf(record.metadata)
  return statusCode === undefined
    ? undefined
    : { requestId, statusCode, reasonPhrase: reasonOf(statusCode, record!.payload.toString()) }
}

function visibilityOf(ctx: Ctx, tenantId: string): Visibility {
  const applicationNames = visibleResources(ctx.caller, read, tenantId, 'application-')
  const endpointIds = visibleResources(ctx.caller, read, tenantId, 'endpoint-')
  if (applicationNames === 'all' || endpointIds === 'all') return 'all'
  return { applicationNames: [...new Set(applicationNames)], endpointIds: [...new Set(endpointIds)] }
}

function statusOf(metadata: string | undefined): number | undefined {
  const { statusCode } = metadata ? JSON.parse(metadata) : {}
  return Number.isInteger(statusCode) ? statusCode : undefined
}

/** Returns the reason phrase of a response. For an error, the payload contains it. */
function reasonOf(statusCode: number, payload: string): string {
  if (statusCode >= 200 && statusCode < 300) return 'Ok'
  try {
    const { reasonPhrase } = JSON.parse(payload)
    if (typeof reasonPhrase === 'string') return reasonPhrase
  } catch {} // The payload is truncated or not JSON.
  return STATUS_CODES[statusCode] ?? 'Unknown'
}

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
import { requestStatusInstance } from './configuration.ts'
import type { TrafficLog } from './contract.ts'
import { NoOutcome, SearchTooLong } from './errors.ts'
import { createPartitions, type Partitions } from './partitions.ts'
import { createRefusals } from './refusals.ts'
import type { TrafficLogSettings } from './settings.ts'
import { advanceCounts, trafficStatistics } from './store/counts.ts'
import * as endpoints from './store/endpoints.ts'
import { findInbound } from './store/inbound.ts'
import * as lists from './store/lists.ts'
import * as records from './store/records.ts'
import { findRefusals, insertRefusals, type RefusalRow } from './store/refusals.ts'
import { type Span, type TrafficQuery, usesCountsOnly, type Visibility } from './traffic-query.ts'
import { concurrentWrites, createWriter } from './writer.ts'

export type TrafficListRequest = Omit<TrafficQuery, 'tenantId' | 'visibility'> & { tenantId?: string | undefined }

type RefusalListRequest = { tenantId?: string | undefined; reason?: string | undefined; span: Span } & Window

export interface RecordView {
  correlationId: string
  direction: 'INBOUND' | 'OUTBOUND'
  tenantId: string
  appVersionName: string
  endpointId: string
  extension: string
  resourcePath: string
  requestId?: number
  payload: string
  additionalMetadata?: Record<string, unknown>
  createdAt: Date
}

export interface Outcome {
  requestId: number
  statusCode: number
  reasonPhrase: string
}

export interface TrafficLogService {
  list(ctx: Ctx, request: TrafficListRequest): Promise<{ totalElements: number; content: RecordView[] }>
  listRefusals(ctx: Ctx, request: RefusalListRequest): Promise<{ totalElements: number; content: object[] }>
  /** Returns the outcome of a request of the endpoint, if it is among the latest ones of the extension. */
  outcome(endpoint: DeviceEndpoint, extension: string, requestId: number): Promise<Outcome>
  /** Enqueues a job in this transaction that deletes all records of the tenant. */
  enqueueTenantDeletion(sql: Sql, tenantId: string): Promise<void>
  recordUnregistered(sql: Sql, tenantId: string, endpointIds: string[], at: Date): Promise<void>
  /** Creates the partitions of the coming days and drops expired ones. */
  renewPartitions(sql: Sql): Promise<void>
  count(sql: Sql): Promise<void>
  now: Clock
  start(): Promise<void>
  stop(): Promise<void>
  api: TrafficLog
}

export const readRefusals = 'tenant:refusal:read'
const read = 'endpoint:read'

const searchSeconds = 5
const DeleteTenantRecords = defineJob<{ tenantId: string; until: string }>('traffic-log.forget-tenant', {
  timeoutSeconds: 3600,
})
const deletedPerTransaction = 10_000
/** Number of records of an endpoint that are searched, per outcome that can be asked for. */
const recordsPerOutcome = 20

/** Error codes of PostgreSQL: no partition for a row, statement time-out, and (by class) invalid data. */
const noPartitionCode = '23514'
const statementTimeoutCode = '57014'
const invalidDataCode = /^(22|54)/
const codeOf = (error: unknown) => (error as { code?: string } | null)?.code

export function createTrafficLog(kit: Kit<TrafficLogSettings>, applications: Applications): TrafficLogService {
  const { db, jobs, now } = kit
  const partitions = createPartitions(kit, kit.settings.retentionDays)
  const { writer, refusals } = createWriters(kit, partitions)
  const outcomesOf = applications.derivedConfiguration(requestStatusInstance, ({ outcomes }) => outcomes)
  const searches = createConcurrencyLimit({ perTenant: 2, total: 4, waitingPerTenant: 20 })
  jobs.handle(DeleteTenantRecords, ({ tenantId, until }) => deleteRecords(db, tenantId, new Date(until)))
  return {
    now,
    list: (ctx, request) => list({ db, searches }, ctx, request),
    listRefusals: (ctx, request) => listRefusals({ db, searches }, ctx, request),
    async outcome(endpoint, extension, requestId) {
      const outcomes = await outcomesOf(endpoint)
      const find = () => findOutcome(db, endpoint, { extension, requestId, outcomes })
      // A response is sent before its record is written. Searching again after the write avoids a 404 and a retransmission.
      const outcome = (await find()) ?? (await writer.settled().then(find))
      if (!outcome) throw NoOutcome({ extension, requestId })
      return outcome
    },
    enqueueTenantDeletion: (sql, tenantId) =>
      jobs.send(sql, DeleteTenantRecords, { tenantId, until: now().toISOString() }),
    recordUnregistered: endpoints.insertUnregistered,
    renewPartitions: partitions.renew,
    count: (sql) => advanceCounts(sql, now()),
    start: partitions.prepare,
    async stop() {
      await Promise.all([writer.drained(), refusals.stop()])
    },
    api: {
      record: writer.add,
      recordRefusal: refusals.add,
      statistics: trafficStatistics,
      inbound: (query) => findInbound(kit.db.sql, query),
    },
  }
}

function createWriters({ db, log, now, metrics, settings }: Kit<TrafficLogSettings>, partitions: Partitions) {
  const connections = db.open({ max: concurrentWrites * 2, name: 'waypost-traffic' })
  const writer = createWriter({
    now,
    log,
    metrics,
    payloadBytesMax: settings.payloadBytesMax,
    async write(rows, again) {
      if (again && (await records.isWritten(db.sql, again, new Date(rows.from / 1000)))) return
      const span = { from: rows.from / 1000, to: rows.to / 1000 }
      await writeIntoPartitions(partitions, span, () => records.copyRecords(connections, rows))
    },
    isTemporary: (error) => !invalidDataCode.test(codeOf(error) ?? ''),
  })
  const refusals = createRefusals({
    now,
    log,
    write(rows) {
      const times = rows.map(({ createdAt }) => createdAt.getTime())
      const span = { from: Math.min(...times), to: Math.max(...times) }
      return writeIntoPartitions(partitions, span, () => insertRefusals(db.sql, rows))
    },
  })
  return { writer, refusals }
}

async function writeIntoPartitions(partitions: Partitions, { from, to }: Span, write: () => Promise<void>) {
  await partitions.ensure(from, to)
  try {
    await write()
  } catch (error) {
    // A restore has replaced the database, so the cached partitions may not exist.
    if (codeOf(error) === noPartitionCode) partitions.invalidate()
    throw error
  }
}

async function deleteRecords(db: Db, tenantId: string, until: Date) {
  while (await db.tx((sql) => endpoints.deleteRecordsPart(sql, tenantId, until, deletedPerTransaction)));
  await db.tx((sql) => endpoints.deleteCountsAndRefusals(sql, tenantId, until))
}

interface SearchDeps {
  db: Db
  searches: ConcurrencyLimit
}

async function list({ db, searches }: SearchDeps, ctx: Ctx, { tenantId: requested, ...request }: TrafficListRequest) {
  const tenantId = requireTenantAccess(ctx, requested, read)
  const query: TrafficQuery = {
    ...request,
    tenantId,
    visibility: visibilityOf(ctx, tenantId),
    endpointIds: request.endpointIds && [...new Set(request.endpointIds)],
  }
  const find = () => withTimeLimit(db, (sql, countedUntil) => lists.findRecords(sql, query, countedUntil))
  const first = await lists.findFirstPages(db.sql, query)
  const { total, rows } = first ?? (await (usesCountsOnly(query) ? find() : searches.run(tenantId, find, ctx)))
  return { totalElements: total, content: rows.map(viewOf) }
}

async function listRefusals(
  { db, searches }: SearchDeps,
  ctx: Ctx,
  { tenantId: requested, ...request }: RefusalListRequest,
) {
  const tenantId = requireTenantAccess(ctx, requested, readRefusals)
  // Administrators of the platform also see refusals without a known tenant.
  const withoutTenant = requested === undefined && holds(ctx.caller, readRefusals, onPlatform)
  const tenantIds = withoutTenant ? [tenantId, ''] : [tenantId]
  const find = () => withTimeLimit(db, (sql) => findRefusals(sql, { ...request, tenantIds }))
  const { total, rows } = await searches.run(tenantId, find, ctx)
  return { totalElements: total, content: rows.map(refusalView) }
}

/** Runs queries in one snapshot, so that a page and its total agree, with a statement time-out. */
async function withTimeLimit<T>(db: Db, work: (sql: Sql, countedUntil: number) => Promise<T>): Promise<T> {
  try {
    return (await db.sql.begin(lists.snapshotReadOnly, async (sql) => {
      const { countedUntil } = await lists.limitSearch(sql, searchSeconds * 1000)
      return await work(sql, countedUntil)
    })) as T
  } catch (error) {
    if (codeOf(error) === statementTimeoutCode) throw SearchTooLong({ seconds: searchSeconds })
    throw error
  }
}

async function findOutcome(
  db: Db,
  { tenantId, endpointId }: DeviceEndpoint,
  { extension, requestId, outcomes }: { extension: string; requestId: number; outcomes: number },
): Promise<Outcome | undefined> {
  const query = { tenantId, endpointId, extension, requestId, outcomes, recordsMax: outcomes * recordsPerOutcome }
  const row = await endpoints.findOutcome(db.sql, query)
  const statusCode = row && statusOf(row.additionalMetadata)
  return statusCode === undefined
    ? undefined
    : { requestId, statusCode, reasonPhrase: reasonOf(statusCode, row!.payload) }
}

function visibilityOf(ctx: Ctx, tenantId: string): Visibility {
  const applicationNames = visibleResources(ctx.caller, read, tenantId, 'application-')
  const endpointIds = visibleResources(ctx.caller, read, tenantId, 'endpoint-')
  if (applicationNames === 'all' || endpointIds === 'all') return 'all'
  return { applicationNames: [...new Set(applicationNames)], endpointIds: [...new Set(endpointIds)] }
}

function viewOf(row: lists.RecordRow): RecordView {
  return {
    correlationId: row.correlationId,
    direction: row.outbound ? 'OUTBOUND' : 'INBOUND',
    tenantId: row.tenantId,
    appVersionName: row.versionName,
    endpointId: row.endpointId,
    extension: row.extension,
    resourcePath: row.resourcePath,
    ...(row.requestId !== null && { requestId: row.requestId }),
    payload: row.payload,
    ...(row.additionalMetadata !== null && { additionalMetadata: JSON.parse(row.additionalMetadata) }),
    createdAt: row.createdAt,
  }
}

const refusalView = ({ versionName: appVersionName, ...row }: RefusalRow) =>
  Object.fromEntries(
    Object.entries({ ...row, appVersionName, tenantId: row.tenantId || null }).filter(([, value]) => value !== null),
  )

function statusOf(metadata: string | null): number | undefined {
  const { statusCode } = metadata ? JSON.parse(metadata) : {}
  return Number.isInteger(statusCode) ? statusCode : undefined
}

/** Returns the reason phrase of a response; for an error it is in the payload. */
function reasonOf(statusCode: number, payload: string): string {
  if (statusCode >= 200 && statusCode < 300) return 'Ok'
  try {
    const { reasonPhrase } = JSON.parse(payload)
    if (typeof reasonPhrase === 'string') return reasonPhrase
  } catch {} // truncated, or not JSON
  return STATUS_CODES[statusCode] ?? 'Unknown'
}

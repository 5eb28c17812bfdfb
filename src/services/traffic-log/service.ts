import { STATUS_CODES } from 'node:http'
import { createConcurrencyLimit } from '../../kernel/concurrency-limit.ts'
import { type Ctx, tenantOf } from '../../kernel/contract.ts'
import type { Sql } from '../../kernel/db.ts'
import type { Kit } from '../../kernel/define-service.ts'
import type { DeviceEndpoint } from '../../kernel/device.ts'
import { defineJob } from '../../kernel/jobs.ts'
import type { Window } from '../../kernel/paging.ts'
import { holds, onPlatform, visible } from '../../kernel/permissions.ts'
import type { Applications } from '../applications/contract.ts'
import { requestStatusInstance } from './configuration.ts'
import type { TrafficLog } from './contract.ts'
import { NoOutcome, SearchTooLong } from './errors.ts'
import { createPartitions } from './partitions.ts'
import { isPlain, type Sight, type Span, type TrafficQuery } from './question.ts'
import { type CountedRefusal, createRefusals } from './refusals.ts'
import type { Rows } from './rows.ts'
import type { TrafficLogSettings } from './settings.ts'
import { countOn } from './store/counts.ts'
import * as endpoints from './store/endpoints.ts'
import * as lists from './store/lists.ts'
import * as records from './store/records.ts'
import { findRefusals, insertRefusals, type RefusalRow } from './store/refusals.ts'
import { createWriter, type FirstRow, writesAtOnce } from './writer.ts'

export type Question = Omit<TrafficQuery, 'tenantId' | 'sight'> & { tenantId?: string | undefined }

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
  list(ctx: Ctx, question: Question): Promise<{ totalElements: number; content: RecordView[] }>
  listRefusals(
    ctx: Ctx,
    question: { tenantId?: string | undefined; reason?: string | undefined; span: Span } & Window,
  ): Promise<{ totalElements: number; content: object[] }>
  /** What became of a request of the endpoint: among the last ones of the extension. */
  outcome(endpoint: DeviceEndpoint, extension: string, requestId: number): Promise<Outcome>
  /** With this transaction it is certain; the work itself takes its time. */
  forgetTenant(sql: Sql, tenantId: string): Promise<void>
  forgetEndpoints(sql: Sql, tenantId: string, endpointIds: string[], at: Date): Promise<void>
  /** Makes the partitions of the days to come and drops those that are too old. */
  renewPartitions(sql: Sql): Promise<void>
  count(sql: Sql): Promise<void>
  start(): Promise<void>
  stop(): Promise<void>
  api: TrafficLog
}

export const readRefusals = 'tenant:refusal:read'
const read = 'endpoint:read'

const searchSeconds = 5
const ForgetTenant = defineJob<{ tenantId: string; until: string }>('traffic-log.forget-tenant', {
  timeoutSeconds: 3600,
})
const forgottenAtOnce = 10_000
/** An endpoint's records that an outcome is looked for in, for each outcome that is kept. */
const recordsPerOutcome = 20

/** PostgreSQL's codes: a row for which there is no partition, a statement that ran out of time, what the data is to blame for. */
const noPartition = '23514'
const canceled = '57014'
const dataTrouble = /^(22|54)/
const codeOf = (error: unknown) => (error as { code?: string } | null)?.code

export function createTrafficLog(kit: Kit<TrafficLogSettings>, applications: Applications): TrafficLogService {
  const { db, jobs, log, now, metrics } = kit
  const { payloadBytesMax, retentionDays } = kit.settings
  const writing = db.open({ max: writesAtOnce * 2, name: 'waypost-traffic' })
  const partitions = createPartitions(kit, retentionDays)
  const outcomesOf = applications.follow(requestStatusInstance, ({ outcomes }) => outcomes)
  const gate = createConcurrencyLimit({ perTenant: 2, inAll: 4, waitingPerTenant: 20 })

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
    await inPartitions(rows.from / 1000, rows.to / 1000, () => records.copyRecords(writing, rows))
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
    write(rows: CountedRefusal[]) {
      const times = rows.map(({ createdAt }) => createdAt.getTime())
      return inPartitions(Math.min(...times), Math.max(...times), () => insertRefusals(db.sql, rows))
    },
  })

  jobs.handle(ForgetTenant, async ({ tenantId, until: text }) => {
    const until = new Date(text)
    while (await db.tx((sql) => endpoints.deleteSome(sql, tenantId, until, forgottenAtOnce)));
    await db.tx((sql) => endpoints.deleteRest(sql, tenantId, until))
  })

  /** As of one moment, and not for longer than it is worth. */
  async function inTime<T>(work: (sql: Sql, countedUntil: number) => Promise<T>): Promise<T> {
    try {
      return (await db.sql.begin(lists.oneMoment, async (sql) => {
        const { countedUntil } = await lists.begin(sql, searchSeconds * 1000)
        return await work(sql, countedUntil)
      })) as T
    } catch (error) {
      if (codeOf(error) === canceled) throw SearchTooLong({ seconds: searchSeconds })
      throw error
    }
  }

  return {
    async list(ctx, { tenantId: asked, ...question }) {
      const tenantId = tenantOf(ctx, asked, read)
      const query: TrafficQuery = {
        ...question,
        tenantId,
        sight: sightOf(ctx, tenantId),
        endpointIds: question.endpointIds && [...new Set(question.endpointIds)],
      }
      const find = () => inTime((sql, countedUntil) => lists.findRecords(sql, query, countedUntil))
      const first = await lists.findFirst(db.sql, query)
      const { total, rows } = first ?? (await (isPlain(query) ? find() : gate.run(tenantId, find)))
      return { totalElements: total, content: rows.map(viewOf) }
    },

    async listRefusals(ctx, { tenantId: asked, ...question }) {
      const tenantId = tenantOf(ctx, asked, readRefusals)
      // Nobody's are for those who look after the platform.
      const nobodys = asked === undefined && holds(ctx.caller, readRefusals, onPlatform)
      const tenantIds = nobodys ? [tenantId, ''] : [tenantId]
      const find = () => inTime((sql) => findRefusals(sql, { ...question, tenantIds }))
      const { total, rows } = await gate.run(tenantId, find)
      return { totalElements: total, content: rows.map(refusalView) }
    },

    async outcome({ tenantId, applicationName, versionName, endpointId }, extension, requestId) {
      const outcomes = await outcomesOf({ tenantId, applicationName, versionName })
      const wanted = { tenantId, endpointId, extension, requestId, outcomes, within: outcomes * recordsPerOutcome }
      const find = () => endpoints.findOutcome(db.sql, wanted)
      // An answer leaves while its record is on the way, and whoever has just heard it may ask: 404 would make it send again.
      const row = (await find()) ?? (await writer.settled().then(find))
      const statusCode = row && statusOf(row.additionalMetadata)
      if (statusCode === undefined) throw NoOutcome({ extension, requestId })
      return { requestId, statusCode, reasonPhrase: reasonOf(statusCode, row!.payload) }
    },

    forgetTenant: (sql, tenantId) => jobs.send(sql, ForgetTenant, { tenantId, until: now().toISOString() }),
    forgetEndpoints: endpoints.insertUnregistered,
    renewPartitions: partitions.renew,
    count: (sql) => countOn(sql, now()),
    start: partitions.prepare,
    async stop() {
      await Promise.all([writer.drained(), refusals.stop()])
    },
    api: { record: writer.add, refuse: refusals.add },
  }
}

function sightOf(ctx: Ctx, tenantId: string): Sight {
  const applicationNames = visible(ctx.caller, read, tenantId, 'application-')
  const endpointIds = visible(ctx.caller, read, tenantId, 'endpoint-')
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

/** As the answer said it, which for an error is its payload. */
function reasonOf(statusCode: number, payload: string): string {
  if (statusCode >= 200 && statusCode < 300) return 'Ok'
  try {
    const { reasonPhrase } = JSON.parse(payload)
    if (typeof reasonPhrase === 'string') return reasonPhrase
  } catch {} // cut, or not JSON
  return STATUS_CODES[statusCode] ?? 'Unknown'
}

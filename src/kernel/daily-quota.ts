/**
 * The quota of bytes that a tenant may store per day. Each node counts in memory. Once a second, or at a hundredth of the quota, it adds
 * its count to a shared row. Each node therefore exceeds the quota by at most about a hundredth, and no message waits for the row.
 */
import type { Clock } from './clock.ts'
import type { Db, Sql } from './db.ts'
import { DailyQuotaExceeded } from './errors.ts'
import type { Log } from './log.ts'
import { dailyQuotaExceeded, dailyQuotaWriteFailed } from './log-messages.ts'
import type { Metrics } from './metrics.ts'
import type { TenantLimits } from './tenant-limits.ts'

/**
 * The usage of one day. The first five numbers are bytes. The others count what happened above the quota: requests with samples that were
 * refused, records that the traffic log left out, and traces and alerts of rules without their details.
 */
export interface DailyUsage {
  /** The day, as an ISO date in UTC. */
  day: string
  samples: number
  trafficLog: number
  documents: number
  traces: number
  alerts: number
  refused: number
  unrecorded: number
  shortened: number
}

export interface DailyQuota {
  /** Counts bytes of samples that are being stored. Throws 429 if the tenant has used up its quota of today. */
  requireSamples(tenantId: string, bytes: number): void
  /** Counts the bytes of a record for the traffic log. Returns false if the tenant has used up its quota of today. */
  allowsRecord(tenantId: string, bytes: number): boolean
  /** Counts bytes that are stored even above the quota, such as documents: they belong to samples that were accepted. */
  count(tenantId: string, kind: 'documents' | 'alerts', bytes: number): void
  /**
   * Counts bytes that rules write: a trace, or an entry in the history of an alert. Returns false if the tenant has used up its quota of
   * today; then the details are left out.
   */
  allowsDetails(tenantId: string, kind: 'traces' | 'alerts', bytes: number): boolean
  /** Returns the usage of the last days, newest first, and the current quota; 0 means no quota. */
  usage(tenantId: string, days: number): Promise<{ quota: number; days: DailyUsage[] }>
  /** Deletes the usage of old days. */
  prune(sql: Sql): Promise<void>
  /** Deletes the usage of a tenant. */
  deleteTenant(sql: Sql, tenantId: string): Promise<void>
  /** Writes the counted bytes. */
  flush(): Promise<void>
}

type Counts = Omit<DailyUsage, 'day'>
/** The kinds of bytes that count towards the quota. */
type Kind = (typeof kinds)[number]

interface Usage {
  day: number
  /** Bytes of all nodes, as read at the last write of this node. */
  known: number
  /** Bytes that are being written. */
  inFlight: number
  /** Counts that are not written yet. */
  pending: Counts
  isReported: boolean
}

const dayMs = 86_400_000
const flushEveryMs = 1000
/** The part of the quota that a node may store before it writes its count to the shared row. */
const unwrittenPart = 1 / 100
const keptDays = 90

const kinds = ['samples', 'trafficLog', 'documents', 'traces', 'alerts'] as const
const events = ['refused', 'unrecorded', 'shortened'] as const
const noCounts = (): Counts => ({
  samples: 0,
  trafficLog: 0,
  documents: 0,
  traces: 0,
  alerts: 0,
  refused: 0,
  unrecorded: 0,
  shortened: 0,
})
const bytesOf = (counts: Counts) => kinds.reduce((sum, kind) => sum + counts[kind], 0)
const hasCounts = (counts: Counts) => bytesOf(counts) > 0 || events.some((event) => counts[event] > 0)
const dateOf = (day: number) => new Date(day * dayMs).toISOString().slice(0, 10)

interface QuotaDeps {
  db: Db
  limits: TenantLimits
  now: Clock
  log: Log
  metrics: Metrics
}

export function createDailyQuota(deps: QuotaDeps): DailyQuota {
  const { db, limits, now } = deps
  const counters = createCounters(deps.metrics)
  const counting = createCounting(deps)
  const { usageOf, schedule, flush } = counting

  function add({ pending }: Usage, quota: number, kind: Kind, bytes: number) {
    pending[kind] += bytes
    if (quota > 0 && bytesOf(pending) > quota * unwrittenPart) void flush()
    else schedule()
  }

  /** Counts bytes and returns true, unless the quota is used up. */
  function admit(tenantId: string, usage: Usage, kind: Kind, bytes: number): boolean {
    const quota = limits.get(tenantId).bytesPerDay
    if (isExceeded(deps, tenantId, usage, quota)) return false
    add(usage, quota, kind, bytes)
    return true
  }

  return {
    requireSamples(tenantId, bytes) {
      const usage = usageOf(tenantId)
      if (admit(tenantId, usage, 'samples', bytes)) return
      usage.pending.refused++
      counters.refused.inc()
      schedule()
      const seconds = Math.ceil(((usage.day + 1) * dayMs - now().getTime()) / 1000)
      const quota = limits.get(tenantId).bytesPerDay
      throw DailyQuotaExceeded({ quota, seconds }, { headers: { 'retry-after': String(seconds) } })
    },
    allowsRecord(tenantId, bytes) {
      const usage = usageOf(tenantId)
      if (admit(tenantId, usage, 'trafficLog', bytes)) return true
      usage.pending.unrecorded++
      counters.unrecorded.inc()
      schedule()
      return false
    },
    count: (tenantId, kind, bytes) => add(usageOf(tenantId), limits.get(tenantId).bytesPerDay, kind, bytes),
    allowsDetails(tenantId, kind, bytes) {
      const usage = usageOf(tenantId)
      if (admit(tenantId, usage, kind, bytes)) return true
      usage.pending.shortened++
      counters.shortened.inc()
      schedule()
      return false
    },
    async usage(tenantId, days) {
      await counting.settled()
      await flush()
      const found = await findUsage(db.sql, tenantId, dateOf(counting.today() - days + 1))
      return { quota: limits.get(tenantId).bytesPerDay, days: found }
    },
    async prune(sql) {
      await sql`delete from kernel.daily_bytes where day < ${dateOf(counting.today() - keptDays)}::date`
    },
    async deleteTenant(sql, tenantId) {
      await sql`delete from kernel.daily_bytes where tenant_id = ${tenantId}`
      counting.forget(tenantId)
    },
    flush,
  }
}

function isExceeded({ log }: QuotaDeps, tenantId: string, usage: Usage, quota: number): boolean {
  if (quota === 0) return false
  const total = usage.known + usage.inFlight + bytesOf(usage.pending)
  if (total < quota) return false
  if (!usage.isReported) dailyQuotaExceeded(log, { tenantId, quota, bytes: total })
  usage.isReported = true
  return true
}

/** Keeps the counts of this node and adds them to the rows that all nodes share. */
function createCounting({ db, now, log }: QuotaDeps) {
  const usages = new Map<string, Usage>()
  let isScheduled = false
  let flushing: Promise<void> | undefined

  const today = () => Math.floor(now().getTime() / dayMs)

  function usageOf(tenantId: string): Usage {
    const day = today()
    let usage = usages.get(tenantId)
    if (usage?.day !== day) {
      if (usage && hasCounts(usage.pending)) void write([[tenantId, usage]])
      usage = { day, known: 0, inFlight: 0, pending: noCounts(), isReported: false }
      usages.set(tenantId, usage)
    }
    return usage
  }

  function schedule() {
    if (isScheduled) return
    isScheduled = true
    setTimeout(() => {
      isScheduled = false
      void flush()
    }, flushEveryMs).unref()
  }

  function flush(): Promise<void> {
    flushing ??= write([...usages].filter(([, { pending }]) => hasCounts(pending))).finally(() => {
      flushing = undefined
    })
    return flushing
  }

  async function write(changed: [string, Usage][]) {
    if (changed.length === 0) return
    const written = changed.map(([tenantId, usage]) => ({ tenantId, day: dateOf(usage.day), ...usage.pending }))
    const bytes = changed.map(([, { pending }]) => bytesOf(pending))
    for (const [index, [, usage]] of changed.entries()) {
      usage.pending = noCounts()
      usage.inFlight += bytes[index]!
    }
    try {
      const totals = await addCounts(db.sql, written)
      for (const [tenantId, usage] of changed) usage.known = Math.max(usage.known, totals.get(tenantId) ?? 0)
    } catch (error) {
      for (const [index, [, { pending }]] of changed.entries())
        for (const key of Object.keys(pending) as (keyof Counts)[]) pending[key] += written[index]![key]
      dailyQuotaWriteFailed(log, { err: error })
      schedule()
    }
    for (const [index, [, usage]] of changed.entries()) usage.inFlight -= bytes[index]!
  }

  return {
    today,
    usageOf,
    schedule,
    flush,
    /** Resolves when the running write has ended. */
    settled: () => flushing,
    forget: (tenantId: string) => void usages.delete(tenantId),
  }
}

const createCounters = (metrics: Metrics) => ({
  refused: metrics.counter(
    'waypost_daily_quota_refused_total',
    'Number of messages and requests with samples that were refused because the tenant has used its quota of the day.',
  ),
  unrecorded: metrics.counter(
    'waypost_daily_quota_unrecorded_total',
    'Number of records that the traffic log left out because the tenant has used its quota of the day.',
  ),
  shortened: metrics.counter(
    'waypost_daily_quota_shortened_total',
    'Number of traces without details, and of entries left out of the history of alerts, because the tenant has used its quota of the day.',
  ),
})

/** Adds counts to the rows of the tenants and returns the stored bytes of each. The rows are sorted, so that nodes cannot deadlock. */
async function addCounts(sql: Sql, rows: ({ tenantId: string; day: string } & Counts)[]): Promise<Map<string, number>> {
  const column = <K extends keyof (typeof rows)[number]>(key: K) => rows.map((row) => row[key])
  const totals = await sql<{ tenantId: string; total: number }[]>`
    insert into kernel.daily_bytes as d
      (tenant_id, day, samples, traffic_log, documents, traces, alerts, refused, unrecorded, shortened)
    select * from unnest(${column('tenantId')}::text[], ${column('day')}::date[], ${column('samples')}::bigint[],
      ${column('trafficLog')}::bigint[], ${column('documents')}::bigint[], ${column('traces')}::bigint[],
      ${column('alerts')}::bigint[], ${column('refused')}::bigint[], ${column('unrecorded')}::bigint[],
      ${column('shortened')}::bigint[]) order by 1, 2
    on conflict (tenant_id, day) do update set samples = d.samples + excluded.samples,
      traffic_log = d.traffic_log + excluded.traffic_log, documents = d.documents + excluded.documents,
      traces = d.traces + excluded.traces, alerts = d.alerts + excluded.alerts, refused = d.refused + excluded.refused,
      unrecorded = d.unrecorded + excluded.unrecorded, shortened = d.shortened + excluded.shortened
    returning tenant_id, (samples + traffic_log + documents + traces + alerts)::float8 as total`
  return new Map(totals.map(({ tenantId, total }) => [tenantId, total]))
}

const findUsage = async (sql: Sql, tenantId: string, from: string): Promise<DailyUsage[]> =>
  await sql<DailyUsage[]>`
    select day::text as day, samples::float8 as samples, traffic_log::float8 as traffic_log,
      documents::float8 as documents, traces::float8 as traces, alerts::float8 as alerts,
      refused::float8 as refused, unrecorded::float8 as unrecorded, shortened::float8 as shortened
    from kernel.daily_bytes where tenant_id = ${tenantId} and day >= ${from}::date order by day desc`

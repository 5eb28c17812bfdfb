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

/** The usage of one day. */
export interface DailyUsage {
  /** ISO date in UTC. */
  day: string
  samples: number
  trafficLog: number
  refused: number
  unrecorded: number
}

export interface DailyQuota {
  /** Counts bytes of samples that are being stored. Throws 429 if the tenant has used up its quota of today. */
  requireSamples(tenantId: string, bytes: number): void
  /** Counts the bytes of a record for the traffic log. Returns false if the tenant has used up its quota of today. */
  allowsRecord(tenantId: string, bytes: number): boolean
  /** Returns the usage of the last days, newest first, and the current quota; 0 means no quota. */
  usage(tenantId: string, days: number): Promise<{ quota: number; days: DailyUsage[] }>
  /** Deletes the usage of old days. */
  prune(sql: Sql): Promise<void>
  /** Deletes the usage of a tenant. */
  deleteTenant(sql: Sql, tenantId: string): Promise<void>
  /** Writes the counted bytes. */
  flush(): Promise<void>
}

interface Counts {
  samples: number
  trafficLog: number
  refused: number
  unrecorded: number
}

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

const noCounts = (): Counts => ({ samples: 0, trafficLog: 0, refused: 0, unrecorded: 0 })
const hasCounts = ({ samples, trafficLog, refused, unrecorded }: Counts) =>
  samples + trafficLog + refused + unrecorded > 0
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

  /** Counts bytes and returns true, unless the quota is used up. */
  function admit(tenantId: string, usage: Usage, kind: 'samples' | 'trafficLog', bytes: number): boolean {
    const quota = limits.get(tenantId).bytesPerDay
    if (isExceeded(deps, tenantId, usage, quota)) return false
    const { pending } = usage
    pending[kind] += bytes
    if (quota > 0 && pending.samples + pending.trafficLog > quota * unwrittenPart) void flush()
    else schedule()
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
  const total = usage.known + usage.inFlight + usage.pending.samples + usage.pending.trafficLog
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
    const bytes = changed.map(([, { pending }]) => pending.samples + pending.trafficLog)
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
})

/** Adds counts to the rows of the tenants and returns the stored bytes of each. The rows are sorted, so that nodes cannot deadlock. */
async function addCounts(sql: Sql, rows: ({ tenantId: string; day: string } & Counts)[]): Promise<Map<string, number>> {
  const column = <K extends keyof (typeof rows)[number]>(key: K) => rows.map((row) => row[key])
  const totals = await sql<{ tenantId: string; total: number }[]>`
    insert into kernel.daily_bytes as d (tenant_id, day, samples, traffic_log, refused, unrecorded)
    select * from unnest(${column('tenantId')}::text[], ${column('day')}::date[], ${column('samples')}::bigint[],
      ${column('trafficLog')}::bigint[], ${column('refused')}::bigint[], ${column('unrecorded')}::bigint[]) order by 1, 2
    on conflict (tenant_id, day) do update set samples = d.samples + excluded.samples,
      traffic_log = d.traffic_log + excluded.traffic_log, refused = d.refused + excluded.refused,
      unrecorded = d.unrecorded + excluded.unrecorded
    returning tenant_id, (samples + traffic_log)::float8 as total`
  return new Map(totals.map(({ tenantId, total }) => [tenantId, total]))
}

const findUsage = async (sql: Sql, tenantId: string, from: string): Promise<DailyUsage[]> =>
  await sql<DailyUsage[]>`
    select day::text as day, samples::float8 as samples, traffic_log::float8 as traffic_log,
      refused::float8 as refused, unrecorded::float8 as unrecorded
    from kernel.daily_bytes where tenant_id = ${tenantId} and day >= ${from}::date order by day desc`

/** Reads the usage and the audit log of tenants. Checks the permissions of the caller. */
import type { AuditRecord } from '../../kernel/audit/record.ts'
import type { AuditQuery } from '../../kernel/audit/store.ts'
import type { Clock } from '../../kernel/clock.ts'
import { type Ctx, requireTenantAccess } from '../../kernel/contract.ts'
import type { DailyUsage } from '../../kernel/daily-quota.ts'
import type { Sql } from '../../kernel/db.ts'
import type { Kit } from '../../kernel/define-service.ts'

export const readUsage = 'tenant:usage:read'
export const readAudit = 'tenant:audit:read'

type RecordQuery = Omit<AuditQuery, 'tenantId'> & { tenantId?: string | undefined }

export interface AuditService {
  usage(ctx: Ctx, request: { tenantId?: string | undefined; days: number }): Promise<UsageView>
  list(
    ctx: Ctx,
    query: RecordQuery,
    window: { offset: number; limit: number },
  ): Promise<{ totalElements: number; content: RecordView[] }>
  /** Returns all matching records, newest first, in parts. */
  all(ctx: Ctx, query: RecordQuery): AsyncIterable<RecordView[]>
  now: Clock
  prune(sql: Sql): Promise<void>
  deleteTenant(sql: Sql, tenantId: string): Promise<void>
}

export interface UsageView {
  tenantId: string
  bytesPerDay: number
  days: DayView[]
}

interface DayView extends Pick<DailyUsage, 'day' | 'refused' | 'unrecorded' | 'shortened'> {
  sampleBytes: number
  trafficLogBytes: number
  documentBytes: number
  traceBytes: number
  alertBytes: number
}

export type RecordView = Omit<Nullless<AuditRecord>, 'at'> & { at: string }
type Nullless<T> = { [K in keyof T as null extends T[K] ? never : K]: T[K] } & {
  [K in keyof T as null extends T[K] ? K : never]?: NonNullable<T[K]>
}

export function createAuditService({ audit, quota, now }: Pick<Kit, 'audit' | 'quota' | 'now'>): AuditService {
  const queryFor = (ctx: Ctx, { tenantId, ...query }: RecordQuery): AuditQuery => ({
    ...query,
    tenantId: requireTenantAccess(ctx, tenantId, readAudit),
  })
  return {
    async usage(ctx, { tenantId: requested, days }) {
      const tenantId = requireTenantAccess(ctx, requested, readUsage)
      const { quota: bytesPerDay, days: found } = await quota.usage(tenantId, days)
      return { tenantId, bytesPerDay, days: found.map(viewOf) }
    },
    async list(ctx, query, window) {
      const { total, records } = await audit.list(queryFor(ctx, query), window)
      return { totalElements: total, content: records.map(recordView) }
    },
    all: (ctx, query) => viewsOf(audit.all(queryFor(ctx, query))),
    now,
    async prune(sql) {
      await quota.prune(sql)
      await audit.prune()
    },
    async deleteTenant(sql, tenantId) {
      await quota.deleteTenant(sql, tenantId)
      await audit.deleteTenant(sql, tenantId)
    },
  }
}

const viewOf = ({ samples, trafficLog, documents, traces, alerts, ...usage }: DailyUsage): DayView => ({
  ...usage,
  sampleBytes: samples,
  trafficLogBytes: trafficLog,
  documentBytes: documents,
  traceBytes: traces,
  alertBytes: alerts,
})

const recordView = ({ at, ...record }: AuditRecord): RecordView => ({
  at: at.toISOString(),
  ...(Object.fromEntries(Object.entries(record).filter(([, value]) => value !== null)) as Omit<RecordView, 'at'>),
})

async function* viewsOf(parts: AsyncIterable<AuditRecord[]>) {
  for await (const records of parts) yield records.map(recordView)
}

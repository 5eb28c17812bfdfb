/** Lists and deletes traces. */
import { Readable } from 'node:stream'
import type { Ctx } from '../../../../kernel/contract.ts'
import { invalidField } from '../../../../kernel/errors.ts'
import { visibleResources } from '../../../../kernel/permissions.ts'
import { isUuid } from '../../definitions/service/library.ts'
import * as store from '../store/traces.ts'
import type { EngineDeps } from './deps.ts'
import type { TraceView } from './executions.ts'

export interface TraceQuery {
  page: number
  size: number
  traceId?: string | undefined
  entityType?: string | undefined
  entityId?: string | undefined
  raisedOnEntityType?: string | undefined
  raisedOnEntityId?: string | undefined
  outcome?: string | undefined
  fromCreatedAt?: string | undefined
  toCreatedAt?: string | undefined
}

export interface TraceQueries {
  /** The items are read in parts while they are sent. */
  list(ctx: Ctx, query: TraceQuery): Promise<{ totalElements: number; items: AsyncIterable<TraceView> }>
  delete(ctx: Ctx, beforeDate: string | undefined): Promise<void>
}

/** Maximum number of traces in memory at a time. A trace can have some hundred kilobytes, because it contains the log of the script. */
const tracesPerRead = 100

/** The traces that match a filter are counted only up to this number. */
const countMax = 100_000

export const createTraceQueries = (deps: EngineDeps): TraceQueries => ({
  list: (ctx, query) => list(deps, ctx, query),
  async delete({ tenantId }, beforeDate) {
    const before = dateOf(deps, 'beforeDate', beforeDate)
    await deps.kit.db.tx(async (sql) => {
      await sql.withoutTimeLimit()
      await store.deleteTraces(sql, tenantId, before)
    })
  },
})

/** Parses ISO 8601, `now-15m` or milliseconds since 1970. */
export function dateOf({ timeSeries }: EngineDeps, field: string, text: string | number | undefined): Date | undefined {
  if (text === undefined) return undefined
  const time = timeSeries.timeOf(text)
  if (time === undefined) throw invalidField(field, 'expected ISO 8601, now-15m or milliseconds since 1970')
  return new Date(time)
}

async function list(deps: EngineDeps, ctx: Ctx, query: TraceQuery) {
  const filter = filterOf(deps, ctx, query)
  const isEmpty = [query.traceId, query.entityId].some((id) => id !== undefined && !isUuid(id))
  return {
    totalElements: isEmpty ? 0 : await count(deps, filter),
    items: isEmpty ? Readable.from([]) : tracesOf(deps, filter, query),
  }
}

async function* tracesOf({ kit }: EngineDeps, filter: store.TraceFilter, { page, size }: TraceQuery) {
  let after: store.TracePosition | undefined
  for (let left = size; left > 0; ) {
    const limit = Math.min(left, tracesPerRead)
    const rows = await store.findTraces(kit.db.sql, filter, { after, offset: after ? 0 : page * size, limit })
    for (const row of rows) yield viewOfRow(row)
    if (rows.length < limit) return
    after = rows.at(-1)!
    left -= limit
  }
}

function filterOf(deps: EngineDeps, { caller, tenantId }: Ctx, query: TraceQuery): store.TraceFilter {
  const { entityType, raisedOnEntityType, outcome } = query
  return {
    tenantId,
    visible: visibleResources(caller, 'rule:read', tenantId, 'rule-'),
    traceId: query.traceId,
    entityId: query.entityId,
    // `RULE_ACTION` is the older name of this type.
    entityType: entityType === 'RULE_ACTION' ? 'RULE_EXECUTION_ACTION' : entityType,
    isOnDemand: raisedOnEntityType === undefined ? undefined : raisedOnEntityType === 'ON_DEMAND',
    raisedOnId: query.raisedOnEntityId,
    isFailure: outcome === undefined ? undefined : outcome === 'FAILURE',
    from: dateOf(deps, 'fromCreatedAt', query.fromCreatedAt),
    to: dateOf(deps, 'toCreatedAt', query.toCreatedAt),
  }
}

/** Counts traces. If possible, it uses the sums by day, because counting millions of rows takes seconds. */
async function count({ kit }: EngineDeps, filter: store.TraceFilter): Promise<number> {
  const { tenantId, entityId, visible, ...rest } = filter
  const isPlain = visible === 'all' && Object.values(rest).every((value) => value === undefined)
  if (isPlain) return await store.countFromSums(kit.db.sql, { tenantId, entityId })
  return await store.countTraces(kit.db.sql, filter, countMax)
}

const viewOfRow = (row: store.TraceRow): TraceView => ({
  id: row.id,
  traceId: row.traceId,
  entityType: row.entityType,
  entityId: row.entityId,
  raisedOnEntityType: row.isOnDemand ? 'ON_DEMAND' : 'ENDPOINT',
  raisedOnEntityId: row.raisedOnId,
  outcome: row.isFailure ? 'FAILURE' : 'SUCCESS',
  ...(row.stage !== null && { stage: row.stage }),
  ...(row.reason !== null && { reason: row.reason }),
  metadata: JSON.parse(row.metadata),
  createdAt: row.createdAt,
})

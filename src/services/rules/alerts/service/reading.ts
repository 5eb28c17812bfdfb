/**
 * Lists of alerts. A caller gets the alerts of endpoints on which it holds alert:read. Alerts of the tenant require the scope on the
 * tenant.
 */
import type { Ctx } from '../../../../kernel/contract.ts'
import type { Kit } from '../../../../kernel/define-service.ts'
import { rowsOfPage } from '../../../../kernel/page-parts.ts'
import { visibleResources } from '../../../../kernel/permissions.ts'
import type { AlertView, EntityType, LifecycleEventType } from '../model.ts'
import { viewOf } from '../store/alerts.ts'
import * as store from '../store/lists.ts'
import { type AlertRef, findAlert } from './access.ts'
import { keysOfTenantMax } from './alert-limits.ts'

export type { Criteria, MetadataCriterion } from '../store/lists.ts'

/** A page of a list. Its items are read in parts while they are sent, because the metadata of alerts can be large. */
interface Listed<V> {
  totalElements: number
  items: AsyncIterable<V>
}

export interface AlertReading {
  list(ctx: Ctx, criteria: store.Criteria, page: store.AlertPage): Promise<Listed<AlertView>>
  types(ctx: Ctx, entityType: EntityType | undefined): Promise<string[]>
  metadataKeys(ctx: Ctx, kind: 'ALERT' | 'ENTITY'): Promise<string[]>
  lifecycleEvents(
    ctx: Ctx,
    alert: AlertRef,
    query: { eventType?: LifecycleEventType | undefined; descending: boolean; offset: number; limit: number },
  ): Promise<Listed<LifecycleEventView>>
}

export interface LifecycleEventView {
  id: string
  eventType: LifecycleEventType
  createdAt: Date
  userId?: string
  payload: Record<string, unknown>
}

const scope = 'alert:read'

function visibleTo({ caller, tenantId }: Ctx): store.Visible {
  const applications = visibleResources(caller, scope, tenantId, 'application-')
  const endpoints = visibleResources(caller, scope, tenantId, 'endpoint-')
  if (applications === 'all' || endpoints === 'all') return { tenantId, all: true }
  return { tenantId, all: false, applications, endpoints }
}

async function* viewsOf<R, V>(rows: AsyncIterable<R>, view: (row: R) => V): AsyncGenerator<V> {
  for await (const row of rows) yield view(row)
}

const eventView = ({ userId, ...row }: store.LifecycleEventRow): LifecycleEventView => ({
  ...row,
  ...(userId !== null && { userId }),
})

export function createAlertReading({ db: { sql } }: Pick<Kit, 'db'>): AlertReading {
  return {
    async list(ctx, criteria, page) {
      const selection = { ...visibleTo(ctx), ...criteria }
      const rows = rowsOfPage(page, {
        rows: () => store.findPage(sql, selection, page),
        ids: () => store.findPageIds(sql, selection, page),
        byIds: (ids) => store.findAlertsById(sql, ids),
      })
      return { totalElements: await store.countAlerts(sql, selection), items: viewsOf(rows, viewOf) }
    },
    types: (ctx, entityType) => store.findTypes(sql, visibleTo(ctx), entityType),
    metadataKeys: (ctx, kind) => store.findMetadataKeys(sql, visibleTo(ctx), kind, keysOfTenantMax),
    async lifecycleEvents(ctx, alert, query) {
      const { id } = await findAlert(sql, ctx, alert, scope)
      const page = { alertId: id, ...query }
      const rows = rowsOfPage(page, {
        rows: () => store.findEvents(sql, page),
        ids: () => store.findEventIds(sql, page),
        byIds: (ids) => store.findEventsById(sql, ids),
      })
      return { totalElements: await store.countEvents(sql, page), items: viewsOf(rows, eventView) }
    },
  }
}

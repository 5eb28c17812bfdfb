/**
 * Lists of alerts. A caller gets the alerts of endpoints on which it holds alert:read. Alerts of the tenant require the scope on the
 * tenant.
 */
import type { Ctx } from '../../../../kernel/contract.ts'
import type { Kit } from '../../../../kernel/define-service.ts'
import { visibleResources } from '../../../../kernel/permissions.ts'
import type { AlertView, EntityType, LifecycleEventType } from '../model.ts'
import { viewOf } from '../store/alerts.ts'
import * as store from '../store/lists.ts'
import { type AlertRef, findAlert } from './access.ts'

export type { Criteria, MetadataCriterion } from '../store/lists.ts'

export interface AlertReading {
  list(
    ctx: Ctx,
    criteria: store.Criteria,
    page: store.AlertPage,
  ): Promise<{ totalElements: number; content: AlertView[] }>
  types(ctx: Ctx, entityType: EntityType | undefined): Promise<string[]>
  metadataKeys(ctx: Ctx, kind: 'ALERT' | 'ENTITY'): Promise<string[]>
  lifecycleEvents(
    ctx: Ctx,
    alert: AlertRef,
    query: { eventType?: LifecycleEventType | undefined; descending: boolean; offset: number; limit: number },
  ): Promise<{ totalElements: number; content: LifecycleEventView[] }>
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

export function createAlertReading({ db: { sql } }: Pick<Kit, 'db'>): AlertReading {
  return {
    async list(ctx, criteria, page) {
      const selection = { ...visibleTo(ctx), ...criteria }
      const [totalElements, rows] = await Promise.all([
        store.countAlerts(sql, selection),
        store.findPage(sql, selection, page),
      ])
      return { totalElements, content: rows.map(viewOf) }
    },
    types: (ctx, entityType) => store.findTypes(sql, visibleTo(ctx), entityType),
    metadataKeys: (ctx, kind) => store.findMetadataKeys(sql, visibleTo(ctx), kind),
    async lifecycleEvents(ctx, alert, query) {
      const { id } = await findAlert(sql, ctx, alert, scope)
      const { total, rows } = await store.findEvents(sql, { alertId: id, ...query })
      const content = rows.map(({ userId, ...row }) => ({ ...row, ...(userId !== null && { userId }) }))
      return { totalElements: total, content }
    },
  }
}

/**
 * Finds an alert and checks the caller's permission on its endpoint. For alerts of the tenant itself, the permission on the tenant is
 * checked.
 */
import { authorizeOrNotFound, type Ctx } from '../../../../kernel/contract.ts'
import type { Sql } from '../../../../kernel/db.ts'
import { onTenant } from '../../../../kernel/permissions.ts'
import { endpointResource } from '../../../register/contract.ts'
import { NoAlert } from '../../errors.ts'
import type { EntityType } from '../model.ts'
import { type AlertRow, findAlert as findRow } from '../store/alerts.ts'

/** An alert, and optionally the entity that it must belong to. */
export interface AlertRef {
  alertId: string
  entityId?: string | undefined
  entityType?: EntityType | undefined
}

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i
export const isUuid = (text: string) => uuid.test(text)

export const resourceOf = ({ tenantId, entityType, entityId, applicationName }: AlertRow) =>
  entityType === 'TENANT' || applicationName === null
    ? onTenant(tenantId)
    : endpointResource({ tenantId, applicationName, endpointId: entityId })

/** Checks that the alert exists, belongs to the entity, and that the caller holds the scope. */
export function requireAlert(ctx: Ctx, alert: AlertRef, row: AlertRow | undefined, scope: string): AlertRow {
  const missing = () => NoAlert({ alertId: alert.alertId })
  if (!row) throw missing()
  authorizeOrNotFound(ctx, { read: 'alert:read', scope }, resourceOf(row), missing)
  if (alert.entityId !== undefined && alert.entityId !== row.entityId) throw missing()
  if (alert.entityType !== undefined && alert.entityType !== row.entityType) throw missing()
  return row
}

export async function findAlert(sql: Sql, ctx: Ctx, alert: AlertRef, scope: string): Promise<AlertRow> {
  const row = isUuid(alert.alertId) ? await findRow(sql, ctx.tenantId, alert.alertId) : undefined
  return requireAlert(ctx, alert, row, scope)
}

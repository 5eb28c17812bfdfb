/** Changes of single alerts by callers: acknowledgement, resolution, deletion. */
import { currentCause } from '../../../../kernel/cause.ts'
import type { Ctx } from '../../../../kernel/contract.ts'
import type { Kit } from '../../../../kernel/define-service.ts'
import { holds } from '../../../../kernel/permissions.ts'
import { NoAlert } from '../../errors.ts'
import type { Acknowledgement } from '../model.ts'
import * as store from '../store/alerts.ts'
import { type AlertRef, findAlert, isUuid, requireAlert, resourceOf } from './access.ts'
import { createEventWriter, resolve } from './changes.ts'

export interface OperationDeps {
  kit: Pick<Kit, 'db' | 'bus' | 'now' | 'newId' | 'quota'>
}

export interface BulkDeletion {
  deletedCount: number
  failedCount: number
  deleted: string[]
  failed: { alertId: string; reason: string }[]
}

/** Locks an alert and lets `work` change it. A resolved alert stays unchanged, and so does an alert for which `work` returns undefined. */
async function changeOpen(
  deps: OperationDeps,
  ctx: Ctx,
  alert: AlertRef,
  work: (
    row: store.AlertRow,
    at: Date,
  ) => { eventType: 'ACKNOWLEDGED' | 'UPDATED' | 'RESOLVED'; comment?: string } | undefined,
) {
  await findAlert(deps.kit.db.sql, ctx, alert, 'alert:update')
  const { kit } = deps
  await kit.db.tx(async (sql) => {
    const row = requireAlert(ctx, alert, await store.lockAlert(sql, ctx.tenantId, alert.alertId), 'alert:update')
    if (row.state === 'RESOLVED') return
    const at = kit.now()
    const change = work(row, at)
    if (!change) return
    const { eventType, comment } = change
    const cause = currentCause()
    const writer = createEventWriter(deps, at)
    writer.add(row, eventType, {
      userId: ctx.caller.subject.id,
      ...(comment !== undefined && { comment }),
      ...(cause !== undefined && { cause }),
    })
    await store.updateAlerts(sql, [row])
    await writer.write(sql)
  })
}

export const acknowledge = (
  deps: OperationDeps,
  ctx: Ctx,
  alert: AlertRef,
  { acknowledgement, comment }: { acknowledgement: Acknowledgement; comment?: string },
) =>
  changeOpen(deps, ctx, alert, (row) => {
    const isAcknowledged = acknowledgement === 'ACKNOWLEDGED'
    if (row.isAcknowledged === isAcknowledged) return undefined
    row.isAcknowledged = isAcknowledged
    return { eventType: isAcknowledged ? 'ACKNOWLEDGED' : 'UPDATED', ...(comment !== undefined && { comment }) }
  })

export const resolveByCaller = (deps: OperationDeps, ctx: Ctx, alert: AlertRef, reason: string | undefined) =>
  changeOpen(deps, ctx, alert, (row, at) => {
    resolve(row, reason, at)
    return { eventType: 'RESOLVED' }
  })

export async function deleteOne(deps: OperationDeps, ctx: Ctx, alert: AlertRef) {
  const { id } = await findAlert(deps.kit.db.sql, ctx, alert, 'alert:delete')
  await store.deleteAlerts(deps.kit.db.sql, ctx.tenantId, [id])
}

export async function deleteAll({ kit }: OperationDeps, ctx: Ctx, alertIds: string[]): Promise<BulkDeletion> {
  const ids = [...new Set(alertIds)]
  const known = new Map(
    (
      await store.findAlerts(
        kit.db.sql,
        ctx.tenantId,
        ids.filter((id) => isUuid(id)),
      )
    ).map((row) => [row.id, row]),
  )
  const failed: BulkDeletion['failed'] = []
  const permitted: string[] = []
  for (const alertId of ids) {
    const row = known.get(alertId.toLowerCase())
    const hasScope = (scope: string) => row !== undefined && holds(ctx.caller, scope, resourceOf(row))
    if (row && hasScope('alert:delete')) permitted.push(row.id)
    else if (hasScope('alert:read'))
      failed.push({ alertId, reason: 'The caller does not hold the scope alert:delete on the alert' })
    else failed.push({ alertId, reason: NoAlert({ alertId }).message })
  }
  const deleted = await store.deleteAlerts(kit.db.sql, ctx.tenantId, permitted)
  const gone = new Set(deleted)
  for (const alertId of permitted)
    if (!gone.has(alertId)) failed.push({ alertId, reason: NoAlert({ alertId }).message })
  return { deletedCount: deleted.length, failedCount: failed.length, deleted, failed }
}

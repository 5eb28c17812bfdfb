import { causeOf } from '../chain.ts'
import { alertTypeOf, entityOf, messageOf } from './alert-results.ts'
import type { ActionDeps } from './deps.ts'
import type { ActionOutcome, ActionRun } from './executor.ts'

/** Resolves the open alert with the entity and type of the action. If there is none, the action succeeds and changes nothing. */
export async function alertResolution({ alerts }: ActionDeps, run: ActionRun): Promise<ActionOutcome> {
  const entity = entityOf(run)
  const alertType = await alertTypeOf(run)
  const reason = await messageOf(run)
  const resolution = { alertType, ...entity, ...(reason !== undefined && { reason }) }
  if (run.run.isTry) return { outcome: 'SUCCESS', wouldDo: resolution }
  const { tenantId } = run.run
  const alertId = await alerts.resolveOpen({ ...resolution, tenantId, cause: causeOf(run.run) })
  return { outcome: 'SUCCESS', ...(alertId !== undefined && { metadata: { alertId, change: 'RESOLVED' } }) }
}

import { type Severity, severities } from '../alerts/model.ts'
import { causeOf } from '../chain.ts'
import { AlertRefused } from '../errors.ts'
import { alertTypeOf, entityOf, messageOf } from './alert-results.ts'
import type { ActionDeps } from './deps.ts'
import type { ActionOutcome, ActionRun } from './executor.ts'
import { ActionFailed, read, readConstantOrExpression, storableObjectOf } from './results.ts'

/** Opens an alert with the entity and type of the action. If such an alert is already open, it is renewed instead (document 5, 5.15). */
export async function alertActivation({ alerts }: ActionDeps, run: ActionRun): Promise<ActionOutcome> {
  const entity = entityOf(run)
  const alertType = await alertTypeOf(run)
  const severityLevel = severityOf(await readConstantOrExpression(run, 'severityLevel'))
  const message = await messageOf(run)
  const metadataValue = await read(run, 'metadataExpression')
  const metadata =
    metadataValue === undefined || metadataValue === null
      ? undefined
      : storableObjectOf('metadataExpression', metadataValue)
  const activation = { alertType, severityLevel, ...entity, ...(message !== undefined && { message }), metadata }
  if (run.run.isTry) return { outcome: 'SUCCESS', wouldDo: activation }
  const { alertSettingId } = run.action
  const { alertId, change } = await alerts
    .activate({
      ...activation,
      tenantId: run.run.tenantId,
      ...(entity.entityType === 'ENDPOINT' && { applicationName: run.run.endpoint!.applicationName }),
      alertSettingId,
      cause: causeOf(run.run),
    })
    .catch((error: unknown) => {
      throw AlertRefused.is(error) ? new ActionFailed((error as Error).message) : error
    })
  return { outcome: 'SUCCESS', metadata: { alertId, change } }
}

function severityOf(value: unknown): Severity {
  if (value === undefined || value === null) return 'MEDIUM'
  const severity = severities.find((level) => level === value)
  if (!severity) throw new ActionFailed(`severityLevel: expected ${severities.join(', ')}`)
  return severity
}

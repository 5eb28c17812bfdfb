/** Reads and checks the attributes that both alert actions have: the entity, the type and the message of the alert. */
import type { EntityType } from '../alerts/model.ts'
import type { ActionRun } from './executor.ts'
import { ActionFailed, readConstantOrExpression, textOrJson } from './results.ts'

const messageMax = 4000

export function entityOf({ action, run }: ActionRun): { entityType: EntityType; entityId: string } {
  if (action.fields.entityType === 'TENANT') return { entityType: 'TENANT', entityId: run.tenantId }
  if (!run.endpoint) throw new ActionFailed('the run has no endpoint, and entityType is not TENANT')
  return { entityType: 'ENDPOINT', entityId: run.endpoint.endpointId }
}

export async function alertTypeOf(run: ActionRun): Promise<string> {
  const value = await readConstantOrExpression(run, 'alertType')
  if (typeof value !== 'string' || !/^[A-Za-z0-9_.-]{1,100}$/.test(value))
    throw new ActionFailed('alertType: expected 1 to 100 letters, digits, _, . and -')
  return value
}

export async function messageOf(run: ActionRun): Promise<string | undefined> {
  const value = await readConstantOrExpression(run, 'message')
  if (value === undefined || value === null) return undefined
  const text = textOrJson(value).replaceAll('\0', ' ').toWellFormed()
  if (text.length > messageMax) throw new ActionFailed(`message: expected at most ${messageMax} characters`)
  return text
}

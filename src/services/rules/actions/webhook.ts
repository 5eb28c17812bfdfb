import type { WebhookContent } from '../deliveries/webhook.ts'
import { idOfMessage } from '../engine/derived-ids.ts'
import { pendingAction } from '../engine/traces.ts'
import type { ActionDeps } from './deps.ts'
import type { ActionOutcome, ActionRun } from './executor.ts'
import { ActionFailed, headersOf, payloadOf, read, webhookUrlOf } from './results.ts'

/** Adds a POST request to the deliveries, which are sent in the background (document 5, 5.11). */
export async function webhook(deps: ActionDeps, run: ActionRun): Promise<ActionOutcome> {
  const { kit, deliveries } = deps
  const url = webhookUrlOf('webhookUrl', await read(run, 'webhookUrl'), kit.platform.allowPrivateAddresses)
  const headers = headersOf('headersExpression', await read(run, 'headersExpression'))
  const body = payloadOf(await read(run, 'webhookPayloadExpression'))
  const request = { url: url.href, headers: { 'content-type': 'application/json', ...headers }, body }
  if (run.run.isTry) return { outcome: 'SUCCESS', wouldDo: { method: 'POST', ...request } }
  const signingKey = await signingKeyOf(deps, run)
  const content: WebhookContent = { ...request, ...(signingKey !== undefined && { signingKey }) }
  const accepted = await deliveries.add({
    // The id of a run is derived from its event, so a repeated event does not send the webhook again.
    id: run.run.id,
    type: 'webhook',
    host: url.host,
    content: JSON.stringify(content),
    action: { ...pendingAction(run.run, run.action), deliveryId: idOfMessage(run.run.id, body) },
    retries: retriesOf(run.action.fields.retryConfig),
    storedEvent: run.storedEvent,
  })
  if (!accepted.accepted) throw new ActionFailed(accepted.reason)
  const { ended, settled } = accepted
  return { outcome: 'PENDING', ...(ended && { ended }), ...(settled && { settled }) }
}

async function signingKeyOf({ secretValue }: ActionDeps, { action, run }: ActionRun): Promise<string | undefined> {
  const name = action.fields.signingSecretName
  if (typeof name !== 'string') return undefined
  const value = await secretValue(run.tenantId, name)
  if (value === undefined) throw new ActionFailed(`signingSecretName: there is no secret ${name}`)
  return value
}

interface RetryConfig {
  maxAttempts?: number
  timeoutMs?: number
  backoffMultiplier?: number
}

function retriesOf(config: unknown) {
  const { maxAttempts = 1, timeoutMs = 1000, backoffMultiplier = 2 } = (config ?? {}) as RetryConfig
  return { attemptsMax: maxAttempts, waitMs: timeoutMs, waitFactor: backoffMultiplier }
}

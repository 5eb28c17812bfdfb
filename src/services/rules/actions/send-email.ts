import { noMailServer } from '../../../kernel/mail.ts'
import type { EmailContent } from '../deliveries/email.ts'
import { pendingAction } from '../engine/traces.ts'
import type { ActionDeps } from './deps.ts'
import { attachmentOf, recipientsOf, subjectOf } from './email-results.ts'
import type { ActionOutcome, ActionRun } from './executor.ts'
import { ActionFailed, read, textOrJson } from './results.ts'

/** Stores an e-mail, which is sent in the background. */
export async function sendEmail(deps: ActionDeps, run: ActionRun): Promise<ActionOutcome> {
  const { deliveries, emailRetries, hasMailServer } = deps
  const to = recipientsOf('recipientsExpression', await read(run, 'recipientsExpression'))
  const subject = subjectOf('subjectExpression', await read(run, 'subjectExpression'))
  const text = textOrJson(await read(run, 'textExpression'))
  const attachment = attachmentOf('attachmentExpression', await read(run, 'attachmentExpression'))
  const isHtml = run.action.fields.contentType === 'HTML'
  const content: EmailContent = { to, subject, text, isHtml, ...(attachment && { attachment }) }
  if (run.run.isTry) {
    const { isHtml: _, ...message } = content
    return { outcome: 'SUCCESS', wouldDo: { ...message, contentType: isHtml ? 'HTML' : 'TEXT' } }
  }
  if (!hasMailServer) throw new ActionFailed(noMailServer)
  const accepted = await deliveries.add({
    // The id of a run is derived from its event, so a repeated event does not send the e-mail again.
    id: run.run.id,
    type: 'send-email',
    host: 'smtp',
    content: JSON.stringify(content),
    action: pendingAction(run.run, run.action),
    retries: emailRetries,
  })
  if (!accepted.accepted) throw new ActionFailed(accepted.reason)
  return { outcome: 'PENDING', ...(accepted.ended && { ended: accepted.ended }) }
}

/** All action types. */
import type { ActionType } from '../model.ts'
import { type ActionTypeDefinition, literalValue } from './action-types/action-type.ts'
import { alertActivation } from './action-types/alert-activation.ts'
import { alertResolution } from './action-types/alert-resolution.ts'
import { commandInvocation } from './action-types/command-invocation.ts'
import { dataSample } from './action-types/data-sample.ts'
import { metadataUpdate } from './action-types/metadata-update.ts'
import { ruleExecution } from './action-types/rule-execution.ts'
import { sendEmail } from './action-types/send-email.ts'
import { timeSeries } from './action-types/time-series.ts'
import { webhook } from './action-types/webhook.ts'

export const actionTypeDefinitions: Record<ActionType, ActionTypeDefinition> = {
  webhook,
  'rule-execution': ruleExecution,
  'send-email': sendEmail,
  'command-invocation': commandInvocation,
  'metadata-update': metadataUpdate,
  'data-sample': dataSample,
  'time-series': timeSeries,
  'alert-activation': alertActivation,
  'alert-resolution': alertResolution,
}

/** Returns the value of a literal attribute. It is text, or parsed JSON if the attribute expects JSON. */
export function valueOfLiteral(type: ActionType, attribute: string, text: string): unknown {
  const kind = actionTypeDefinitions[type].attributes[attribute]?.literal ?? 'text'
  return literalValue(kind, text)?.value
}

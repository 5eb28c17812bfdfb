/** The executors of actions, one for each type. */
import type { ActionType } from '../model.ts'
import { alertActivation } from './alert-activation.ts'
import { alertResolution } from './alert-resolution.ts'
import { commandInvocation } from './command-invocation.ts'
import { dataSample } from './data-sample.ts'
import type { ActionDeps } from './deps.ts'
import type { ActionOutcome, ActionRun, Executor } from './executor.ts'
import { metadataUpdate } from './metadata-update.ts'
import { ActionFailed } from './results.ts'
import { ruleExecution } from './rule-execution.ts'
import { sendEmail } from './send-email.ts'
import { timeSeries } from './time-series.ts'
import { webhook } from './webhook.ts'

export function createExecutors(deps: ActionDeps): Record<ActionType, Executor> {
  const executors: Record<ActionType, (deps: ActionDeps, run: ActionRun) => Promise<ActionOutcome>> = {
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
  const guarded = (execute: (typeof executors)[ActionType]) => async (run: ActionRun) => {
    try {
      return await execute(deps, run)
    } catch (error) {
      if (!(error instanceof ActionFailed)) throw error
      const { stage, message: reason, metadata } = error
      return { outcome: 'FAILURE' as const, stage, reason, ...(metadata && { metadata }) }
    }
  }
  return Object.fromEntries(Object.entries(executors).map(([type, execute]) => [type, guarded(execute)])) as Record<
    ActionType,
    Executor
  >
}

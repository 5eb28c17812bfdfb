import type { ActionDeps } from './deps.ts'
import type { ActionOutcome, ActionRun } from './executor.ts'

/** Executes another rule with the same trigger and endpoint, one level deeper in the chain. */
export async function ruleExecution({ executeRule }: ActionDeps, run: ActionRun): Promise<ActionOutcome> {
  const ruleId = String(run.action.fields.ruleId)
  if (run.run.isTry) return { outcome: 'SUCCESS', wouldDo: { ruleId } }
  return await executeRule(ruleId, run)
}

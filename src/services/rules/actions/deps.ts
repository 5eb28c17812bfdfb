/** The dependencies of action executors. */
import type { Kit } from '../../../kernel/define-service.ts'
import type { Commands } from '../../commands/contract.ts'
import type { Register } from '../../register/contract.ts'
import type { TimeSeries } from '../../time-series/contract.ts'
import type { Alerts } from '../alerts/alerts.ts'
import type { Deliveries } from '../deliveries/deliveries.ts'
import type { Retries } from '../deliveries/model.ts'
import type { Effects } from './effects.ts'
import type { ActionOutcome, ActionRun } from './executor.ts'

export interface ActionDeps {
  kit: Pick<Kit, 'system' | 'now' | 'platform'>
  register: Register
  commands: Commands
  timeSeries: TimeSeries
  alerts: Alerts
  deliveries: Deliveries
  effects: Effects
  /** The number of attempts for e-mails, and the waits between them. */
  emailRetries: Retries
  /** True if WAYPOST_SMTP_URL is set. */
  hasMailServer: boolean
  /** Returns the value of the tenant's secret with this name; undefined if no secret has this name. */
  secretValue(tenantId: string, name: string): Promise<string | undefined>
  /** Executes a rule one level deeper in the chain of the current run. The engine provides this function. */
  executeRule(ruleId: string, run: ActionRun): Promise<ActionOutcome>
}

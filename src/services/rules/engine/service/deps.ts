import type { Kit } from '../../../../kernel/define-service.ts'
import type { Sandbox } from '../../../../sandbox/sandbox.ts'
import type { Register } from '../../../register/contract.ts'
import type { TimeSeries } from '../../../time-series/contract.ts'
import type { RulesSettings } from '../../settings.ts'
import type { HostDeps } from '../context/host.ts'
import type { Ledger } from '../ledger.ts'
import type { Library } from '../library.ts'
import type { Runner } from '../run.ts'

/** Everything that the operations of the engine need. */
export interface EngineDeps {
  kit: Kit<RulesSettings>
  register: Register
  timeSeries: TimeSeries
  sandbox: Pick<Sandbox, 'run' | 'check'>
  host: HostDeps
  library: Library
  ledger: Ledger
  run: Runner
}

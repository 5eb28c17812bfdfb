import type { Identity } from '../../../../identity/contract.ts'
import type { Kit } from '../../../../kernel/define-service.ts'
import type { Sandbox } from '../../../../sandbox/sandbox.ts'
import type { Applications } from '../../../applications/contract.ts'
import type { Register } from '../../../register/contract.ts'
import type { RulesSettings } from '../../settings.ts'
import type { Changes } from '../changes.ts'

export interface DefinitionsPartDeps {
  kit: Kit<RulesSettings>
  identity: Identity
  applications: Applications
  register: Register
  /** Checks the syntax of a script in the sandbox that also runs it. */
  check: Sandbox['check']
}

export interface Deps extends DefinitionsPartDeps {
  changes: Changes
}

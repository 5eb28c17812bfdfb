/** Checks scripts when they are written (document 5, 5.4). */
import { currentCause } from '../../../../kernel/cause.ts'
import type { Ctx } from '../../../../kernel/contract.ts'
import { invalidField } from '../../../../kernel/errors.ts'
import { failureText } from '../../../../sandbox/outcome.ts'
import { SandboxBusy } from '../../../../sandbox/sandbox.ts'
import { ScriptsBusy } from '../../errors.ts'
import type { Deps } from './deps.ts'

/** Throws a 400 with line and column if the text is not a valid script. */
export async function checkScript({ check }: Pick<Deps, 'check'>, { tenantId }: Ctx, field: string, script: string) {
  try {
    const checked = await check({ tenantId, script, isNested: currentCause() !== undefined })
    if (!checked.ok) throw invalidField(field, failureText(checked))
  } catch (error) {
    throw error instanceof SandboxBusy ? ScriptsBusy() : error
  }
}

/** Checks scripts when they are written (document 5, 5.4). */
import { currentCause } from '../../../../kernel/cause.ts'
import type { Ctx } from '../../../../kernel/contract.ts'
import { invalidField } from '../../../../kernel/errors.ts'
import { type Checked, failureText } from '../../../../sandbox/outcome.ts'
import { SandboxBusy } from '../../../../sandbox/sandbox.ts'
import { ScriptsBusy } from '../../errors.ts'
import type { Deps } from './deps.ts'

/** Throws a 400 with line and column if the text is not a valid script. */
export async function checkScript(deps: Pick<Deps, 'check'>, ctx: Ctx, field: string, script: string) {
  const checked = await checkedScript(deps, ctx, script)
  if (!checked.ok) throw invalidField(field, failureText(checked))
}

/** Parses a text as a script. Throws if too many scripts of the tenant are waiting. */
export async function checkedScript(
  { check }: Pick<Deps, 'check'>,
  { tenantId }: Ctx,
  script: string,
): Promise<Checked> {
  try {
    return await check({ tenantId, script, isNested: currentCause() !== undefined })
  } catch (error) {
    throw error instanceof SandboxBusy ? ScriptsBusy() : error
  }
}

/** Tests evaluations while the sandbox is busy. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aTenantAdmin } from '../../../../../test/harness/builders.ts'
import type { Ctx } from '../../../../kernel/contract.ts'
import { newId } from '../../../../kernel/ids.ts'
import { createSandbox } from '../../../../sandbox/sandbox.ts'
import { ScriptsBusy } from '../../errors.ts'
import { ruleWorld } from '../context/world.ts'
import type { EngineDeps } from './deps.ts'
import { createExecutions } from './executions.ts'

test('an evaluation is answered with 429 while too many scripts of the tenant wait', async () => {
  const sandbox = createSandbox({ worlds: { rule: ruleWorld }, queuePerTenant: 1 })
  const deps: Partial<EngineDeps> = { sandbox, kit: { now: () => new Date(), newId } as EngineDeps['kit'] }
  const { evaluate } = createExecutions({ host: {}, ...deps } as EngineDeps)
  const ctx = { tenantId: 'default', caller: aTenantAdmin() } as Ctx
  try {
    const [first, second] = await Promise.allSettled([1, 2].map((n) => evaluate(ctx, { expression: `return ${n}` })))
    assert.deepEqual(first, { status: 'fulfilled', value: 1 })
    assert.ok(second!.status === 'rejected' && ScriptsBusy.is(second!.reason))
  } finally {
    await sandbox.stop()
  }
})

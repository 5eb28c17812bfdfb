import type { ActionDeps } from './deps.ts'
import { effectKey } from './effects.ts'
import { forEach, targetsOf } from './endpoints.ts'
import type { ActionOutcome, ActionRun } from './executor.ts'
import { ActionFailed, read } from './results.ts'

/**
 * Invokes a command. Without `awaitTimeout`, the action succeeds as soon as the command is stored; with it, only if the device answers with
 * 2xx in time.
 */
export async function commandInvocation(deps: ActionDeps, run: ActionRun): Promise<ActionOutcome> {
  const { kit, register, commands, effects } = deps
  const { fields } = run.action
  const targets = await targetsOf(run, register)
  const commandType = commandTypeOf(fields.commandType)
  const payload = await read(run, 'commandPayloadExpression')
  const commandTtl = numberOf(fields.commandTtl)
  const awaitTimeout = numberOf(fields.awaitTimeout) ?? 0
  const command = {
    commandType,
    ...(payload !== undefined && { payload }),
    ...(commandTtl !== undefined && { commandTtl }),
  }
  if (run.run.isTry) {
    const endpointIds = targets.endpoints.map(({ endpointId }) => endpointId)
    return { outcome: 'SUCCESS', wouldDo: { endpointIds, ...command, ...(awaitTimeout > 0 && { awaitTimeout }) } }
  }
  const system = kit.system(run.run.tenantId)
  const ctx = { ...system, signal: AbortSignal.any([system.signal, run.signal]) }
  return await forEach(targets, async ({ endpointId }) => {
    let result: Record<string, unknown> | undefined
    await effects.once(effectKey(run, endpointId), async () => {
      if (awaitTimeout === 0) {
        result = { commandId: await commands.invoke(ctx, { endpointId, ...command }) }
        return
      }
      const awaited = await commands.invokeAndWait(ctx, { endpointId, ...command }, awaitTimeout * 1000)
      result = { ...awaited }
    })
    if (awaitTimeout > 0 && result) requireSuccess(result, awaitTimeout)
    return result
  })
}

function requireSuccess({ commandId, status, statusCode }: Record<string, unknown>, awaitTimeout: number) {
  if (status !== 'EXECUTED') throw new ActionFailed(`command ${commandId} had no result within ${awaitTimeout} s`)
  if (typeof statusCode !== 'number' || statusCode < 200 || statusCode > 299)
    throw new ActionFailed(`the device answered command ${commandId} with ${statusCode}`)
}

function commandTypeOf(value: unknown): string {
  if (typeof value !== 'string' || !/^[A-Za-z0-9_-]{1,255}$/.test(value))
    throw new ActionFailed('commandType: expected 1 to 255 letters, digits, _ and -')
  return value
}

const numberOf = (value: unknown) => (typeof value === 'number' ? value : undefined)

/** Executes the steps of a plan, one after the other, and reports each. */
import type { Client } from '../../../sdk/src/index.ts'
import { exitCodeOf } from '../api/errors.ts'
import { visible } from '../api/visible.ts'
import { print } from '../output.ts'
import { stepKey } from './kind.ts'
import type { Ownership } from './ownership.ts'
import { requireUnchanged, type Step } from './plan.ts'

const done = { create: 'created', change: 'changed', delete: 'deleted', keep: 'unchanged' } as const

/** Returns the failed steps. A step that depends on a failed object fails too, and is reported in the same way. */
export async function runSteps(client: Client, steps: Step[], ownership: Ownership) {
  const failed: { step: Step; exitCode: number }[] = []
  const owned = new Set(ownership.owned)
  for (const step of steps) {
    if (step.action === 'keep') continue
    const name = stepKey(step.kind.name, step.key)
    try {
      await runStep(client, step)
      if (step.action === 'create') owned.add(name)
      if (step.action === 'delete') owned.delete(name)
      print(`${done[step.action]} ${visible(name)}`)
    } catch (error) {
      failed.push({ step, exitCode: exitCodeOf(error) })
      print(`FAILED ${visible(name)}: ${visible((error as Error).message)}`)
    }
  }
  await ownership.write([...owned])
  return failed
}

async function runStep(client: Client, step: Step) {
  const { action, kind, fields, found } = step
  if (action === 'create') return await kind.create(client, fields)
  if (found!.etag === undefined || action === 'delete') await requireUnchanged(client, step)
  if (action === 'delete') return await kind.delete(client, found!)
  return await kind.update(client, found!, fields)
}

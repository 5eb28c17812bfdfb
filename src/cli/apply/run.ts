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
  const attempt = async (step: Step, work: (name: string) => Promise<void>) => {
    const name = stepKey(step.kind.name, step.key)
    try {
      await work(name)
    } catch (error) {
      failed.push({ step, exitCode: exitCodeOf(error) })
      print(`FAILED ${visible(name)}: ${visible((error as Error).message)}`)
    }
  }
  // Objects to delete are checked before the first step, because deleting one object also removes it from those that refer to it.
  const deleted = steps.filter(({ action }) => action === 'delete')
  for (const step of deleted) await attempt(step, () => requireUnchanged(client, step))
  const incomplete: Step[] = []
  for (const step of steps.filter(({ action }) => action !== 'keep')) {
    if (failed.some((one) => one.step === step)) continue
    await attempt(step, async (name) => {
      await runStep(client, step)
      if (step.action === 'create') owned.add(name)
      if (step.action === 'delete') owned.delete(name)
      else incomplete.push(step)
      print(`${done[step.action]} ${visible(name)}`)
    })
  }
  for (const step of incomplete) await attempt(step, async () => step.kind.complete?.(client, step.fields))
  await ownership.write([...owned])
  return failed
}

async function runStep(client: Client, step: Step) {
  const { action, kind, fields, found } = step
  if (action === 'create') return await kind.create(client, fields)
  if (action === 'change' && found!.etag === undefined) await requireUnchanged(client, step)
  if (action === 'delete') return await kind.delete(client, found!)
  return await kind.update(client, found!, fields)
}

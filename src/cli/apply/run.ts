/** Executes the steps of a plan, one after the other, and reports each. */
import type { Client } from '../../../sdk/src/index.ts'
import { newId } from '../../kernel/ids.ts'
import { exitCodeOf } from '../api/errors.ts'
import { visible } from '../api/visible.ts'
import { print } from '../output.ts'
import { type Creation, isCreatedBy } from './creation.ts'
import { stepKey } from './kind.ts'
import type { Owned, Ownership } from './ownership.ts'
import { checkOf, readExisting, requireUnchanged, type Step } from './plan.ts'

const done = { create: 'created', change: 'changed', delete: 'deleted', keep: 'unchanged' } as const

const nameOf = ({ kind, key }: Step) => stepKey(kind.name, key)

interface Failed {
  step: Step
  exitCode: number
}

/**
 * Runs the steps. Returns the failed steps, and the number of steps that were not begun because of `stop`. A step that depends on a failed
 * object fails too, and is reported in the same way.
 */
export async function runSteps(
  client: Client,
  steps: Step[],
  ownership: Omit<Ownership, 'owned'>,
  stop?: AbortSignal,
): Promise<{ failed: Failed[]; skipped: number }> {
  const changing = steps.filter(({ action }) => action !== 'keep')
  if (!(await ownership.lock(stop))) return { failed: [], skipped: changing.length }
  try {
    return await runLocked(client, steps, ownership, stop)
  } finally {
    ownership.stopRenewing()
  }
}

async function runLocked(
  client: Client,
  steps: Step[],
  ownership: Omit<Ownership, 'owned'>,
  stop: AbortSignal | undefined,
) {
  const failed: Failed[] = []
  const skipped: Step[] = []
  const attempt = async (step: Step, work: () => unknown) => {
    try {
      await work()
    } catch (error) {
      failed.push({ step, exitCode: exitCodeOf(error) })
      print(`FAILED ${visible(nameOf(step))}: ${visible((error as Error).message)}`)
    }
  }
  const succeeded = (action: Step['action']) =>
    steps
      .filter((step) => step.action === action && !skipped.includes(step) && !failed.some((one) => one.step === step))
      .map(nameOf)

  // Creations are checked because some kinds permit several objects with one name: an object that another client has just created would be
  // created twice. All deletions are checked before the first one, because a deletion changes the objects that refer to its object.
  const checked = steps.filter(({ action }) => action === 'create' || action === 'delete')
  const check = await checkOf(client, checked)
  for (const step of checked) await attempt(step, () => check(step))
  const interrupted = await settleInterrupted(client, steps, ownership.begun)
  const creations = succeeded('create').map((name): Creation => ({ name, correlationId: newId() }))
  await ownership.begin(creations)
  const incomplete: Step[] = []
  for (const step of steps.filter(({ action }) => action !== 'keep')) {
    if (failed.some((one) => one.step === step)) continue
    if (stop?.aborted) {
      skipped.push(step)
      continue
    }
    await ownership.requireLease()
    await attempt(step, async () => {
      await runStep(client, step, creations)
      if (step.action !== 'delete') incomplete.push(step)
      print(`${done[step.action]} ${visible(nameOf(step))}`)
    })
  }
  const created = new Set(succeeded('create'))
  const notBegun = new Set(skipped.map(nameOf))
  for (const step of incomplete) await attempt(step, async () => step.kind.complete?.(client, step.fields))
  const createdSteps = steps.filter((step) => step.action === 'create' && created.has(nameOf(step)))
  await ownership.end({
    created: [...(await ownedOf(client, createdSteps)), ...interrupted.created],
    deleted: succeeded('delete'),
    // A creation that failed may have happened, if its response was lost. The next apply finds out.
    settled: [...creations.filter(({ name }) => created.has(name) || notBegun.has(name)), ...interrupted.settled],
  })
  return { failed, skipped: skipped.length }
}

/**
 * Finds out which of the objects in the documents an interrupted apply has created. An object that another caller has created with the same
 * name stays the object of that caller, so that `--prune` does not delete it.
 */
async function settleInterrupted(client: Client, steps: Step[], begun: Creation[]) {
  const created: Owned[] = []
  const settled: Creation[] = []
  for (const { kind, key, found } of steps)
    for (const creation of begun.filter(({ name }) => name === stepKey(kind.name, key))) {
      const isOwn = found !== undefined && (await isCreatedBy(client, creation, found))
      if (isOwn === undefined) print(unknownCreator(creation.name))
      else settled.push(creation)
      if (isOwn) created.push({ name: creation.name, identity: found!.identity })
    }
  return { created, settled }
}

const unknownCreator = (name: string) =>
  `note: an interrupted apply may have created ${visible(name)}; --prune deletes it only after an apply by a login with the scope tenant:audit:read`

/** Reads the identities of created objects. If several objects have the same name, none is recorded, so that none is ever deleted. */
async function ownedOf(client: Client, steps: Step[]): Promise<Owned[]> {
  const existing = await readExisting(client, [...new Set(steps.map(({ kind }) => kind))])
  return steps.flatMap((step) => {
    const name = nameOf(step)
    const [found, ...others] = existing.all(name)
    return found && others.length === 0 ? [{ name, identity: found.identity }] : []
  })
}

async function runStep(client: Client, step: Step, creations: Creation[]) {
  const { action, kind, fields, found } = step
  if (action === 'create') {
    const { correlationId } = creations.find(({ name }) => name === nameOf(step))!
    return await kind.create(client, fields, { correlationId })
  }
  if (action === 'change' && found!.etag === undefined) await requireUnchanged(client, step)
  if (action === 'delete') return await kind.delete(client, found!)
  return await kind.update(client, found!, fields)
}

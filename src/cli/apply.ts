import { createInterface } from 'node:readline/promises'
import { parseArgs } from 'node:util'
import { connect, tenantOf } from './api/connection.ts'
import { CommandError, interruption, usageError } from './api/errors.ts'
import { describeSteps, summaryOf } from './apply/describe.ts'
import { readDocuments } from './apply/documents.ts'
import { stepKey } from './apply/kind.ts'
import { readOwnership, requireSetName } from './apply/ownership.ts'
import { planOf } from './apply/plan.ts'
import { runSteps } from './apply/run.ts'
import { print } from './output.ts'
import { listenForStop } from './stop-request.ts'

export const usage = `usage: waypost apply -f <file or folder> [--yes] [--prune] [--set default]

Creates and changes what the documents describe. It shows the plan, does exactly that, and reports each object.

  -f <path>         file or folder of YAML documents; can be repeated; - is standard input
  --yes             do not ask
  --prune           also delete the objects of an earlier apply that no document contains any more
  --set <name>      name of the set that the objects belong to; default: default
  --context <name>  use another login
`

export async function run(args: string[]): Promise<number> {
  const { values } = parseArgs({
    args,
    options: {
      file: { type: 'string', short: 'f', multiple: true },
      yes: { type: 'boolean', default: false },
      prune: { type: 'boolean', default: false },
      set: { type: 'string', default: 'default' },
      context: { type: 'string' },
    },
  })
  if (!values.file) throw usageError('-f is missing', usage)
  requireSetName(values.set)
  const documents = await readDocuments(values.file)
  const { client, chosen } = await connect({ context: values.context })
  const ownership = await readOwnership(client, await tenantOf(client, chosen), values.set)
  const steps = await planOf(client, documents, values.prune ? ownership : {})
  for (const line of describeSteps(steps)) print(line)
  print(summaryOf(steps))
  const isAdopting = steps.some(({ kind, key }) => ownership.begun.some(({ name }) => name === stepKey(kind.name, key)))
  const changesNothing = steps.every(({ action }) => action === 'keep')
  if (changesNothing && !isAdopting) return 0
  if (!changesNothing && !values.yes) await confirm()
  // All steps run even if the program that reads the output has ended, for example after `| head`.
  process.stdout.removeAllListeners('error').on('error', () => {})
  const { failed, skipped } = await runSteps(client, steps, ownership, listenForStop().signal)
  if (skipped > 0)
    throw interruption(`the remaining steps (${skipped}) were not done; run apply again to complete the changes`)
  if (failed.length === 0) return 0
  const [first] = failed
  throw new CommandError(`${failed.length} of the steps failed; apply again after the cause is gone`, first!.exitCode)
}

async function confirm() {
  if (!process.stdin.isTTY) throw usageError('this is not a terminal, so nobody can confirm the plan; give --yes')
  const lines = createInterface({ input: process.stdin, output: process.stderr })
  // At Ctrl-C or Ctrl-D, the terminal closes the input, and the question gets no answer.
  const closed = new Promise<undefined>((resolve) => void lines.once('close', () => resolve(undefined)))
  const asked = lines.question('Do this? Type yes: ').catch(() => undefined)
  const answer = await Promise.race([asked, closed])
  lines.close()
  if (answer === undefined) throw interruption('nothing was changed')
  if (answer.trim() !== 'yes') throw new CommandError('nothing was changed')
}

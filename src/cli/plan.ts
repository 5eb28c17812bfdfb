import { parseArgs } from 'node:util'
import { connect, tenantOf } from './api/connection.ts'
import { usageError } from './api/errors.ts'
import { describeSteps, summaryOf } from './apply/describe.ts'
import { readDocuments } from './apply/documents.ts'
import { readOwnership, requireSetName } from './apply/ownership.ts'
import { planOf } from './apply/plan.ts'
import { print } from './output.ts'

export const usage = `usage: waypost plan -f <file or folder> [--prune] [--set default]

Shows what waypost apply would create, change and delete, and how many endpoints that concerns. It changes nothing.

  -f <path>         file or folder of YAML documents; can be repeated; - is standard input
  --prune           also show the objects of an earlier apply that no document contains any more
  --set <name>      name of the set that an apply belongs to; default: default
  --context <name>  use another login
`

export async function run(args: string[]): Promise<number> {
  const { values } = parseArgs({
    args,
    options: {
      file: { type: 'string', short: 'f', multiple: true },
      prune: { type: 'boolean', default: false },
      set: { type: 'string', default: 'default' },
      context: { type: 'string' },
    },
  })
  if (!values.file) throw usageError('-f is missing', usage)
  requireSetName(values.set)
  const documents = await readDocuments(values.file)
  const { client, chosen } = await connect({ context: values.context })
  const ownership = values.prune ? await readOwnership(client, await tenantOf(client, chosen), values.set) : {}
  const steps = await planOf(client, documents, ownership)
  for (const line of describeSteps(steps)) print(line)
  print(summaryOf(steps))
  return 0
}

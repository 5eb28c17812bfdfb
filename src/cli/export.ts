import { parseArgs } from 'node:util'
import { connect } from './api/connection.ts'
import { usageError } from './api/errors.ts'
import { write } from './api/print.ts'
import { findKind, kinds } from './apply/kinds.ts'

export const usage = `usage: waypost export [--kind <kind>] …

Writes the objects of the tenant as YAML that waypost apply reads. Values of secrets are not part of it: objects refer to them by name.

  --kind <kind>     only this kind; can be repeated; default: all
  --context <name>  use another login
`

export async function run(args: string[]): Promise<number> {
  const { values } = parseArgs({
    args,
    options: { kind: { type: 'string', multiple: true }, context: { type: 'string' } },
  })
  for (const name of values.kind ?? [])
    if (!findKind(name))
      throw usageError(`--kind: expected one of ${kinds.map((kind) => kind.name).join(', ')}, not ${name}`)
  const { client } = await connect({ context: values.context })
  const { stringify } = await import('yaml')
  for (const kind of kinds) {
    if (values.kind && !values.kind.includes(kind.name)) continue
    // The order of the keys is the same in every export, so that a version control system shows only real changes.
    const objects = await Array.fromAsync(kind.list(client))
    for (const { fields } of objects.sort((a, b) => (a.key < b.key ? -1 : 1)))
      await write(`---\n${stringify({ kind: kind.name, ...fields }, { lineWidth: 0 })}`)
  }
  return 0
}

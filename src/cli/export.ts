import { parseArgs } from 'node:util'
import { connect } from './api/connection.ts'
import { exitCodes, usageError } from './api/errors.ts'
import { write } from './api/print.ts'
import { visible } from './api/visible.ts'
import { stepKey } from './apply/kind.ts'
import { findKind, kinds } from './apply/kinds.ts'

export const usage = `usage: waypost export [--kind <kind>] …

Writes the objects of the tenant as YAML that waypost apply reads. Values of secrets are not part of it: objects refer to them by name.

  --kind <kind>     only this kind; can be repeated; default: all
  --context <name>  use another login
`

/** Programs that read YAML 1.1 take `yes` for a boolean and `12:30` for a number, so such texts get quotes. */
const yamlOptions = { lineWidth: 0, compat: 'yaml-1.1' } as const

/** Documents identify objects by name, so they cannot describe several objects with one name. */
const leftOut = (name: string, count: number) =>
  `waypost: there are ${count} objects ${visible(name)}; the export leaves them out: rename all of these objects but one\n`

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
  let isComplete = true
  for (const kind of kinds) {
    if (values.kind && !values.kind.includes(kind.name)) continue
    // The order of the keys is the same in every export, so that a version control system shows only real changes.
    const objects = Map.groupBy(await Array.fromAsync(kind.list(client)), ({ key }) => key)
    for (const [key, [found, ...others]] of [...objects].sort(([a], [b]) => (a < b ? -1 : 1))) {
      if (others.length === 0) await write(`---\n${stringify({ kind: kind.name, ...found!.fields }, yamlOptions)}`)
      else process.stderr.write(leftOut(stepKey(kind.name, key), others.length + 1))
      isComplete &&= others.length === 0
    }
  }
  return isComplete ? 0 : exitCodes.conflict
}

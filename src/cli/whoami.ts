import { parseArgs } from 'node:util'
import { callerOf, connect, describeChoice } from './api/connection.ts'
import { visible } from './api/visible.ts'
import { countText, print } from './output.ts'

export const usage = `usage: waypost whoami [--context <name>]

Says whose login the commands use, and on what it has permissions.
`

/** Prints whose login the command line uses, and on which resources it has permissions. */
export async function run(args: string[]): Promise<number> {
  const { values } = parseArgs({ args, options: { context: { type: 'string' } } })
  const { client, chosen } = await connect({ context: values.context })
  const body = await callerOf(client)
  print(`${visible(body.username ?? body.subject.id)} (${body.subject.type}) of tenant ${visible(body.tenantId)}`)
  print(`at ${await describeChoice(chosen)}`)
  print(`roles: ${body.roles.map(visible).join(', ') || 'none'}`)
  for (const { resource, scopes } of body.permissions)
    print(`${visible(resource)}: ${countText(scopes.length, 'scope')}`)
  if (body.permissions.length > 0) print('waypost me get -o yaml lists the scopes.')
  return 0
}

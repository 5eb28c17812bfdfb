/** Sends a message as a device, with a token that exists only for this message. */
import { parseArgs } from 'node:util'
import { readDocument } from './api/body.ts'
import { connect, withFields } from './api/connection.ts'
import { CommandError, usageError } from './api/errors.ts'
import { parseExactJson } from './api/exact-json.ts'
import { visible } from './api/visible.ts'
import { print } from './output.ts'

export const usage = `usage: waypost send <endpoint> <json> [--extension dcx] [--resource json]

  <json>             the message, such as '{"temperature": 21}'; or --file <file>
  --extension <id>   extension of the device protocol; default: dcx (data samples)
  --resource <path>  resource of the extension; default: json
  --context <name>   use another login
`

export async function run(args: string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      extension: { type: 'string', default: 'dcx' },
      resource: { type: 'string', default: 'json' },
      file: { type: 'string', short: 'f' },
      context: { type: 'string' },
    },
  })
  const [endpointId, text] = positionals
  if (endpointId === undefined || (text === undefined) === (values.file === undefined) || positionals.length > 2)
    throw usageError('expected an endpoint and a message', usage)
  const body = text === undefined ? await readDocument(values.file!) : messageOf(text)
  const { client } = await connect({ context: values.context })
  const { body: endpoint } = await client.endpoints.get({ endpointId })
  const { appName: applicationName, appVersion } = withFields('endpoints.get', endpoint, 'appName', 'appVersion')
  const created = await client.tokens.create({ endpointId, body: { applicationName } })
  const { token } = withFields('tokens.create', created.body as { token: string }, 'token')
  const endpointTokenId = created.location!.split('/').at(-1)!
  try {
    const answer = await client.devices.messages.send({
      appVersionName: appVersion.name,
      extension: values.extension,
      token,
      resource: values.resource,
      body,
    } as never)
    const responseBody = (answer as { body?: unknown }).body
    print(
      `Accepted.${responseBody === undefined || responseBody === '' ? '' : ` ${visible(JSON.stringify(responseBody))}`}`,
    )
  } finally {
    await client.tokens.delete({ endpointId, endpointTokenId })
  }
  return 0
}

function messageOf(text: string): unknown {
  try {
    return parseExactJson(text)
  } catch (error) {
    if (error instanceof RangeError) throw new CommandError(error.message, 2)
    throw new CommandError(`expected JSON such as '{"temperature": 21}', not ${visible(text)}`, 2)
  }
}

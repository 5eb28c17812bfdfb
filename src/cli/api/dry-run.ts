/** Prints the request of an operation as a curl command, without sending it and without secrets. */
import { createClient } from '../../../sdk/src/index.ts'
import type { Arguments } from '../../../sdk/src/types.ts'

const secretName = /password|secret|token|apikey|keyid/i
/** Parameters of the path and the query that are secrets. Other parameters, such as `endpointTokenId`, only identify a secret. */
const secretParameter = /^(token|signature)$/i
/** Values of the login with the browser: whoever knows them can get the tokens of the user. */
const loginSecret = /^(code|code_verifier|id_token_hint|assertion|client_assertion|totp|otp)$/i
const mask = '********'
/**
 * The shell variable that stands for the access token in the printed command. Its name must not begin with `WAYPOST_`, because such
 * variables are settings, and commands reject unknown settings.
 */
const tokenVariable = '$TOKEN'

class NotSent extends Error {
  override readonly name = 'NotSent'
}

export async function curlOf(
  url: string,
  name: string,
  args: Arguments,
  { ifMatch, file = '-' }: { ifMatch?: string | undefined; file?: string | undefined } = {},
): Promise<string> {
  let curl = ''
  const client = createClient({
    url,
    auth: () => tokenVariable,
    attempts: 1,
    fetch: (address, { method = 'GET', headers, body } = {}) => {
      curl = commandOf(String(address), method, headers as Record<string, string>, body, file)
      return Promise.reject(new NotSent())
    },
  })
  const isLogin = name.startsWith('openid.')
  const isSecret = (key: string) =>
    secretName.test(key) || (name.startsWith('secrets.') && key === 'value') || (isLogin && loginSecret.test(key))
  const parameters = Object.fromEntries(
    Object.entries(args).map(([key, value]) => [
      key,
      secretParameter.test(key) || (isLogin && loginSecret.test(key)) ? mask : value,
    ]),
  )
  const body = isUpload(args.body) ? '@upload' : masked(args.body, isSecret)
  const shown = { ...parameters, body }
  try {
    await client.call(name, shown, ifMatch === undefined ? {} : { ifMatch })
  } catch (error) {
    if (!((error as Error).cause instanceof NotSent)) throw error
  }
  return curl
}

const isUpload = (body: unknown) => typeof body === 'function' || body instanceof ReadableStream

function commandOf(
  address: string,
  method: string,
  headers: Record<string, string>,
  body: unknown,
  file: string,
): string {
  const parts = ['curl', ...(method === 'GET' ? [] : ['-X', method]), quoted(address)]
  for (const [name, value] of Object.entries(headers))
    if (name.toLowerCase() === 'authorization') parts.push('-H', `"${name}: ${value}"`)
    else parts.push('-H', quoted(`${name}: ${secretName.test(name) ? mask : value}`))
  if (body === '@upload') parts.push('--data-binary', quoted(`@${file}`))
  else if (typeof body === 'string') parts.push('--data-raw', quoted(body))
  return parts.join(' ')
}

const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`

/** Replaces the values of fields that contain secrets. */
function masked(value: unknown, isSecret: (key: string) => boolean): unknown {
  if (Array.isArray(value)) return value.map((item) => masked(item, isSecret))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [
      key,
      isSecret(key) && typeof inner === 'string' ? mask : masked(inner, isSecret),
    ]),
  )
}

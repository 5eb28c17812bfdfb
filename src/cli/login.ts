/** Logs the command line in: with the browser (authorization code with PKCE), an API key, or a backend client. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createInterface } from 'node:readline'
import { parseArgs } from 'node:util'
import { createClient } from '../../sdk/src/index.ts'
import { finishLogin, startLogin } from '../../sdk/src/pkce.ts'
import { commandLineConfig } from '../command-line-config.ts'
import { loadConfig } from '../config.ts'
import { callerOf, optionsOf } from './api/connection.ts'
import { type Login, readContexts, withLock, writeContexts } from './api/contexts.ts'
import { CommandError, interruption, usageError } from './api/errors.ts'
import { visible } from './api/visible.ts'
import { openBrowser } from './open-browser.ts'
import { print } from './output.ts'

export const usage = `usage: waypost login --url <address> [--tenant default] [--name <context>]

  --url <address>   address of the platform; default: WAYPOST_URL, or the platform on this machine
  --tenant <id>     tenant to log in to; default: default, or the tenant of the API key
  --name <context>  name under which the login is kept; default: the host and the tenant
  --api-key         log in with an API key, read from standard input
  --client <id>     log in as a backend client; its secret is read from standard input
  --no-browser      print the address instead of opening the browser

The login is kept in the configuration folder of the user, readable by this user only.
`

const options = {
  url: { type: 'string' },
  tenant: { type: 'string' },
  name: { type: 'string' },
  'api-key': { type: 'boolean', default: false },
  client: { type: 'string' },
  'no-browser': { type: 'boolean', default: false },
} as const

/** Maximum time for a person to log in with the browser. */
const browserMs = 5 * 60_000

export async function run(args: string[]): Promise<number> {
  const { values } = parseArgs({ args, options })
  const { url: setting } = await commandLineConfig()
  const url = (values.url ?? setting ?? `http://127.0.0.1:${loadConfig().port}`).replace(/\/+$/, '')
  checkAddress(url)
  if (values['api-key'] && values.client !== undefined) throw usageError('choose --api-key or --client', usage)
  const login = await loginOf(url, values.tenant ?? 'default', values)
  const requested = { url, tenant: values.tenant ?? 'default', origin: '' }
  const auth = 'clientSecret' in login ? { tenant: requested.tenant, ...login } : login
  const body = await callerOf(createClient(optionsOf({ ...requested, auth })))
  const tenant = body.tenantId
  if (values.tenant !== undefined && values.tenant !== tenant)
    throw usageError(`the login is of tenant ${tenant}, not ${values.tenant}`)
  const name = values.name ?? `${new URL(url).host}/${tenant}`
  await withLock(async () => {
    const { contexts } = readContexts()
    writeContexts({ current: name, contexts: { ...contexts, [name]: { url, tenant, login } } })
  })
  const { subject, username } = body
  print(
    `Logged in to ${url} as ${visible(username ?? subject.id)} of tenant ${visible(tenant)} (context ${visible(name)}).`,
  )
  return 0
}

function checkAddress(text: string) {
  const address = URL.parse(text)
  if (!address || !/^https?:$/.test(address.protocol))
    throw usageError(`--url: expected an address such as https://waypost.example.com, not ${text}`)
  if (address.username !== '' || address.password !== '')
    throw usageError('--url: the address must not contain a user name or a password')
}

async function loginOf(
  url: string,
  tenant: string,
  flags: { 'api-key': boolean; client?: string; 'no-browser': boolean },
): Promise<Login> {
  if (flags['api-key']) return { apiKey: await readSecret('API key') }
  if (flags.client !== undefined) return { clientId: flags.client, clientSecret: await readSecret('client secret') }
  return { session: await withBrowser(url, tenant, !flags['no-browser']) }
}

/** Reads one line from standard input. On a terminal, the typed text is not shown. */
async function readSecret(prompt: string): Promise<string> {
  if (process.stdin.isTTY) {
    process.stderr.write(`${prompt}: `)
    process.stdin.setRawMode?.(true)
  }
  const lines = createInterface({ input: process.stdin, terminal: process.stdin.isTTY === true })
  if (process.stdin.isTTY) (lines as unknown as { _writeToOutput(text: string): void })._writeToOutput = () => {}
  const line = await new Promise<string>((resolve, reject) => {
    lines.once('line', resolve)
    lines.once('SIGINT', () => {
      lines.close()
      process.stderr.write('\n')
      reject(interruption('nothing was changed'))
    })
    lines.once('close', () => resolve(''))
  })
  lines.close()
  if (process.stdin.isTTY) process.stderr.write('\n')
  if (line.trim() === '') throw usageError(`expected the ${prompt} on standard input`)
  return line.trim()
}

/** Starts a login in the browser, and waits on a free port of this machine until the browser returns with a code. */
async function withBrowser(url: string, tenant: string, opens: boolean) {
  let returned: (address: string) => void = () => {}
  const server = createServer((request, response) => {
    const isReturn = request.url?.startsWith('/callback?') === true
    response.writeHead(isReturn ? 200 : 404, { 'content-type': 'text/plain; charset=utf-8', connection: 'close' })
    response.end(isReturn ? 'You can close this page and go back to the terminal.\n' : 'not found\n')
    if (isReturn) returned(request.url!)
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  try {
    const login = await startLogin({ url, tenant, redirectUri: `${origin}/callback` })
    process.stderr.write(`Log in with the browser: ${login.address}\n`)
    if (opens) openBrowser(login.address)
    const path = await new Promise<string>((resolve, reject) => {
      returned = resolve
      setTimeout(() => reject(new CommandError('nobody logged in within five minutes')), browserMs).unref()
    })
    return await finishLogin(login, origin + path)
  } finally {
    server.close()
  }
}

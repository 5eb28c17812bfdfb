/**
 * Chooses the platform and the credentials of a command. They come from flags, settings, the context, or bootstrap.json of a local
 * platform.
 */
import { join } from 'node:path'
import type { Auth } from '../../../sdk/src/auth.ts'
import type { Client } from '../../../sdk/src/index.ts'
import type { ClientOptions } from '../../../sdk/src/transport.ts'
import { commandLineConfig } from '../../command-line-config.ts'
import type { Context } from './contexts.ts'
import { CommandError, usageError } from './errors.ts'
import { existsSync } from './files.ts'
import { nodeFetch } from './node-fetch.ts'

export interface Chosen {
  url: string
  /** Absent if the API key comes from the environment, because only the platform can tell to which tenant a key belongs. */
  tenant: string | undefined
  auth: Auth | undefined
  /** Describes the source of the address and the credentials, for messages. */
  origin: string
}

export interface Choice {
  context?: string | undefined
  url?: string | undefined
}

export async function choose({ context, url }: Choice): Promise<Chosen> {
  const { dataDirectory, ...commandLine } = await commandLineConfig()
  if (context === undefined && commandLine.apiKey !== undefined) {
    const address = url ?? commandLine.url ?? (await currentContext())?.url
    if (address === undefined) throw usageError('WAYPOST_API_KEY is set, and WAYPOST_URL is not: set it, or give --url')
    return { url: address, tenant: undefined, auth: { apiKey: commandLine.apiKey }, origin: 'WAYPOST_API_KEY' }
  }
  const { contextNamed, readContexts } = await loadContexts()
  const stored = readContexts()
  const name = context ?? stored.current
  if (name !== undefined) {
    const found = contextNamed(stored, name)
    if (!found) throw usageError(`there is no context ${name}; waypost context list shows them`)
    return ofContext(name, found, url ?? commandLine.url)
  }
  if (existsSync(join(dataDirectory, 'bootstrap.json'))) return await ofBootstrap(dataDirectory, url, commandLine)
  const known = Object.keys(stored.contexts)
  if (known.length > 0)
    throw new CommandError(`no login is chosen: run waypost context use <name>, with one of ${known.join(', ')}`, 4)
  throw new CommandError('there is no login: run waypost login --url <address of the platform>', 4)
}

/** Reads the logins of the user. Commands with an API key and an address in the environment do not load this code. */
const loadContexts = () => import('./contexts.ts')

async function currentContext(): Promise<Context | undefined> {
  const { contextNamed, readContexts } = await loadContexts()
  const stored = readContexts()
  return contextNamed(stored, stored.current)
}

function ofContext(name: string, { url, tenant, login }: Context, requestedUrl: string | undefined): Chosen {
  if (requestedUrl !== undefined && new URL(requestedUrl).origin !== new URL(url).origin)
    throw usageError(
      `the context ${name} is for ${url}, and its login is sent nowhere else: log in at ${requestedUrl} first`,
    )
  const origin = `context ${name}`
  if (!login) return { url, tenant, auth: undefined, origin }
  if ('apiKey' in login) return { url, tenant, auth: login, origin }
  if ('clientSecret' in login) return { url, tenant, auth: { tenant, ...login }, origin }
  return { url, tenant, auth: async (rejected) => (await import('./session.ts')).accessToken(name, rejected), origin }
}

async function ofBootstrap(
  directory: string,
  url: string | undefined,
  { url: setting, tenant = 'default' }: { url: string | undefined; tenant: string | undefined },
): Promise<Chosen> {
  const { readBootstrap } = await import('../bootstrap-file.ts')
  const bootstrap = readBootstrap(directory) as unknown as Record<string, unknown> & { baseUrl: string }
  const realm = Object.hasOwn(bootstrap, tenant) ? (bootstrap[tenant] as Realm) : undefined
  if (realm?.backendClient === undefined)
    throw usageError(`bootstrap.json has no client of the tenant ${tenant}; run waypost login --tenant ${tenant}`)
  const { id: clientId, secret: clientSecret } = realm.backendClient
  const address = url ?? setting ?? bootstrap.baseUrl
  if (new URL(address).origin !== new URL(bootstrap.baseUrl).origin)
    throw usageError(
      `bootstrap.json is for ${bootstrap.baseUrl}, and its client is used nowhere else: log in at ${address}`,
    )
  return { url: address, tenant, auth: { tenant, clientId, clientSecret }, origin: join(directory, 'bootstrap.json') }
}

interface Realm {
  backendClient?: { id: string; secret: string }
}

/**
 * Maximum number of attempts. Without `Retry-After`, the pauses between five attempts take less than two seconds in total; a person
 * waits for the result.
 */
const attempts = 5

export const optionsOf = ({ url, auth }: Chosen): ClientOptions => ({
  url,
  auth,
  fetch: nodeFetch,
  attempts,
  onRetry: (error, pauseMs) => void import('./pause-notice.ts').then(({ noticePause }) => noticePause(error, pauseMs)),
})

export async function connect(choice: Choice): Promise<{ client: Client; chosen: Chosen }> {
  const chosen = await choose(choice)
  const { createClient } = await import('../../../sdk/src/index.ts')
  return { client: createClient(optionsOf(chosen)), chosen }
}

/** Returns the tenant of the login. */
export const tenantOf = async (client: Client, { tenant }: Chosen): Promise<string> =>
  tenant ?? (await callerOf(client)).tenantId

/** Returns the caller to whom the login of the client belongs. */
export async function callerOf(client: Pick<Client, 'me'>) {
  const { body } = await client.me.get()
  return withFields('me.get', body, 'tenantId', 'subject', 'roles', 'permissions')
}

/** Returns the body of an answer. Throws if it lacks a field, because then the server is not a platform. */
export function withFields<T extends object>(operation: string, body: T, ...names: (keyof T & string)[]): T {
  const fields: Partial<T> = typeof body === 'object' && body !== null ? body : {}
  const missing = names.find((name) => (fields[name] ?? undefined) === undefined)
  if (missing === undefined) return body
  throw new CommandError(`The answer to ${operation} has no ${missing}: is this the address of the platform?`)
}

/** Describes the address and the login that commands use, for `waypost context show`. */
export async function describeChoice({ url, tenant, origin }: Chosen): Promise<string> {
  if (tenant === undefined) return `${url}, from ${origin}`
  if (!origin.startsWith('context ')) return `${url}, tenant ${tenant}, from ${origin}`
  const { contextsFile } = await import('./contexts.ts')
  return `${url}, tenant ${tenant}, from ${origin} (${contextsFile()})`
}

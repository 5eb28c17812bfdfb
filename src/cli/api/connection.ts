/**
 * Chooses the platform and the credentials of a command. They come from flags, settings, the context, or bootstrap.json of a local
 * platform.
 */
import { join } from 'node:path'
import { type Auth, requestTokens, type Session } from '../../../sdk/src/auth.ts'
import type { Client } from '../../../sdk/src/index.ts'
import type { ClientOptions } from '../../../sdk/src/transport.ts'
import { commandLineConfig } from '../../command-line-config.ts'
import { systemClock } from '../../kernel/clock.ts'
import { type Context, contextsFile, readContexts, withLock, writeContexts } from './contexts.ts'
import { CommandError, usageError } from './errors.ts'
import { existsSync } from './files.ts'
import { nodeFetch } from './node-fetch.ts'

export interface Chosen {
  url: string
  tenant: string
  auth: Auth | undefined
  /** Where the address and the credentials come from, as text for people. */
  origin: string
}

export interface Choice {
  context?: string | undefined
  url?: string | undefined
}

export async function choose({ context, url }: Choice): Promise<Chosen> {
  const { dataDirectory, ...commandLine } = await commandLineConfig()
  if (context === undefined && commandLine.apiKey !== undefined) {
    const address = url ?? commandLine.url ?? currentContext()?.url
    if (address === undefined) throw usageError('WAYPOST_API_KEY is set, and WAYPOST_URL is not: set it, or give --url')
    const tenant = commandLine.tenant ?? 'default'
    return { url: address, tenant, auth: { apiKey: commandLine.apiKey }, origin: 'WAYPOST_API_KEY' }
  }
  const { current, contexts } = readContexts()
  const name = context ?? current
  if (name !== undefined) {
    const found = contexts[name]
    if (!found) throw usageError(`there is no context ${name}; waypost context list shows them`)
    return ofContext(name, found, url ?? commandLine.url)
  }
  if (existsSync(join(dataDirectory, 'bootstrap.json'))) return await ofBootstrap(dataDirectory, url, commandLine)
  const known = Object.keys(contexts)
  if (known.length > 0)
    throw new CommandError(`no login is chosen: run waypost context use <name>, with one of ${known.join(', ')}`, 4)
  throw new CommandError('there is no login: run waypost login --url <address of the platform>', 4)
}

function currentContext(): Context | undefined {
  const { current, contexts } = readContexts()
  return contexts[current ?? '']
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
  return { url, tenant, auth: (rejected) => accessToken(name, rejected), origin }
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

/** A token is renewed this long before it expires. */
const marginMs = 30_000

/**
 * Returns the access token of a session. If several commands run at the same time, the token is renewed only once, because using a refresh
 * token twice ends the session.
 */
async function accessToken(name: string, rejected: string | undefined): Promise<string> {
  const isUsable = ({ accessToken: token, expiresAt }: Session) =>
    token !== rejected && expiresAt - marginMs > systemClock().getTime()
  const kept = sessionOf(name)
  if (kept && isUsable(kept)) return kept.accessToken
  return await withLock(async () => {
    const session = sessionOf(name)
    if (session && isUsable(session)) return session.accessToken
    if (session?.refreshToken === undefined) throw new CommandError('the session has ended; run waypost login', 4)
    const contexts = readContexts()
    const { url } = contexts.contexts[name]!
    const transport = { url, fetch: nodeFetch, defaults: {} }
    const { tenant, clientId } = session
    const form = { grant_type: 'refresh_token', client_id: clientId, refresh_token: session.refreshToken }
    const { access, expiresAt, refresh } = await requestTokens(transport, tenant, form)
    const renewed = { tenant, clientId, accessToken: access, expiresAt, refreshToken: refresh ?? session.refreshToken }
    contexts.contexts[name]!.login = { session: renewed }
    writeContexts(contexts)
    return access
  })
}

function sessionOf(name: string): Session | undefined {
  const login = readContexts().contexts[name]?.login
  return login && 'session' in login ? login.session : undefined
}

/**
 * Maximum number of attempts. Retries take at most two seconds, because a person waits and an unreachable platform should be reported soon.
 */
const attempts = 5

export const optionsOf = ({ url, auth }: Chosen): ClientOptions => ({ url, auth, fetch: nodeFetch, attempts })

export async function connect(choice: Choice): Promise<{ client: Client; chosen: Chosen }> {
  const chosen = await choose(choice)
  const { createClient } = await import('../../../sdk/src/index.ts')
  return { client: createClient(optionsOf(chosen)), chosen }
}

/** Describes the context that would be used, for `waypost context show`. */
export const describeChoice = ({ url, tenant, origin }: Chosen) =>
  `${url}, tenant ${tenant}, from ${origin.startsWith('context ') ? `${origin} (${contextsFile()})` : origin}`

/** Sessions of users that have logged in with the browser. */
import { requestTokens, type Session } from '../../../sdk/src/auth.ts'
import { fetchOf } from '../../../sdk/src/running.ts'
import { systemClock } from '../../kernel/clock.ts'
import { contextNamed, readContexts, withLock, writeContexts } from './contexts.ts'
import { CommandError } from './errors.ts'
import { nodeFetch } from './node-fetch.ts'

/** A token is renewed this long before it expires. */
const marginMs = 30_000

/**
 * Returns the access token of a session, renewed if it expires soon or is the token that the platform has `rejected`. Commands that run at
 * the same time renew it only once, because using a refresh token twice ends the session.
 */
export async function accessToken(name: string, rejected: string | undefined): Promise<string> {
  const isUsable = ({ accessToken: token, expiresAt }: Session) =>
    token !== rejected && expiresAt - marginMs > systemClock().getTime()
  const kept = sessionOf(name)
  if (kept && isUsable(kept)) return kept.accessToken
  return await withLock(async () => {
    const session = sessionOf(name)
    if (session && isUsable(session)) return session.accessToken
    if (session?.refreshToken === undefined) throw new CommandError('the session has ended; run waypost login', 4)
    const contexts = readContexts()
    const context = contextNamed(contexts, name)!
    const { url } = context
    const transport = { url, ...fetchOf(nodeFetch), defaults: {} }
    const { tenant, clientId } = session
    const form = { grant_type: 'refresh_token', client_id: clientId, refresh_token: session.refreshToken }
    const { access, expiresAt, refresh } = await requestTokens(transport, tenant, form)
    const renewed = { tenant, clientId, accessToken: access, expiresAt, refreshToken: refresh ?? session.refreshToken }
    context.login = { session: renewed }
    writeContexts(contexts)
    return access
  })
}

function sessionOf(name: string): Session | undefined {
  const login = contextNamed(readContexts(), name)?.login
  return login && 'session' in login ? login.session : undefined
}

/** Login of a user with the browser: authorization code with PKCE (RFC 7636). */
import { requestTokens, type Session } from './auth.ts'
import { WaypostError } from './errors.ts'
import { fetchOf } from './running.ts'

export interface LoginOptions {
  /** Address of the platform. */
  url: string
  tenant: string
  /** The address to which the browser returns. The OAuth client of the realm must allow it. */
  redirectUri: string
  clientId?: string | undefined
  scope?: string | undefined
  fetch?: typeof fetch | undefined
}

/** A login that has begun. A page stores it, for example in sessionStorage, while the browser shows the login page. */
export interface PendingLogin {
  /** Open this address in the browser. */
  address: string
  url: string
  tenant: string
  clientId: string
  redirectUri: string
  state: string
  verifier: string
}

const base64url = (bytes: Uint8Array) =>
  btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '')

const randomText = () => base64url(crypto.getRandomValues(new Uint8Array(32)))

export async function startLogin(options: LoginOptions): Promise<PendingLogin> {
  const { tenant, redirectUri, clientId = 'waypost-frontend', scope = 'openid profile email' } = options
  const url = options.url.replace(/\/+$/, '')
  const [state, verifier] = [randomText(), randomText()]
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(verifier))
  const query = new URLSearchParams({
    client_id: clientId,
    response_type: 'code',
    redirect_uri: redirectUri,
    scope,
    state,
    code_challenge: base64url(new Uint8Array(digest)),
    code_challenge_method: 'S256',
  })
  const address = `${url}/auth/realms/${encodeURIComponent(tenant)}/protocol/openid-connect/auth?${query}`
  return { address, url, tenant, clientId, redirectUri, state, verifier }
}

/** Exchanges the code in the address to which the browser returned for a session, for `createClient({ url, auth: { session } })`. */
export async function finishLogin(
  login: PendingLogin,
  returnedTo: string,
  options: { fetch?: typeof fetch } = {},
): Promise<Session> {
  const { searchParams: query } = new URL(returnedTo)
  const [state, code, error] = ['state', 'code', 'error'].map((name) => query.get(name))
  // The check of `state` is needed because another page could have sent the browser to this page with a code of its own.
  if (state !== login.state) throw new WaypostError('The login belongs to another request', { code: 'login_failed' })
  if (!code)
    throw new WaypostError(`The login failed: ${query.get('error_description') ?? error ?? 'no code'}`, {
      code: 'login_failed',
    })
  const { url, tenant, clientId, redirectUri, verifier } = login
  const transport = { url, ...fetchOf(options.fetch), defaults: {} }
  const tokens = await requestTokens(transport, tenant, {
    grant_type: 'authorization_code',
    client_id: clientId,
    redirect_uri: redirectUri,
    code,
    code_verifier: verifier,
  })
  const { access, expiresAt, refresh } = tokens
  return { tenant, clientId, accessToken: access, expiresAt, refreshToken: refresh }
}

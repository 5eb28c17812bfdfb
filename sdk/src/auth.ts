/**
 * Credentials of a client: an API key, a function that returns access tokens, or the tokens of a login. Tokens of a login are renewed
 * before they expire, with one request for all callers.
 */
import { WaypostError } from './errors.ts'
import { send } from './request.ts'
import type { Credentials, Transport } from './running.ts'
import type { Operation, Options } from './types.ts'

/** The tokens of a user who logged in with the browser. `finishLogin` of `@waypost/sdk/pkce` returns a session. */
export interface Session {
  tenant: string
  clientId: string
  accessToken: string
  /** Milliseconds since 1970. */
  expiresAt: number
  refreshToken?: string | undefined
}

export type Auth =
  | { apiKey: string }
  /** A backend client with its secret. */
  | { tenant: string; clientId: string; clientSecret: string }
  /** A user with a password. */
  | { tenant: string; username: string; password: string; clientId?: string | undefined }
  /** The session of a user who logged in with the browser (PKCE). `onSession` gets each renewed session. */
  | { session: Session; onSession?: ((session: Session) => void) | undefined }
  /** Returns an access token. `rejected` is the token that the platform has rejected, if any. */
  | ((rejected?: string) => string | Promise<string>)

interface Tokens {
  access: string
  expiresAt: number
  /** Time from which a call renews the tokens before it sends its request. */
  renewAt: number
  refresh: string | undefined
}

/** Id of the public OAuth client that every realm has. */
const defaultClientId = 'waypost-frontend'

const tokenOperation = (reads: boolean): Operation => ({
  name: 'openid.tokens.create',
  method: 'POST',
  path: '/auth/realms/{tenant_id}/protocol/openid-connect/token',
  reads,
  open: true,
  bodyType: 'application/x-www-form-urlencoded',
  answer: 'json',
  headers: [],
  paging: undefined,
})

type Form = Record<string, string>
type Transmit = Omit<Transport, 'credentials'>

/** Requests tokens. A request with a refresh token or an authorization code is never retried, because each can be used only once. */
export async function requestTokens(transport: Transmit, tenant: string, form: Form, options: Options = {}) {
  const operation = tokenOperation(form.grant_type !== 'refresh_token' && form.grant_type !== 'authorization_code')
  const none: Credentials = { headers: () => ({}), renew: async () => false }
  const answer = await send({ ...transport, credentials: none }, operation, { tenant_id: tenant, body: form }, options)
  const {
    access_token: access,
    expires_in: seconds,
    refresh_token: refresh,
  } = (answer.body ?? {}) as Record<string, unknown>
  if (typeof access !== 'string' || typeof seconds !== 'number')
    throw new WaypostError('The answer to the login has no access token', { code: 'unreadable', status: answer.status })
  const lifetimeMs = seconds * 1000
  return {
    access,
    expiresAt: Date.now() + lifetimeMs,
    renewAt: Date.now() + lifetimeMs - Math.min(60_000, lifetimeMs / 5),
    refresh: typeof refresh === 'string' ? refresh : undefined,
  }
}

/** Matches secrets that a header can contain. For any other secret, `fetch` would throw an error that contains the secret. */
const secretPattern = /^[\x21-\x7e]+$/

function bearer(token: string) {
  if (typeof token === 'string' && secretPattern.test(token)) return { authorization: `Bearer ${token}` }
  throw new WaypostError('The access token is empty or contains characters that no token has', {
    code: 'invalid_argument',
    field: 'auth',
  })
}

export function createCredentials(auth: Auth | undefined, transport: Transmit): Credentials {
  if (auth === undefined) return { headers: () => ({}), renew: async () => false }
  if (typeof auth === 'function') return fromFunction(auth)
  if ('apiKey' in auth) {
    if (!secretPattern.test(auth.apiKey))
      throw new WaypostError('The API key is empty or contains characters that no key has', {
        code: 'invalid_argument',
        field: 'auth',
      })
    const headers = { 'x-identity-api-key': auth.apiKey }
    return { headers: () => headers, renew: async () => false }
  }
  return fromTokens(auth, transport)
}

function fromFunction(token: (rejected?: string) => string | Promise<string>): Credentials {
  let renewing: Promise<string> | undefined
  return {
    headers: async () => bearer(await (renewing ?? token())),
    async renew({ authorization = '' }) {
      const rejected = authorization.slice('Bearer '.length)
      renewing ??= Promise.resolve(token(rejected)).finally(() => {
        renewing = undefined
      })
      return (await renewing) !== rejected
    },
  }
}

type Login = Exclude<Auth, { apiKey: string } | ((rejected?: string) => unknown)>

function fromTokens(auth: Login, transport: Transmit): Credentials {
  let tokens: Tokens | undefined = 'session' in auth ? tokensOf(auth.session) : undefined
  let renewal: Promise<Tokens> | undefined

  /** Gets new tokens. Callers that need tokens at the same time share one request. */
  function renewed(): Promise<Tokens> {
    renewal ??= login(auth, tokens, transport)
      .then((fresh) => {
        tokens = fresh
        return fresh
      })
      .finally(() => {
        renewal = undefined
      })
    return renewal
  }

  async function current(options: Options): Promise<Tokens> {
    if (tokens !== undefined && Date.now() < tokens.renewAt) return tokens
    const old = tokens
    try {
      return await unlessAborted(renewed(), options.signal)
    } catch (error) {
      // The login failed, but the old token is still valid.
      if (old !== undefined && Date.now() < old.expiresAt && !options.signal?.aborted) return old
      throw error
    }
  }

  return {
    headers(options) {
      if (tokens !== undefined && Date.now() < tokens.renewAt) return bearer(tokens.access)
      return current(options).then(({ access }) => bearer(access))
    },
    async renew({ authorization }, { signal }) {
      // Another caller has renewed the token since this request was sent.
      if (tokens !== undefined && `Bearer ${tokens.access}` !== authorization) return true
      await unlessAborted(renewed(), signal)
      return true
    },
  }
}

const tokensOf = ({ accessToken, expiresAt, refreshToken }: Session): Tokens => ({
  access: accessToken,
  expiresAt,
  renewAt: expiresAt - 30_000,
  refresh: refreshToken,
})

async function login(auth: Login, tokens: Tokens | undefined, transport: Transmit): Promise<Tokens> {
  if ('clientSecret' in auth) {
    const { tenant, clientId, clientSecret } = auth
    return requestTokens(transport, tenant, {
      grant_type: 'client_credentials',
      client_id: clientId,
      client_secret: clientSecret,
    })
  }
  if ('session' in auth) return refreshSession(auth, tokens, transport)
  const { tenant, username, password, clientId = defaultClientId } = auth
  if (tokens?.refresh !== undefined)
    try {
      const form = { grant_type: 'refresh_token', client_id: clientId, refresh_token: tokens.refresh }
      return await requestTokens(transport, tenant, form)
    } catch (error) {
      // The refresh token was used or has expired, so the password is used next.
      if (!(error instanceof WaypostError) || (error.status !== 400 && error.status !== 401)) throw error
    }
  return requestTokens(transport, tenant, { grant_type: 'password', client_id: clientId, username, password })
}

async function refreshSession(
  { session, onSession }: Extract<Login, { session: Session }>,
  tokens: Tokens | undefined,
  transport: Transmit,
): Promise<Tokens> {
  if (tokens?.refresh === undefined)
    throw new WaypostError('The session has ended; log in again', { code: 'login_failed' })
  const { tenant, clientId } = session
  const form = { grant_type: 'refresh_token', client_id: clientId, refresh_token: tokens.refresh }
  const fresh = await requestTokens(transport, tenant, form)
  const refresh = fresh.refresh ?? tokens.refresh
  onSession?.({ tenant, clientId, accessToken: fresh.access, expiresAt: fresh.expiresAt, refreshToken: refresh })
  return { ...fresh, refresh }
}

/** Stops waiting for a renewal when the caller cancels. The renewal continues for other callers. */
function unlessAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return work
  return new Promise((resolve, reject) => {
    const cancel = () => reject(new WaypostError('The call was canceled', { code: 'aborted', cause: signal.reason }))
    if (signal.aborted) return cancel()
    signal.addEventListener('abort', cancel, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', cancel))
  })
}

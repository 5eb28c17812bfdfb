/** Requests to the identity provider of a tenant: authorization code with PKCE (RFC 7636). Nothing is stored. */
import * as oauth from 'oauth4webapi'
import { baseUrl, consolePath } from './platform.ts'
import { sha256 } from './sha256.ts'

/** The built-in public client of every realm. */
const clientId = 'waypost-console'
const scope = 'openid profile email'

export interface Tokens {
  accessToken: string
  refreshToken: string | undefined
  /** Identifies the login at sign-out (`id_token_hint`). */
  idToken: string
  /** The subject of the ID token. */
  userId: string
  /** Milliseconds since 1970, by the clock of the browser. */
  expiresAt: number
}

export interface Provider {
  /** Seconds by which the clock of the platform is ahead of the clock of the browser. */
  secondsAhead: number
  /**
   * Gets tokens through the session of the browser at the provider. Returns undefined if there is no session. `onSent` is called when the
   * first request is sent.
   */
  signInSilently(onSent?: () => void): Promise<Tokens | undefined>
  /** Gets new tokens with the refresh token. Returns undefined if the provider no longer accepts the refresh token. */
  refresh(tokens: Tokens): Promise<Tokens | undefined>
  /** Ends the login at the provider, for all tabs. */
  signOut(tokens: Tokens): Promise<void>
  /** Returns the address of the sign-in page. After the sign-in, the browser returns to this path of the console. */
  signInAddress(returnPath: string): Promise<string>
}

/** Thrown when the tenant does not exist or is not available. */
export class NoTenantError extends Error {
  override readonly name = 'NoTenantError'
}

/**
 * Maximum length of the encoded path to return to. It is a part of the redirect address, of which the provider accepts at most 2,048
 * characters.
 */
const returnPathMax = 1200

function returnAddress(path: string): string {
  const to = encodeURIComponent(path).length > returnPathMax ? path.split('?')[0]!.slice(0, 300) : path
  return `${new URL(baseUrl).origin}${consolePath}/@/signed-in?${new URLSearchParams({ to })}`
}

export async function openProvider(tenant: string): Promise<Provider> {
  const issuer = new URL(`${baseUrl}/auth/realms/${encodeURIComponent(tenant)}`)
  const options = { [oauth.allowInsecureRequests]: issuer.protocol === 'http:' }
  const found = await oauth.discoveryRequest(issuer, options)
  if (found.status === 404 || found.status === 401) throw new NoTenantError(tenant)
  throwIfBusy(found)
  const ahead = secondsAhead(found.headers.get('date'))
  const client: oauth.Client = {
    client_id: clientId,
    token_endpoint_auth_method: 'none',
    // The difference of the clocks is passed on, so that a wrong clock of this computer does not prevent the sign-in.
    [oauth.clockSkew]: ahead,
  }
  const server = await oauth.processDiscoveryResponse(issuer, found)
  return { secondsAhead: ahead, ...signIn(server, client, options), ...operationsOfSession(server, client, options) }
}

type Insecure = { [oauth.allowInsecureRequests]: boolean }

function signIn(server: oauth.AuthorizationServer, client: oauth.Client, options: Insecure) {
  const redirectUri = returnAddress('')

  async function authorization(parameters: Record<string, string>, redirect: string) {
    const [state, nonce, verifier] = [
      oauth.generateRandomState(),
      oauth.generateRandomNonce(),
      oauth.generateRandomCodeVerifier(),
    ]
    const address = new URL(server.authorization_endpoint!)
    address.search = new URLSearchParams({
      client_id: clientId,
      response_type: 'code',
      redirect_uri: redirect,
      scope,
      state,
      nonce,
      code_challenge: base64url(await sha256(verifier)),
      code_challenge_method: 'S256',
      ...parameters,
    }).toString()
    return { address, state, nonce, verifier }
  }

  return {
    async signInSilently(onSent?: () => void): Promise<Tokens | undefined> {
      const { address, state, nonce, verifier } = await authorization({ prompt: 'none' }, redirectUri)
      // The provider is on the same origin, so the script can read the address of the redirect. It needs no frame and no storage.
      const sent = fetch(address, { credentials: 'same-origin', cache: 'no-store' })
      onSent?.()
      const answer = await sent
      throwIfBusy(answer)
      await answer.arrayBuffer()
      const returned = new URL(answer.url).searchParams
      if (returned.get('error') === 'login_required') return undefined
      const parameters = oauth.validateAuthResponse(server, client, returned, state)
      const response = await oauth.authorizationCodeGrantRequest(
        ...([server, client, oauth.None(), parameters, redirectUri, verifier, options] as const),
      )
      throwIfBusy(response)
      const result = await oauth.processAuthorizationCodeResponse(server, client, response, {
        expectedNonce: nonce,
        requireIdToken: true,
      })
      return tokensOf(result, undefined)
    },

    async signInAddress(returnPath: string): Promise<string> {
      // The authorization code of this request is not used. The page to which the browser returns signs in without a form, with a code
      // verifier of its own.
      return (await authorization({}, returnAddress(returnPath))).address.href
    },
  }
}

function operationsOfSession(server: oauth.AuthorizationServer, client: oauth.Client, options: Insecure) {
  return {
    async refresh(tokens: Tokens): Promise<Tokens | undefined> {
      if (tokens.refreshToken === undefined) return undefined
      const response = await oauth.refreshTokenGrantRequest(
        ...([server, client, oauth.None(), tokens.refreshToken, options] as const),
      )
      throwIfBusy(response)
      try {
        return tokensOf(await oauth.processRefreshTokenResponse(server, client, response), tokens)
      } catch (error) {
        if (error instanceof oauth.ResponseBodyError && error.error === 'invalid_grant') return undefined
        throw error
      }
    },

    async signOut({ idToken }: Tokens): Promise<void> {
      const answer = await fetch(server.end_session_endpoint!, {
        method: 'POST',
        body: new URLSearchParams({ id_token_hint: idToken, client_id: clientId }),
        credentials: 'same-origin',
        redirect: 'manual',
      })
      // A redirect also means success; the browser does not show its status to the script.
      if (!answer.ok && answer.type !== 'opaqueredirect') throw new ProviderError(answer)
    },
  }
}

function throwIfBusy(answer: Response) {
  if (answer.status === 429 || answer.status >= 500) throw new ProviderError(answer)
}

/** Thrown when the provider rejects a request because of a limit or a failure. */
export class ProviderError extends Error {
  override readonly name = 'ProviderError'
  readonly status: number
  readonly retryAfterSeconds: number | undefined
  constructor({ status, headers }: Response) {
    super(`The identity provider answered with status ${status}`)
    this.status = status
    this.retryAfterSeconds = Number(headers.get('retry-after')) || undefined
  }
}

function tokensOf(result: oauth.TokenEndpointResponse, before: Tokens | undefined): Tokens {
  return {
    accessToken: result.access_token,
    refreshToken: result.refresh_token ?? before?.refreshToken,
    idToken: result.id_token ?? before?.idToken ?? '',
    userId: oauth.getValidatedIdTokenClaims(result)?.sub ?? before?.userId ?? '',
    expiresAt: Date.now() + (result.expires_in ?? 60) * 1000,
  }
}

const base64url = (bytes: Uint8Array) =>
  btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '')

/** Returns the seconds by which the clock of the server is ahead of the clock of the browser. */
function secondsAhead(date: string | null): number {
  const seconds = date === null ? Number.NaN : (Date.parse(date) - Date.now()) / 1000
  return Number.isFinite(seconds) ? Math.round(seconds) : 0
}

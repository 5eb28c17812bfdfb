/** Checks the secret, the redirect addresses and the origins of OpenID Connect clients. */
import { createHash, timingSafeEqual } from 'node:crypto'
import type { Secrets } from '../kernel/secrets.ts'
import type { Client, Realm } from './types.ts'

const loopback = new Set(['localhost', '127.0.0.1', '[::1]'])
const digest = (text: string) => createHash('sha256').update(text).digest()

/** Compares a client secret. The secret is sealed instead of hashed, because tenant manager v1 returns it. */
export function secretMatches(client: Client, secret: string, now: Date, secrets: Secrets): boolean {
  const presented = digest(secret)
  const isSame = (sealed: string) => timingSafeEqual(presented, digest(secrets.open(sealed)))
  if (client.secretSealed !== undefined && isSame(client.secretSealed)) return true
  return client.oldSecrets.some(({ sealed, until }) => until > now && isSame(sealed))
}

const isWeb = ({ protocol }: URL) => protocol === 'https:' || protocol === 'http:'
const runsScript = ({ protocol }: URL) => /^(javascript|data|vbscript|blob|file|about):$/.test(protocol)
const isLoopback = (url: URL) => isWeb(url) && loopback.has(url.hostname)
const withSlash = (path: string) => path.replace(/\/?$/, '/')
const isBelow = (url: URL, origin: string, path: string) =>
  url.origin === origin && withSlash(url.pathname).startsWith(withSlash(path))

/**
 * Returns whether a redirect address is allowed. Registered addresses are allowed, either exact or below `https://host/path/*`. An asterisk
 * elsewhere is literal, so no registration can allow every address. A frontend client may also redirect to any path of the base URL and to
 * loopback on any port (document 3; RFC 8252, 7.3).
 */
export function isRedirectAllowed(baseUrl: string, client: Client, uri: unknown): boolean {
  const url = typeof uri === 'string' ? URL.parse(uri) : null
  if (!url || url.username || url.password || url.href.includes('#') || runsScript(url)) return false
  // Parsers treat backslashes, dot segments and control characters differently, so addresses with them are not allowed.
  if (isWeb(url) && (/[\\\s]/.test(uri as string) || /\/\.{1,2}(\/|$)/.test((uri as string).split('?')[0]!)))
    return false
  const base = new URL(baseUrl)
  if (client === consoleClient) return isBelow(url, base.origin, `${withSlash(base.pathname)}console`)
  if (client.kind === 'frontend' && (isLoopback(url) || isBelow(url, base.origin, base.pathname))) return true
  return client.redirectUris.some((registered) => {
    if (!registered.endsWith('/*')) return registered === uri
    const prefix = URL.parse(registered.startsWith('/') ? baseUrl + registered : registered)
    return !!prefix && isWeb(prefix) && isWeb(url) && isBelow(url, prefix.origin, prefix.pathname.slice(0, -1))
  })
}

/**
 * Returns whether an address can be registered. It must be absolute, without user, fragment and script. An asterisk may occur only as `/*`
 * at the end.
 */
export function isRedirectPattern(uri: string): boolean {
  const url = URL.parse(uri.endsWith('/*') ? uri.slice(0, -1) : uri)
  return !!url && !url.username && !url.password && !/[#*\\\s]/.test(url.href) && !runsScript(url)
}

/**
 * Returns whether an origin is allowed. Allowed are the origin of the base URL, loopback, registered origins, and the origins of redirect
 * addresses.
 */
export function isOriginAllowed(
  baseUrl: string,
  client: Pick<Client, 'webOrigins' | 'redirectUris'> | undefined,
  origin: string,
): boolean {
  const url = URL.parse(origin)
  if (!url || url.origin !== origin) return false
  if (origin === new URL(baseUrl).origin || isLoopback(url)) return true
  if (!client) return false
  return (
    client.webOrigins.some((registered) => registered === '*' || registered.replace(/\/$/, '') === origin) ||
    client.redirectUris.some((uri) => URL.parse(uri)?.origin === origin)
  )
}

/** The web console is a public client of every realm. It has no row, and may redirect only to itself. */
export const consoleClientId = 'waypost-console'
const consoleClient: Client = {
  id: consoleClientId,
  kind: 'frontend',
  redirectUris: [],
  webOrigins: [],
  pkceRequired: true,
  roles: [],
  secretSealed: undefined,
  oldSecrets: [],
}

export const findClient = (realm: Realm, id: unknown): Client | undefined =>
  realm.clients.find((client) => client.id === id) ?? (id === consoleClientId ? consoleClient : undefined)

/** Describes a client to oidc-provider. adjustments.ts replaces the library's checks of the secret and the redirect addresses. */
export function metadataOf(baseUrl: string, client: Client): Record<string, unknown> {
  const common = { client_id: client.id, id_token_signed_response_alg: 'RS256', application_type: 'web' }
  if (client.kind === 'frontend')
    return {
      ...common,
      token_endpoint_auth_method: 'none',
      grant_types:
        client === consoleClient
          ? ['authorization_code', 'refresh_token']
          : ['authorization_code', 'password', 'refresh_token'],
      response_types: ['code'],
      redirect_uris: [`${baseUrl}/`],
      post_logout_redirect_uris: [`${baseUrl}/`],
    }
  // Web applications with a secret sign users in with the backend client, as soon as the tenant registers their addresses.
  const signsIn = client.redirectUris.length > 0
  return {
    ...common,
    client_secret: 'sealed elsewhere', // The library requires this field but never compares it.
    token_endpoint_auth_method: 'client_secret_basic', // The library also accepts the secret in form fields.
    grant_types: ['client_credentials', 'password', 'refresh_token', ...(signsIn ? ['authorization_code'] : [])],
    response_types: signsIn ? ['code'] : [],
    redirect_uris: signsIn ? [`${baseUrl}/`] : [],
    post_logout_redirect_uris: signsIn ? [`${baseUrl}/`] : [],
  }
}

/** What a client may do: pure rules over its row. */
import { createHash, timingSafeEqual } from 'node:crypto'
import type { Secrets } from '../kernel/secrets.ts'
import type { Client, Realm } from './types.ts'

const loopback = new Set(['localhost', '127.0.0.1', '[::1]'])
const digest = (text: string) => createHash('sha256').update(text).digest()

/** A secret has 256 random bits and is sealed, not hashed, because tenant manager v1 shows it again. */
export function secretMatches(client: Client, secret: string, now: Date, secrets: Secrets): boolean {
  const given = digest(secret)
  const same = (sealed: string | undefined) =>
    sealed !== undefined && timingSafeEqual(given, digest(secrets.open(sealed)))
  if (same(client.secretSealed)) return true
  return client.oldSecretUntil !== undefined && client.oldSecretUntil > now && same(client.oldSecretSealed)
}

const isWeb = ({ protocol }: URL) => protocol === 'https:' || protocol === 'http:'
const runsScript = ({ protocol }: URL) => /^(javascript|data|vbscript|blob|file|about):$/.test(protocol)
const isLoopback = (url: URL) => isWeb(url) && loopback.has(url.hostname)
const withSlash = (path: string) => path.replace(/\/?$/, '/')
const below = (url: URL, origin: string, path: string) =>
  url.origin === origin && withSlash(url.pathname).startsWith(withSlash(path))

/**
 * Any path of the base URL, loopback on any port (document 3; RFC 8252, 7.3), and what is registered: the exact text, or
 * everything below `https://host/path/*`. A star anywhere else is a letter, so no registration opens every address.
 */
export function redirectAllowed(baseUrl: string, client: Client, uri: unknown): boolean {
  const url = typeof uri === 'string' ? URL.parse(uri) : null
  if (!url || url.username || url.password || url.href.includes('#') || runsScript(url)) return false
  // What a parser repairs (backslashes, dot segments, control characters) another one may read differently.
  if (isWeb(url) && (/[\\\s]/.test(uri as string) || /\/\.{1,2}(\/|$)/.test((uri as string).split('?')[0]!)))
    return false
  const base = new URL(baseUrl)
  if (isLoopback(url) || below(url, base.origin, base.pathname)) return true
  return client.redirectUris.some((registered) => {
    if (!registered.endsWith('/*')) return registered === uri
    const prefix = URL.parse(registered.startsWith('/') ? baseUrl + registered : registered)
    return !!prefix && isWeb(prefix) && isWeb(url) && below(url, prefix.origin, prefix.pathname.slice(0, -1))
  })
}

/** The base URL's origin, loopback, and what is registered; `+` is Keycloak's "wherever redirects may go". */
export function originAllowed(baseUrl: string, client: Client | undefined, origin: string): boolean {
  const url = URL.parse(origin)
  if (!url || url.origin !== origin) return false
  if (origin === new URL(baseUrl).origin || isLoopback(url)) return true
  return (client?.webOrigins ?? []).some((registered) => {
    if (registered === '*') return true
    if (registered === '+') return client!.redirectUris.some((uri) => URL.parse(uri)?.origin === origin)
    return registered.replace(/\/$/, '') === origin
  })
}

export const clientOf = (realm: Realm, id: unknown) => realm.clients.find((client) => client.id === id)

/** The library's picture of a client. Its secret and its redirects are never compared through it (adjustments.ts). */
export function metadataOf(baseUrl: string, client: Client): Record<string, unknown> {
  const common = { client_id: client.id, id_token_signed_response_alg: 'RS256', application_type: 'web' }
  if (client.kind === 'frontend')
    return {
      ...common,
      token_endpoint_auth_method: 'none',
      grant_types: ['authorization_code', 'password', 'refresh_token'],
      response_types: ['code'],
      redirect_uris: [`${baseUrl}/`],
      post_logout_redirect_uris: [`${baseUrl}/`],
    }
  return {
    ...common,
    client_secret: 'sealed elsewhere', // the schema wants one
    token_endpoint_auth_method: 'client_secret_basic', // the library takes form fields for it, too
    grant_types: ['client_credentials', 'password', 'refresh_token'],
    response_types: [],
    redirect_uris: [],
  }
}

/** Translates requests of Keycloak's clients to requests that oidc-provider accepts. */
import { wrap } from './jwt-access-tokens.ts'
import { connectPath, defaultScopes, type Form } from './library.ts'
import { withOpaqueTokens } from './refresh-tokens.ts'

export interface Call {
  path: string
  headers: Record<string, string | string[] | undefined>
  form: Form
  /** Status of a successful response, if it differs from the status that oidc-provider sends. */
  successStatus?: number | undefined
}

export function normalizeCall(frontendClientId: string, call: Call): Call {
  const steps = [
    openRefreshTokens,
    dropBearerToken,
    dropPublicClientSecret,
    dropSecondSecret,
    logOutByRefreshToken,
    wrapToken,
    addDefaultScopes,
  ]
  return steps.reduce((current, step) => step(current, frontendClientId), call)
}

const openRefreshTokens = (call: Call): Call => ({ ...call, form: withOpaqueTokens(call.form) })

const clientPaths = ['token', 'token/introspect', 'revoke', 'logout'].map((path) => `${connectPath}/${path}`)

/**
 * Removes a header Authorization that is not Basic if the form names the client. Programs that add an access token to each of their requests
 * also add it to the renewal of that token. The library would reject the header, and Keycloak ignores it.
 */
function dropBearerToken(call: Call): Call {
  const { authorization, ...others } = call.headers
  const isClientInForm = clientPaths.includes(call.path) && call.form.client_id !== undefined
  return isClientInForm && !isBasic(authorization) ? { ...call, headers: others } : call
}

/**
 * Removes the secret from the body if the header contains it too. keycloak-connect sends the secret in both places, and the library rejects
 * two methods of authentication.
 */
function dropSecondSecret(call: Call): Call {
  const { client_secret: secret, ...form } = call.form
  return secret !== undefined && isBasic(call.headers.authorization) ? { ...call, form } : call
}

/** Removes the secret of a public client. Existing SDKs send a secret, and Keycloak ignores it. */
function dropPublicClientSecret(call: Call, frontend: string): Call {
  const { authorization, ...others } = call.headers
  const { client_secret: _, ...form } = call.form
  if (call.form.client_id === frontend && !isBasic(authorization)) return { ...call, form }
  if (!isBasic(authorization)) return call
  if (clientIdIn(authorization) !== frontend) return call
  return { ...call, form: { ...form, client_id: form.client_id ?? frontend }, headers: others }
}

/** Returns the client id of a Basic header. It is form-encoded (RFC 6749, 2.3.1): openid-client 6 writes a dash as `%2D`. */
function clientIdIn(authorization: string): string | undefined {
  const [encoded = ''] = Buffer.from(authorization.slice(6), 'base64').toString().split(':')
  try {
    return decodeURIComponent(encoded.replaceAll('+', ' '))
  } catch {
    return undefined // The library rejects the header.
  }
}

const isBasic = (value: string | string[] | undefined): value is string =>
  typeof value === 'string' && /^basic /i.test(value)

/** Translates Keycloak's logout without a browser (POST with the refresh token, 204) to a revocation. */
function logOutByRefreshToken(call: Call): Call {
  const { client_id, client_secret, refresh_token: token, id_token_hint: hint } = call.form
  if (call.path !== `${connectPath}/logout` || token === undefined || hint !== undefined) return call
  const form = { client_id, client_secret, token, token_type_hint: 'refresh_token' }
  return { ...call, path: `${connectPath}/revoke`, form, successStatus: 204 }
}

function wrapToken(call: Call): Call {
  const takesToken = call.path === `${connectPath}/revoke` || call.path === `${connectPath}/token/introspect`
  if (!takesToken || typeof call.form.token !== 'string') return call
  return { ...call, form: { ...call.form, token: wrap(call.form.token) } }
}

/**
 * Returns the query of an authorization request. A request without a scope gets the default scopes (RFC 6749, 3.3), because the library
 * would answer it with access_denied.
 */
export function queryWithScope(path: string, query: string): string {
  if (path !== `${connectPath}/auth`) return query
  const parameters = new URLSearchParams(query)
  if (parameters.getAll('scope').some((scope) => scope.trim() !== '')) return query
  parameters.set('scope', defaultScopes.join(' '))
  return `?${parameters}`
}

/** Adds Keycloak's default client scopes. */
function addDefaultScopes(call: Call): Call {
  const { grant_type: type, scope = '' } = call.form
  const named = type === 'password' || type === 'client_credentials'
  if (call.path !== `${connectPath}/token` || !named || Array.isArray(scope)) return call
  const scopes = new Set([...scope.split(' ').filter(Boolean), ...defaultScopes])
  return { ...call, form: { ...call.form, scope: [...scopes].join(' ') } }
}

/** Loads oidc-provider when a realm is first used. */
import type { Ctx } from 'oidc-provider'
import type { Wait } from '../login-lockout.ts'

let loading: Promise<typeof import('oidc-provider')> | undefined
export const loadLibrary = () => {
  loading ??= import('oidc-provider')
  return loading
}
export type Library = Awaited<ReturnType<typeof loadLibrary>>

export type Form = Record<string, string | string[] | undefined>

/** Properties that realm-routes.ts adds to the request that the library gets. */
export interface Extras {
  address: string
  form: Form
  /** The login of the refresh token in the request. */
  refreshedLogin: string | undefined
  correlationId: string
  /** Value of the CORS header; undefined if the origin is not allowed. */
  allowedOrigin: string | undefined
  /** Status of a successful response, if Keycloak's differs from the library's. */
  successStatus: number | undefined
  /** The error of the library that a page shows. */
  shownError?: string
  /** An unexpected error of the library, for the log and the status. */
  failure?: unknown
}
export const extrasOf = (ctx: Ctx) => (ctx.req as unknown as { waypost: Extras }).waypost

const waitText = ({ wait, locked }: Wait) =>
  locked
    ? `too many failed attempts, try again in ${wait} s`
    : `too many attempts at the same time, try again in ${wait} s`

/** Creates the 429 of a lockout in the error format of RFC 6749. */
export function tooManyAttempts({ errors }: Library, ctx: Ctx, wait: Wait) {
  ctx.set('Retry-After', String(wait.wait))
  const error = new errors.TemporarilyUnavailable('too many attempts')
  return Object.assign(error, { status: 429, statusCode: 429, expose: true, error_description: waitText(wait) })
}

export const sessionCookie = 'waypost_session'
export const connectPath = '/protocol/openid-connect'
export const defaultScopes = ['profile', 'email']

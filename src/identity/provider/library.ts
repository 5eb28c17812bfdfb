/** oidc-provider, read from disk when a realm is first used. */
import type { Ctx } from 'oidc-provider'
import type { Wait } from '../throttle.ts'

let loading: Promise<typeof import('oidc-provider')> | undefined
export const loadLibrary = () => {
  loading ??= import('oidc-provider')
  return loading
}
export type Library = Awaited<ReturnType<typeof loadLibrary>>

export type Form = Record<string, string | string[] | undefined>

/** What the edge hangs on the request that it hands to the library. */
export interface Extras {
  address: string
  form: Form
  correlationId: string
  /** The headers of CORS are the edge's alone. */
  allowedOrigin: string | undefined
  /** The status of a success where Keycloak's differs. */
  successStatus: number | undefined
  /** What went wrong inside, for the log and for the choice of the status. */
  failure?: unknown
}
export const extrasOf = (ctx: Ctx) => (ctx.req as unknown as { waypost: Extras }).waypost

const waitText = ({ wait, locked }: Wait) =>
  locked ? `too many failed attempts, try again in ${wait} s` : `too many attempts at once, try again in ${wait} s`

/** 429 in the words of RFC 6749. */
export function tooMany({ errors }: Library, ctx: Ctx, wait: Wait) {
  ctx.set('Retry-After', String(wait.wait))
  const error = new errors.TemporarilyUnavailable('too many attempts')
  return Object.assign(error, { status: 429, statusCode: 429, expose: true, error_description: waitText(wait) })
}

/** Everything that one instance is made of. */
export const connectPath = '/protocol/openid-connect'
export const defaultScopes = ['profile', 'email']

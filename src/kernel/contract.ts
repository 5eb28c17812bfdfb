/** The caller and context of a call, permission checks, and the keys by which services find each other. */
import { setAuditTenant } from './audit/current-entry.ts'
import { Forbidden, Unauthenticated } from './errors.ts'
import type { Log } from './log.ts'
import {
  everyScope,
  type Holder,
  holds,
  type Permission,
  platformSystem,
  type Resource,
  tenantSystem,
} from './permissions.ts'

/** The authenticated caller. A verified token or key identifies it, or it is the platform itself. */
export interface Caller extends Holder {
  subject: { type: 'user' | 'client' | 'api-key' | 'system'; id: string }
  username?: string
  /** Name of the API key, if the caller is an API key. `username` is then the user name of its owner. */
  keyName?: string
  email?: string
  roles: readonly string[]
}

/** Returns the name of the caller for people: the name of an API key, or the user name of a user. A client has only an id. */
export const nameOfCaller = ({ keyName, username }: Caller): string | undefined => keyName ?? username

/** Context of a call, passed from the API to the store. */
export interface Ctx {
  tenantId: string
  caller: Caller
  correlationId: string
  /** All requests share this log, so calls must include the correlation id. */
  log: Log
  /**
   * Aborts when the caller disconnects, the deadline passes or the process stops. `reason` is `CallerDisconnected`, `DeadlinePassed` or
   * `ProcessStopping`.
   */
  readonly signal: AbortSignal
  /**
   * Calls the listener once when `signal` aborts, and immediately if it has aborted. Returns a function that removes the listener.
   * `onAbort` takes less memory than `signal`, which matters where thousands of callers wait. Absent if `signal` exists anyway.
   */
  onAbort?(listener: (reason: unknown) => void): () => void
}

/**
 * The caller of APIs for which `WAYPOST_AUTH` has switched authentication off. It has every scope in tenant `default` and none on the
 * platform.
 */
export const anonymousCaller: Caller = {
  tenantId: 'default',
  subject: { type: 'system', id: 'anonymous' },
  roles: [],
  permissions: [{ resource: tenantSystem, scopes: new Set([everyScope]) }],
}
export const isAnonymous = ({ type, id }: { type: string; id: string }) =>
  type === anonymousCaller.subject.type && id === anonymousCaller.subject.id

/** Creates the context in which the platform itself acts for a tenant: in jobs, event handlers and commands. */
export const systemCtx = (tenantId: string, log: Log, correlationId: string, signal: AbortSignal): Ctx => ({
  tenantId,
  caller: { tenantId, subject: { type: 'system', id: 'waypost' }, roles: [], permissions: allPermissions },
  correlationId,
  log,
  signal,
})
const allPermissions: readonly Permission[] = [{ resource: platformSystem, scopes: new Set([everyScope]) }]

const resourceName = (resource: Resource) => resource.path.at(-1) ?? platformSystem

/** Throws 403 unless the caller holds the scope on the resource. */
export function authorize(ctx: Ctx, scope: string, resource: Resource) {
  if (!holds(ctx.caller, scope, resource)) throw Forbidden({ scope, resource: resourceName(resource) })
}

/**
 * Checks access to a single resource. If the caller may not read the resource, throws `notFound`, so that the response is the same as for a
 * missing resource. If the caller may read it but lacks the scope, throws 403.
 */
export function authorizeOrNotFound(
  ctx: Ctx,
  access: { read: string; scope: string },
  resource: Resource,
  notFound: () => Error,
) {
  if (!holds(ctx.caller, access.read, resource) && !holds(ctx.caller, access.scope, resource)) throw notFound()
  authorize(ctx, access.scope, resource)
}

/** Returns the tenant of a request. Throws 403 if it is another tenant than the caller's and the caller lacks the scope on the platform. */
export function requireTenantAccess(ctx: Ctx, requested: string | undefined, platformScope: string): string {
  if (requested === undefined || requested === ctx.tenantId) return ctx.tenantId
  authorize(ctx, platformScope, { tenantId: requested, path: [] })
  setAuditTenant(requested)
  return requested
}

/** The key by which a service names the API of another service in `needs`. */
export interface Contract<T> {
  readonly name: string
  /** Ties the type of the API to the contract at compile time. It is never set. */
  readonly api?: T
}
export const contract = <T>(name: string): Contract<T> => ({ name })

/** Identifies the caller by its credentials. Returns undefined without credentials. Throws 401 if the credentials are invalid. */
export type Authenticate = (headers: {
  authorization?: string | undefined
  apiKey?: string | undefined
}) => Promise<Caller | undefined>

export const requireCaller = (caller: Caller | undefined): Caller => {
  if (!caller) throw Unauthenticated()
  return caller
}

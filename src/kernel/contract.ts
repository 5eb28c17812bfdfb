import { Forbidden, Unauthenticated } from './errors.ts'
import type { Log } from './log.ts'
import { everyScope, type Holder, holds, type Permission, platformSystem, type Resource } from './permissions.ts'

/** Who asks: from a verified token or key, or the platform itself. */
export interface Caller extends Holder {
  subject: { type: 'user' | 'client' | 'api-key' | 'system'; id: string }
  username?: string
  email?: string
  roles: readonly string[]
}

/** What travels with every call from the door to the store. */
export interface Ctx {
  tenantId: string
  caller: Caller
  correlationId: string
  /** Shared by all requests: whoever logs names the correlation id. */
  log: Log
  /** Aborts when the caller goes, the deadline passes or the process stops. `reason` is `CallerGone`, `DeadlinePassed` or `ProcessStopping`. */
  readonly signal: AbortSignal
}

/** The platform acting for a tenant: jobs, reactions, commands. */
export const systemCtx = (tenantId: string, log: Log, correlationId: string, signal: AbortSignal): Ctx => ({
  tenantId,
  caller: { tenantId, subject: { type: 'system', id: 'waypost' }, roles: [], permissions: everything },
  correlationId,
  log,
  signal,
})
const everything: readonly Permission[] = [{ resource: platformSystem, scopes: new Set([everyScope]) }]

const nameOf = (resource: Resource) => resource.path.at(-1) ?? platformSystem

/** 403 unless the caller holds the scope there. */
export function authorize(ctx: Ctx, scope: string, resource: Resource) {
  if (!holds(ctx.caller, scope, resource)) throw Forbidden({ scope, resource: nameOf(resource) })
}

/**
 * A single resource: without the right to read it, it does not exist (the given 404, byte for byte the same as for
 * a missing one); readable but not usable so: 403.
 */
export function authorizeOn(
  ctx: Ctx,
  access: { read: string; scope: string },
  resource: Resource,
  missing: () => Error,
) {
  if (!holds(ctx.caller, access.read, resource) && !holds(ctx.caller, access.scope, resource)) throw missing()
  authorize(ctx, access.scope, resource)
}

/** `tenantId` as a parameter is honoured only for a caller with the scope on the platform (document 3). */
export function tenantOf(ctx: Ctx, requested: string | undefined, platformScope: string): string {
  if (requested === undefined || requested === ctx.tenantId) return ctx.tenantId
  authorize(ctx, platformScope, { tenantId: requested, path: [] })
  return requested
}

/** The key under which `needs` finds what another service offers. */
export interface Contract<T> {
  readonly name: string
  /** Only for the type checker. */
  readonly offers?: T
}
export const contract = <T>(name: string): Contract<T> => ({ name })

/** Turns what a caller presents into who it is; `undefined` when it presents nothing. Throws 401 for anything false. */
export type Authenticate = (headers: {
  authorization?: string | undefined
  apiKey?: string | undefined
}) => Promise<Caller | undefined>

export const requireCaller = (caller: Caller | undefined): Caller => {
  if (!caller) throw Unauthenticated()
  return caller
}

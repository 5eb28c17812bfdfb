/** Nobody can grant what they do not hold (document 4, section 1): the one place where this is decided. */
import { authorize, type Ctx } from '../../kernel/contract.ts'
import type { Sql } from '../../kernel/db.ts'
import { Forbidden, invalidField } from '../../kernel/errors.ts'
import {
  everyScope,
  holds,
  onPlatform,
  onResource,
  onTenant,
  type Permission,
  platformSystem,
  type Resource,
  tenantSystem,
} from '../../kernel/permissions.ts'
import { permissionsOf } from '../access.ts'
import { type BackendRow, findBackends, findRoleRights, findSubject } from '../store/access.ts'

/** Built-in roles that hold everything in their tenant, though scope by scope. */
const administrators = ['tenant-admin', 'service']

/** An application's permissions are not asked for its endpoints: what lies below what is not known here. */
const named = (tenantId: string, resource: string): Resource => {
  if (resource === platformSystem) return onPlatform
  return resource === tenantSystem ? onTenant(tenantId) : onResource(tenantId, resource)
}

/** 403 that names the first scope that the caller does not hold there. */
export function mustHold(ctx: Ctx, scopes: Iterable<string>, resource: string) {
  const where = named(ctx.tenantId, resource)
  const administers =
    where.path.length > 1 &&
    ctx.caller.tenantId === ctx.tenantId &&
    ctx.caller.roles.some((role) => administrators.includes(role))
  for (const scope of scopes) {
    if (scope === everyScope && administers && holds(ctx.caller, 'identity:grant:create', onTenant(ctx.tenantId)))
      continue
    authorize(ctx, scope, where)
  }
}

export function mustHoldAll(ctx: Ctx, permissions: readonly Permission[]) {
  for (const { resource, scopes } of permissions) mustHold(ctx, scopes, resource)
}

/** To give a role is to give all that it holds. A role that does not exist is a 400 that names it. */
export async function mustHoldRoles(ctx: Ctx, sql: Sql, names: readonly string[], field = 'roles') {
  const { roles, grants } = await findRoleRights(sql, ctx.tenantId, [...names])
  const missing = names.find((name) => !roles.some((role) => role.name === name))
  if (missing !== undefined) throw invalidField(field, `there is no role ${missing}`)
  mustHoldAll(ctx, permissionsOf(ctx.tenantId, roles, grants))
}

/** Who can set the password or the secret of a subject can act as that subject. */
export async function mustHoldAllOf(ctx: Ctx, sql: Sql, subject: { type: 'user' | 'client'; id: string }) {
  const found = await findSubject(sql, { tenantId: ctx.tenantId, ...subject }, { evenDisabled: true })
  if (found) mustHoldAll(ctx, permissionsOf(ctx.tenantId, found.roles, found.grants))
}

const built = new Set(['AVAILABLE', 'SUSPENDED', 'DISABLED'])
/** Who asks for all tenants at once does not get all their permissions into memory at once. */
const tenantsAtOnce = 100

/** Who sees the secret of a client can act as that client. */
export async function mayActAs(ctx: Ctx, sql: Sql, tenantIds: readonly string[]): Promise<Set<string>> {
  if (holds(ctx.caller, everyScope, onPlatform)) return new Set(tenantIds)
  const mine = new Set<string>()
  for (let at = 0; at < tenantIds.length; at += tenantsAtOnce)
    for (const backend of await findBackends(sql, tenantIds.slice(at, at + tenantsAtOnce)))
      if (holdsAllOf(ctx, backend)) mine.add(backend.tenantId)
  return mine
}

function holdsAllOf(ctx: Ctx, { tenantId, clientId, status, roles, grants }: BackendRow): boolean {
  const { caller } = ctx
  if (caller.tenantId === tenantId && caller.subject.type === 'client' && caller.subject.id === clientId) return true
  // What it will hold is not known yet, and its secret stays the same.
  if (!built.has(status)) return holds(caller, everyScope, onTenant(tenantId))
  try {
    mustHoldAll({ ...ctx, tenantId }, permissionsOf(tenantId, roles, grants))
    return true
  } catch (error) {
    if (Forbidden.is(error)) return false
    throw error
  }
}

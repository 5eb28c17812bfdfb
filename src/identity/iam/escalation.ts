/** Prevents privilege escalation: a caller can grant only permissions that it has itself (document 4, section 1). */
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
import { findRoleNames } from './roles/store.ts'

/** Built-in roles that have every declared scope of their tenant, but not `*`. */
const administrators = ['tenant-admin', 'service']

/**
 * Returns the resource with this name, for checks of permissions. The path of an endpoint contains no application, because the identity
 * service does not store which application an endpoint has.
 */
const resourceNamed = (tenantId: string, resource: string): Resource => {
  if (resource === platformSystem) return onPlatform
  return resource === tenantSystem ? onTenant(tenantId) : onResource(tenantId, resource)
}

/** Throws 403 with the first scope that the caller does not have on the resource. */
export function requireScopes(ctx: Ctx, scopes: Iterable<string>, resource: string) {
  const target = resourceNamed(ctx.tenantId, resource)
  const isAdministrator =
    target.path.length > 1 &&
    ctx.caller.tenantId === ctx.tenantId &&
    ctx.caller.roles.some((role) => administrators.includes(role))
  for (const scope of scopes) {
    if (scope === everyScope && isAdministrator && holds(ctx.caller, 'identity:grant:create', onTenant(ctx.tenantId)))
      continue
    authorize(ctx, scope, target)
  }
}

export function requirePermissions(ctx: Ctx, permissions: readonly Permission[]) {
  for (const { resource, scopes } of permissions) requireScopes(ctx, scopes, resource)
}

/** Requires every permission of these roles, because assigning a role grants them. Throws 400 for an unknown role. */
export async function requirePermissionsOfRoles(ctx: Ctx, sql: Sql, names: readonly string[], field = 'roles') {
  const { roles, grants } = await findRoleRights(sql, ctx.tenantId, [...names])
  const missing = names.find((name) => !roles.some((role) => role.name === name))
  if (missing !== undefined) throw invalidField(field, `there is no role ${missing}`)
  requirePermissions(ctx, permissionsOf(ctx.tenantId, roles, grants))
}

/** Requires every permission of every role of the tenant, because the change affects how all users log in. */
export async function requirePermissionsOfAllRoles(ctx: Ctx, sql: Sql) {
  await requirePermissionsOfRoles(ctx, sql, await findRoleNames(sql, ctx.tenantId))
}

/** Requires every permission of the subject, because a caller that sets its password or secret can act as the subject. */
export async function requirePermissionsOfSubject(
  ctx: Ctx,
  sql: Sql,
  subject: { type: 'user' | 'client'; id: string },
) {
  const found = await findSubject(sql, { tenantId: ctx.tenantId, ...subject }, { includesDisabled: true })
  if (found) requirePermissions(ctx, permissionsOf(ctx.tenantId, found.roles, found.grants))
}

const builtStatuses = new Set(['AVAILABLE', 'SUSPENDED', 'DISABLED'])
/** Number of tenants in a batch. It limits the number of permissions in memory. */
const tenantsPerBatch = 100

/** Returns the tenants whose backend client has no permission that the caller lacks. */
export async function mayActAs(ctx: Ctx, sql: Sql, tenantIds: readonly string[]): Promise<Set<string>> {
  if (holds(ctx.caller, everyScope, onPlatform)) return new Set(tenantIds)
  const allowed = new Set<string>()
  for (let start = 0; start < tenantIds.length; start += tenantsPerBatch)
    for (const backend of await findBackends(sql, tenantIds.slice(start, start + tenantsPerBatch)))
      if (holdsAllOf(ctx, backend)) allowed.add(backend.tenantId)
  return allowed
}

function holdsAllOf(ctx: Ctx, { tenantId, clientId, status, roles, grants }: BackendRow): boolean {
  const { caller } = ctx
  if (caller.tenantId === tenantId && caller.subject.type === 'client' && caller.subject.id === clientId) return true
  // The tenant is still being created, so the permissions of its client are unknown. A caller that sees the client's secret now could use
  // these permissions later.
  if (!builtStatuses.has(status)) return holds(caller, everyScope, onTenant(tenantId))
  try {
    requirePermissions({ ...ctx, signal: ctx.signal, tenantId }, permissionsOf(tenantId, roles, grants))
    return true
  } catch (error) {
    if (Forbidden.is(error)) return false
    throw error
  }
}

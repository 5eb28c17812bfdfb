/** Nobody can grant what they do not hold (document 4, section 1): the one place where this is decided. */
import { authorize, type Ctx } from '../../kernel/contract.ts'
import type { Sql } from '../../kernel/db.ts'
import { invalidField } from '../../kernel/errors.ts'
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
import { findRoleRights, findSubject } from '../store/access.ts'

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
  const administers = where.path.length > 1 && ctx.caller.roles.some((role) => administrators.includes(role))
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

/** Explains permissions: which subjects have a scope on a resource, and which role or grant permits it. */
import { authorize, type Ctx } from '../../../kernel/contract.ts'
import type { Kit } from '../../../kernel/define-service.ts'
import { NotFound } from '../../../kernel/errors.ts'
import { windowOf } from '../../../kernel/paging.ts'
import { everyScope, holds, onTenant, platformSystem, tenantSystem } from '../../../kernel/permissions.ts'
import { canonicalResource, canonicalScope, holdsEverything, platformTenant } from '../../scopes.ts'
import type { RoleRow } from '../../store/access.ts'
import { findUser } from '../../store/users.ts'
import type { Holder, Reason, ScopeOfUser } from './schemas.ts'
import * as store from './store.ts'

export type AccessExplanation = ReturnType<typeof createAccessExplanation>

type Deps = Pick<Kit, 'db' | 'now' | 'scopes'>

export function createAccessExplanation({ db, now, scopes }: Deps) {
  const deps = { db, now, scopes }
  return {
    holders: (ctx: Ctx, query: { scope: string; resources: string[]; offset: number; limit: number }) =>
      listHolders(deps, ctx, query),
    ofUser: (ctx: Ctx, user: { id: string; resources: string[] }) => explainUser(deps, ctx, user),
  }
}

/**
 * Returns the resources on which a permission counts: platform and tenant, then the given resources. The last is the resource that the
 * caller asks about; the others contain it.
 */
function pathOf(tenantId: string, resources: string[]) {
  const names = resources.map(canonicalResource).filter((name) => name !== tenantSystem && name !== platformSystem)
  const isPlatform = resources.length === 1 && canonicalResource(resources[0]!) === platformSystem
  const onPlatform = tenantId === platformTenant
  const path = [...(onPlatform ? [platformSystem] : []), ...(isPlatform ? [] : [tenantSystem]), ...names]
  return { path, onTenant: !isPlatform, onPlatform }
}
type Path = ReturnType<typeof pathOf>

async function listHolders(
  { db, now }: Deps,
  { tenantId }: Ctx,
  { scope, resources, ...page }: { scope: string; resources: string[]; offset: number; limit: number },
) {
  const on = pathOf(tenantId, resources)
  const question = { tenantId, scope: canonicalScope(scope), ...on, now: now() }
  const { count, rows } = await store.findHolders(db.sql, question, windowOf(page))
  const roleNames = [...new Set(rows.flatMap(({ roles }) => roles))]
  const subjects = rows.flatMap(({ id, ownerId }) => (ownerId === null ? [id] : [id, ownerId]))
  const roles = await store.findRoles(db.sql, tenantId, roleNames)
  const grants = await store.findGrantsOnPath(db.sql, tenantId, on.path, { subjects, roles: roleNames })
  const content = rows.map((row): Holder => {
    const { type, id, name, ownerType, ownerId } = row
    const isOwn = (grant: store.GrantOnPath) =>
      (grant.subjectType === type && grant.subjectId === id) ||
      (grant.subjectType === ownerType && grant.subjectId === ownerId) ||
      (grant.subjectType === 'role' && row.roles.includes(grant.subjectId))
    const ownRights = { roles: roles.filter((role) => row.roles.includes(role.name)), grants: grants.filter(isOwn) }
    return {
      subject: { type, id },
      name,
      ...(ownerType !== null && ownerId !== null && { owner: { type: ownerType, id: ownerId } }),
      reasons: reasonsOf(tenantId, on, ownRights, question.scope),
    }
  })
  return { totalElements: count, content }
}

interface Rights {
  roles: readonly RoleRow[]
  grants: readonly store.GrantOnPath[]
}

/** Returns every role and grant that gives the scope on one of the resources of the path. */
function reasonsOf(tenantId: string, on: Path, { roles, grants }: Rights, scope: string): Reason[] {
  const foundIn = (scopes: readonly string[]) => [scope, everyScope].find((name) => scopes.includes(name))
  const ofRoles = roles.flatMap((role) => {
    const onTenantScope = on.onTenant ? foundIn(role.scopes) : undefined
    const onPlatformScope = on.onPlatform
      ? (foundIn(role.platformScopes) ?? (holdsEverything(tenantId, role.name) ? everyScope : undefined))
      : undefined
    return [
      ...(onTenantScope ? [{ role: role.name, resource: tenantSystem, scope: onTenantScope }] : []),
      ...(onPlatformScope ? [{ role: role.name, resource: platformSystem, scope: onPlatformScope }] : []),
    ]
  })
  const ofGrants = grants.flatMap(({ id, subjectType, subjectId, resource, scopes, byCreation }) => {
    const found = foundIn(scopes)
    if (found === undefined) return []
    const role = subjectType === 'role' ? { role: subjectId } : {}
    return [{ ...role, grantId: id, resource, scope: found, ...(byCreation && { byCreation }) }]
  })
  return [...ofRoles, ...ofGrants]
}

async function explainUser({ db, scopes }: Deps, ctx: Ctx, { id, resources }: { id: string; resources: string[] }) {
  const { tenantId } = ctx
  const user = holds(ctx.caller, 'identity:user:read', onTenant(tenantId))
    ? await findUser(db.sql, tenantId, id)
    : undefined
  if (!user) throw NotFound({ what: `User ${id}` })
  for (const scope of ['identity:role:read', 'identity:grant:read']) authorize(ctx, scope, onTenant(tenantId))
  const on = pathOf(tenantId, resources)
  const roles = await store.findRoles(db.sql, tenantId, user.roles)
  const grants = await store.findGrantsOnPath(db.sql, tenantId, on.path, { subjects: [id], roles: user.roles })
  const rights = { roles, grants: grants.filter(({ subjectType }) => subjectType === 'user' || subjectType === 'role') }
  const heldScopes = [
    ...rights.roles.flatMap((role) => [...role.scopes, ...role.platformScopes]),
    ...grants.flatMap((grant) => grant.scopes),
  ]
  // The list includes scopes that no service declares, because roles of a tenant may have them.
  const names = [...new Set([...scopes.keys(), ...heldScopes])].toSorted()
  const content = names.flatMap((scope): ScopeOfUser[] => {
    const reasons = reasonsOf(tenantId, on, rights, scope)
    return reasons.length > 0 ? [{ scope, reasons }] : []
  })
  return { enabled: user.enabled, content }
}

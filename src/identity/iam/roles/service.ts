import { authorizeOrNotFound, type Ctx } from '../../../kernel/contract.ts'
import type { Kit } from '../../../kernel/define-service.ts'
import { NotFound } from '../../../kernel/errors.ts'
import { checkIfMatch, etagOf } from '../../../kernel/etag.ts'
import { windowOf } from '../../../kernel/paging.ts'
import { onTenant, platformSystem, tenantSystem } from '../../../kernel/permissions.ts'
import { AccessChanged } from '../../events.ts'
import { splitScopes } from '../../scopes.ts'
import { BuiltInRole, RoleTaken } from '../errors.ts'
import { requireScopes } from '../escalation.ts'
import type { Role } from './schemas.ts'
import * as store from './store.ts'

const notFound = (name: string) => () => NotFound({ what: `Role ${name}` })

/** Names that have a meaning for the platform. No custom role can have them, even in realms without the built-in role. */
const reserved = ['platform-admin', 'tenant-admin', 'service']

const viewOf = ({ name, description, scopes, platformScopes, builtIn, createdAt }: store.RoleRow): Role => ({
  name,
  ...(description !== null && { description }),
  scopes: [...scopes, ...platformScopes],
  builtIn,
  createdAt,
})

export type Roles = ReturnType<typeof createRoles>

export function createRoles({ db, bus }: Pick<Kit, 'db' | 'bus'>) {
  const authorizeRole = (ctx: Ctx, verb: 'read' | 'update' | 'delete', name: string) =>
    authorizeOrNotFound(
      ctx,
      { read: 'identity:role:read', scope: `identity:role:${verb}` },
      onTenant(ctx.tenantId),
      notFound(name),
    )

  return {
    async list(ctx: Ctx, page: { offset: number; limit: number }) {
      const { count, rows } = await store.findRoles(db.sql, ctx.tenantId, windowOf(page))
      return { totalElements: count, content: rows.map(viewOf) }
    },
    async create(ctx: Ctx, newRole: { name: string; description?: string; scopes: string[] }): Promise<Role> {
      const { scopes, platformScopes } = splitScopes(newRole.scopes)
      requireScopes(ctx, scopes, tenantSystem)
      requireScopes(ctx, platformScopes, platformSystem)
      const { name } = newRole
      if (reserved.includes(name)) throw RoleTaken({ name })
      const role = { name, description: newRole.description ?? null, scopes, platformScopes, builtIn: false }
      return await db.tx(async (sql) => {
        const created = await store.insertRole(sql, ctx.tenantId, role)
        if (!created) throw RoleTaken({ name })
        // Tokens of external issuers may have contained this role before it existed, so cached callers may lack its scopes.
        await bus.publish(sql, AccessChanged, { tenantId: ctx.tenantId })
        return viewOf(created)
      })
    },
    async read(ctx: Ctx, name: string): Promise<Role> {
      authorizeRole(ctx, 'read', name)
      const role = await store.findRole(db.sql, ctx.tenantId, name)
      if (!role) throw notFound(name)()
      return viewOf(role)
    },
    async update(ctx: Ctx, name: string, change: { description?: string; scopes: string[] }, ifMatch?: string) {
      authorizeRole(ctx, 'update', name)
      const { scopes, platformScopes } = splitScopes(change.scopes)
      await db.tx(async (sql) => {
        const role = await store.lockRole(sql, ctx.tenantId, name)
        if (!role) throw notFound(name)()
        if (role.builtIn) throw BuiltInRole({ name })
        checkIfMatch(ifMatch, etagOf(viewOf(role)))
        const added = (after: string[], before: string[]) => after.filter((scope) => !before.includes(scope))
        requireScopes(ctx, added(scopes, role.scopes), tenantSystem)
        requireScopes(ctx, added(platformScopes, role.platformScopes), platformSystem)
        await store.updateRole(sql, ctx.tenantId, {
          name,
          description: change.description ?? null,
          scopes,
          platformScopes,
        })
        await bus.publish(sql, AccessChanged, { tenantId: ctx.tenantId })
      })
    },
    async delete(ctx: Ctx, name: string, ifMatch?: string) {
      authorizeRole(ctx, 'delete', name)
      await db.tx(async (sql) => {
        const role = await store.lockRole(sql, ctx.tenantId, name)
        if (!role) throw notFound(name)()
        if (role.builtIn) throw BuiltInRole({ name })
        checkIfMatch(ifMatch, etagOf(viewOf(role)))
        await store.deleteRole(sql, ctx.tenantId, name)
        await bus.publish(sql, AccessChanged, { tenantId: ctx.tenantId })
      })
    },
  }
}

/** Users of a tenant in v2. The identity service stores them and assigns their roles. */
import type { Identity, NewUser } from '../../identity/contract.ts'
import type { Ctx } from '../../kernel/contract.ts'
import type { Kit } from '../../kernel/define-service.ts'
import { NotFound } from '../../kernel/errors.ts'
import { UsernameTaken } from './errors.ts'
import type { TenantsService } from './service.ts'

export type Users = ReturnType<typeof createUsers>

export const createUsers = (
  { db }: Pick<Kit, 'db'>,
  { identity, tenants }: { identity: Identity; tenants: Pick<TenantsService, 'find'> },
) => ({
  async list(tenantId: string, filter: Parameters<Identity['findUsers']>[1]) {
    await tenants.find(tenantId)
    return await identity.findUsers(tenantId, filter)
  },

  /** Creates a user without roles, because the caller may lack the permissions that a role grants. */
  async create(tenantId: string, person: Omit<NewUser, 'roles'>) {
    await tenants.find(tenantId)
    const created = await db.tx((sql) => identity.createUser(sql, tenantId, { ...person, roles: [] }))
    if (!created) throw UsernameTaken({ username: person.username })
    return { user: { ...person, id: created.id, enabled: true }, generatedPassword: created.password }
  },

  async remove(ctx: Ctx, tenantId: string, id: string) {
    await tenants.find(tenantId)
    const deleted = await db.tx((sql) => identity.deleteUser(sql, tenantId, id, ctx))
    if (!deleted) throw NotFound({ what: `User ${id}` })
  },
})

import { requireTenantAccess } from '../../../kernel/contract.ts'
import type { Http } from '../../../kernel/http/routes.ts'
import { windowOf } from '../../../kernel/paging.ts'
import * as schemas from '../schemas/v2.ts'
import type { Users } from '../users.ts'
import { asUser } from '../views.ts'
import { noStore } from './no-store.ts'

const read = 'identity:tenant:read'
const update = 'identity:tenant:update'

export function userRoutes(http: Http, users: Users) {
  http.get(
    '/users',
    { schema: schemas.listUsers, config: { scope: read, on: 'tenant' } },
    async ({ ctx, query: { tenant_id, search, enabled, offset, limit } }) => {
      const tenantId = requireTenantAccess(ctx, tenant_id, read)
      const page = await users.list(tenantId, {
        ...(search !== undefined && { search }),
        ...(enabled !== undefined && { enabled }),
        ...windowOf({ offset, limit }),
      })
      return { count: page.count, results: page.users.map((user) => asUser(tenantId, user)), limit, offset }
    },
  )

  http.post(
    '/users',
    { schema: schemas.createUser, config: { scope: update, on: 'tenant' } },
    async ({ ctx, query, body }, reply) => {
      const tenantId = requireTenantAccess(ctx, query.tenant_id, update)
      const { user, generatedPassword } = await users.create(tenantId, {
        username: body.username,
        email: body.email,
        firstName: body.first_name,
        lastName: body.last_name,
        ...(body.password !== undefined && { password: body.password }),
      })
      const shown = asUser(tenantId, user)
      return noStore(reply)
        .code(201)
        .send({ ...shown, ...(generatedPassword && { password: generatedPassword }) })
    },
  )

  http.delete(
    '/users/:pk',
    { schema: schemas.removeUser, config: { scope: update, on: 'tenant' } },
    async ({ ctx, params, query }, reply) => {
      await users.remove(ctx, requireTenantAccess(ctx, query.tenant_id, update), params.pk)
      return reply.code(204).send()
    },
  )
}

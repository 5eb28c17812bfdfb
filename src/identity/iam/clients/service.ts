import { authorizeOrNotFound, type Ctx } from '../../../kernel/contract.ts'
import type { Kit } from '../../../kernel/define-service.ts'
import { NotFound } from '../../../kernel/errors.ts'
import { windowOf } from '../../../kernel/paging.ts'
import { onTenant } from '../../../kernel/permissions.ts'
import type { Realms } from '../../realms.ts'
import { NoSecret } from '../errors.ts'
import { requirePermissionsOfSubject } from '../escalation.ts'
import * as store from './store.ts'

const notFound = (id: string) => () => NotFound({ what: `Client ${id}` })

export type Clients = ReturnType<typeof createClients>

export function createClients({ db }: Pick<Kit, 'db'>, realms: Realms) {
  return {
    async list(ctx: Ctx, page: { offset: number; limit: number }) {
      const { count, rows } = await store.findClients(db.sql, ctx.tenantId, windowOf(page))
      return {
        totalElements: count,
        content: rows.map((client) => ({ ...client, public: client.kind === 'frontend' })),
      }
    },
    async changeSecret(ctx: Ctx, id: string): Promise<{ secret: string }> {
      const access = { read: 'identity:client:read', scope: 'identity:client:update' }
      authorizeOrNotFound(ctx, access, onTenant(ctx.tenantId), notFound(id))
      const client = await store.findClient(db.sql, ctx.tenantId, id)
      if (!client) throw notFound(id)()
      if (client.kind === 'frontend') throw NoSecret({ id })
      const isCaller = ctx.caller.subject.type === 'client' && ctx.caller.subject.id === id
      if (!isCaller) await requirePermissionsOfSubject(ctx, db.sql, { type: 'client', id })
      const secret = await db.tx((sql) => realms.changeSecret(sql, ctx.tenantId, id))
      if (secret === undefined) throw notFound(id)()
      return { secret }
    },
  }
}

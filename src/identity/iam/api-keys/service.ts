import { authorizeOrNotFound, type Ctx } from '../../../kernel/contract.ts'
import type { Kit } from '../../../kernel/define-service.ts'
import { Forbidden, invalidField, NotFound, Unauthenticated } from '../../../kernel/errors.ts'
import { newSecret } from '../../../kernel/ids.ts'
import { windowOf } from '../../../kernel/paging.ts'
import { holdsSomewhere, onTenant, tenantSystem } from '../../../kernel/permissions.ts'
import { hashOfKey, keyPrefix } from '../../api-key-access.ts'
import { AccessChanged } from '../../events.ts'
import { canonicalScopes } from '../../scopes.ts'
import { NoKeysForExternalUsers } from '../errors.ts'
import type { ApiKey, NewApiKey } from './schemas.ts'
import * as store from './store.ts'

const notFound = (id: string) => () => NotFound({ what: `API key ${id}` })

const viewOf = (row: store.ApiKeyRow): ApiKey => ({
  id: row.id,
  name: row.name,
  owner: { type: row.ownerType, id: row.ownerId },
  ...(row.scopes !== null && { scopes: row.scopes }),
  ...(row.expiresAt !== null && { expiresAt: row.expiresAt }),
  ...(row.lastUsedAt !== null && { lastUsedAt: row.lastUsedAt }),
  createdAt: row.createdAt,
})

export type ApiKeys = ReturnType<typeof createApiKeys>

export function createApiKeys({ db, bus, now, newId }: Pick<Kit, 'db' | 'bus' | 'now' | 'newId'>) {
  /**
   * Returns the owner and the limits of a new key. If the caller itself uses a key, the new key has at most the scopes and the lifetime of
   * that key.
   */
  async function ownerOf({ tenantId, caller }: Ctx) {
    const { type, id } = caller.subject
    if (type === 'api-key') {
      const key = await store.findApiKey(db.sql, tenantId, id)
      if (!key) throw Unauthenticated()
      return { ownerType: key.ownerType, ownerId: key.ownerId, scopes: key.scopes, expiresAt: key.expiresAt }
    }
    return { ownerType: type === 'client' ? type : ('user' as const), ownerId: id, scopes: null, expiresAt: null }
  }

  return {
    async list(ctx: Ctx, page: { offset: number; limit: number }) {
      const { count, rows } = await store.findApiKeys(db.sql, ctx.tenantId, windowOf(page))
      return { totalElements: count, content: rows.map(viewOf) }
    },
    async create(ctx: Ctx, newKey: NewApiKey): Promise<ApiKey & { key: string }> {
      const owner = await ownerOf(ctx)
      const scopes = newKey.scopes ? canonicalScopes(newKey.scopes) : owner.scopes
      for (const scope of newKey.scopes ? scopes! : []) {
        const isHeld = holdsSomewhere(ctx.caller, scope) && (owner.scopes === null || owner.scopes.includes(scope))
        if (!isHeld) throw Forbidden({ scope, resource: tenantSystem })
      }
      const expiresAt = newKey.expiresAt === undefined ? owner.expiresAt : new Date(newKey.expiresAt)
      if (newKey.expiresAt !== undefined && !(expiresAt!.getTime() > now().getTime()))
        throw invalidField('expiresAt', 'expected a time in the future')
      if (expiresAt && expiresAt.getUTCFullYear() > 9999) throw invalidField('expiresAt', 'expected a year up to 9999')
      if (owner.expiresAt !== null && expiresAt!.getTime() > owner.expiresAt.getTime())
        throw invalidField('expiresAt', 'expected a time that is not after the expiry of the API key of this request')
      const key = keyPrefix + newSecret()
      const row: store.ApiKeyRow = {
        id: newId(),
        name: newKey.name,
        ownerType: owner.ownerType,
        ownerId: owner.ownerId,
        scopes,
        expiresAt,
        lastUsedAt: null,
        createdAt: now(),
      }
      await db.tx(async (sql) => {
        if (!(await store.insertApiKey(sql, ctx.tenantId, hashOfKey(key), row))) throw NoKeysForExternalUsers()
      })
      return { ...viewOf(row), key }
    },
    async delete(ctx: Ctx, id: string) {
      const access = { read: 'identity:api-key:read', scope: 'identity:api-key:delete' }
      authorizeOrNotFound(ctx, access, onTenant(ctx.tenantId), notFound(id))
      await db.tx(async (sql) => {
        if (!(await store.deleteApiKey(sql, ctx.tenantId, id))) throw notFound(id)()
        await bus.publish(sql, AccessChanged, { tenantId: ctx.tenantId, subject: { type: 'api-key', id } })
      })
    },
  }
}

import { authorizeOrNotFound, type Ctx } from '../../../kernel/contract.ts'
import type { Kit } from '../../../kernel/define-service.ts'
import { invalidField, NotFound } from '../../../kernel/errors.ts'
import { originProblem } from '../../../kernel/origin.ts'
import { windowOf } from '../../../kernel/paging.ts'
import { onTenant } from '../../../kernel/permissions.ts'
import { isRedirectPattern } from '../../clients.ts'
import type { Realms } from '../../realms.ts'
import { effectiveSettings } from '../../store/realms.ts'
import { NoSecret } from '../errors.ts'
import { requirePermissionsOfAllRoles, requirePermissionsOfSubject } from '../escalation.ts'
import type { Client, ClientChange } from './schemas.ts'
import * as store from './store.ts'

const notFound = (id: string) => () => NotFound({ what: `Client ${id}` })

const viewOf = ({ id, kind, roles, ...client }: store.ClientRow): Client => ({
  id,
  kind,
  public: kind === 'frontend',
  ...effectiveSettings(client),
  roles,
})

/**
 * Returns whether a change lets logins return to a new address or run without PKCE. The owner of the address could then get the tokens of
 * any user who is signed in and opens a prepared link, so the caller needs the permissions of all roles.
 */
function opensLogins(client: store.ClientRow, { redirectUris = [], pkceRequired }: ClientChange): boolean {
  const before = effectiveSettings(client)
  const hasNewAddress = redirectUris.some((uri) => !before.redirectUris.includes(uri))
  return hasNewAddress || (pkceRequired === false && before.pkceRequired)
}

export type Clients = ReturnType<typeof createClients>

export function createClients({ db }: Pick<Kit, 'db'>, realms: Realms) {
  return {
    async list(ctx: Ctx, page: { offset: number; limit: number }) {
      const { count, rows } = await store.findClients(db.sql, ctx.tenantId, windowOf(page))
      return {
        totalElements: count,
        content: rows.map(viewOf),
      }
    },
    async change(ctx: Ctx, id: string, change: ClientChange): Promise<Client> {
      const access = { read: 'identity:client:read', scope: 'identity:client:update' }
      authorizeOrNotFound(ctx, access, onTenant(ctx.tenantId), notFound(id))
      const { redirectUris, webOrigins, pkceRequired } = change
      for (const [index, uri] of (redirectUris ?? []).entries())
        if (!isRedirectPattern(uri)) throw invalidField(`redirectUris.${index}`, 'expected an absolute address')
      for (const [index, origin] of (webOrigins ?? []).entries())
        if (origin !== '*' && originProblem(origin))
          throw invalidField(`webOrigins.${index}`, `${originProblem(origin)}, or *`)
      const ownSettings = {
        ...(redirectUris && { redirectUris }),
        ...(webOrigins && { webOrigins }),
        ...(pkceRequired !== undefined && { pkceRequired }),
      }
      const client = await db.tx(async (sql) => {
        // The lock excludes a concurrent change that removes an address or requires PKCE, so that `before` is still correct at the update.
        const before = await store.lockClient(sql, ctx.tenantId, id)
        if (before && opensLogins(before, change)) await requirePermissionsOfAllRoles(ctx, sql)
        if (!(await store.updateOwnSettings(sql, ctx.tenantId, id, ownSettings))) throw notFound(id)()
        await realms.changed(sql, ctx.tenantId)
        return await store.findClient(sql, ctx.tenantId, id)
      })
      return viewOf(client!)
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

import { authorizeOrNotFound, type Ctx } from '../../../kernel/contract.ts'
import type { Kit } from '../../../kernel/define-service.ts'
import { invalidField, NotFound } from '../../../kernel/errors.ts'
import { windowOf } from '../../../kernel/paging.ts'
import { onTenant } from '../../../kernel/permissions.ts'
import { addressProblem } from '../../../kernel/safe-fetch.ts'
import { AccessChanged, IssuersChanged } from '../../events.ts'
import { IssuerTaken } from '../errors.ts'
import { requirePermissionsOfAllRoles } from '../escalation.ts'
import type { Issuer, NewIssuer } from './schemas.ts'
import * as store from './store.ts'

const notFound = (id: string) => () => NotFound({ what: `Issuer ${id}` })

const viewOf = ({ audience, rolesClaim, ...row }: store.IssuerRow): Issuer => ({
  ...row,
  ...(audience !== null && { audience }),
  ...(rolesClaim !== null && { rolesClaim }),
})

export type Issuers = ReturnType<typeof createIssuers>

export function createIssuers(kit: Pick<Kit, 'db' | 'bus' | 'now' | 'newId' | 'baseUrl' | 'platform'>) {
  const { db, bus, now, newId } = kit

  function rejectInvalid(issuer: string) {
    const problem = addressProblem(issuer, { allowPrivate: kit.platform.allowPrivateAddresses })
    if (problem) throw invalidField('issuer', problem)
    const url = new URL(issuer)
    if (url.search !== '' || url.hash !== '') throw invalidField('issuer', 'must not have a query or fragment')
    if (url.origin === new URL(kit.baseUrl()).origin)
      throw invalidField('issuer', 'expected the issuer of another provider, not of this platform')
  }

  return {
    async list(ctx: Ctx, page: { offset: number; limit: number }) {
      const { count, rows } = await store.findIssuers(db.sql, ctx.tenantId, windowOf(page))
      return { totalElements: count, content: rows.map(viewOf) }
    },
    async create(ctx: Ctx, newIssuer: NewIssuer): Promise<Issuer> {
      rejectInvalid(newIssuer.issuer)
      const row: store.IssuerRow = {
        id: newId(),
        issuer: newIssuer.issuer,
        audience: newIssuer.audience,
        rolesClaim: newIssuer.rolesClaim ?? null,
        createdAt: now(),
      }
      await db.tx(async (sql) => {
        // The issuer's tokens can name any role of the tenant, so the caller needs the permissions of all roles.
        await requirePermissionsOfAllRoles(ctx, sql)
        if (!(await store.insertIssuer(sql, ctx.tenantId, row))) throw IssuerTaken(newIssuer)
        await bus.publish(sql, IssuersChanged, { tenantId: ctx.tenantId, issuer: newIssuer.issuer })
      })
      return viewOf(row)
    },
    async delete(ctx: Ctx, id: string) {
      const access = { read: 'identity:issuer:read', scope: 'identity:issuer:delete' }
      authorizeOrNotFound(ctx, access, onTenant(ctx.tenantId), notFound(id))
      await db.tx(async (sql) => {
        const issuer = await store.deleteIssuer(sql, ctx.tenantId, id)
        if (issuer === undefined) throw notFound(id)()
        await bus.publish(sql, IssuersChanged, { tenantId: ctx.tenantId, issuer })
        await bus.publish(sql, AccessChanged, { tenantId: ctx.tenantId })
      })
    },
  }
}

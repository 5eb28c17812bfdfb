import { authorizeOrNotFound, type Ctx } from '../../../kernel/contract.ts'
import type { Sql } from '../../../kernel/db.ts'
import type { Kit } from '../../../kernel/define-service.ts'
import { invalidField, NotFound } from '../../../kernel/errors.ts'
import { rowsOfPage } from '../../../kernel/page-parts.ts'
import { windowOf } from '../../../kernel/paging.ts'
import { onTenant } from '../../../kernel/permissions.ts'
import type { Identity } from '../../contract.ts'
import { TooManyGrants } from '../../errors.ts'
import { AccessChanged, CreatorGranted } from '../../events.ts'
import { canonicalResource, canonicalScopes } from '../../scopes.ts'
import { deleteGrantsOn, insertCreatorGrant } from '../../store/access.ts'
import { requireScopes } from '../escalation.ts'
import type { Grant, NewGrant, SubjectType } from './schemas.ts'
import * as store from './store.ts'

const notFound = (id: string) => () => NotFound({ what: `Grant ${id}` })

const viewOf = ({ subjectType, subjectId, ...grant }: store.GrantRow): Grant => ({
  ...grant,
  subject: { type: subjectType, id: subjectId },
})

const rowsPerPart = 1000

/** These roles have every scope, so a grant to a creator with such a role would add nothing (store/access.ts). */
const administrators = ['tenant-admin', 'service', 'platform-admin']

export interface Grants extends Pick<Identity, 'grantCreator' | 'forgetResource'> {
  list(
    ctx: Ctx,
    query: { subjectType?: SubjectType; subjectId?: string; resource?: string; offset: number; limit: number },
  ): Promise<{ totalElements: number; items: AsyncIterable<Grant> }>
  create(ctx: Ctx, grant: NewGrant): Promise<Grant>
  delete(ctx: Ctx, id: string): Promise<void>
}

/**
 * Creates the operations on grants. `scopesMax` limits the scopes that are given to a subject, because each node keeps them in memory.
 * Grants of creators do not count: a caller may register any number of endpoints.
 */
export function createGrants(
  { db, bus, now, newId }: Pick<Kit, 'db' | 'bus' | 'now' | 'newId'>,
  scopesMax: number,
): Grants {
  /** Publishes that a grant has changed. A grant to a role can affect any subject of the tenant, so the event then names no subject. */
  const publishChange = (sql: Sql, tenantId: string, { type, id }: { type: SubjectType; id: string }) =>
    bus.publish(sql, AccessChanged, { tenantId, ...(type !== 'role' && { subject: { type, id } }) })

  return {
    async list(ctx, { subjectType = null, subjectId = null, resource = null, ...page }) {
      const { tenantId } = ctx
      const filter = { tenantId, subjectType, subjectId, resource: resource && canonicalResource(resource) }
      // A tenant has a grant for each object that a user has created, so a list of all grants can have a million rows.
      const rows = rowsOfPage(windowOf(page), {
        rowsPerPart,
        rows: (window) => store.findGrants(db.sql, filter, window),
        ids: (window) => store.findGrantIds(db.sql, filter, window),
        byIds: (ids) => store.findGrantsById(db.sql, tenantId, ids),
      })
      async function* items() {
        for await (const row of rows) yield viewOf(row)
      }
      return { totalElements: await store.countGrants(db.sql, filter), items: items() }
    },
    async create(ctx, newGrant) {
      const resource = canonicalResource(newGrant.resource)
      const scopes = canonicalScopes(newGrant.scopes)
      requireScopes(ctx, scopes, resource)
      const { type, id } = newGrant.subject
      const grant = { id: newId(), subjectType: type, subjectId: id, resource, scopes, createdAt: now() }
      await db.tx(async (sql) => {
        if (!(await store.subjectExists(sql, ctx.tenantId, type, id)))
          throw invalidField('subject.id', `there is no ${type} ${id}`)
        // Grants that are given at the same time can exceed the limit by a few.
        const given = await store.countGivenScopes(sql, ctx.tenantId, type, id)
        if (given + scopes.length > scopesMax)
          throw TooManyGrants({ subject: type === 'role' ? 'all roles' : `${type} ${id}`, limit: scopesMax })
        await store.insertGrant(sql, ctx.tenantId, grant)
        await publishChange(sql, ctx.tenantId, { type, id })
      })
      return viewOf(grant)
    },
    async delete(ctx, id) {
      const access = { read: 'identity:grant:read', scope: 'identity:grant:delete' }
      authorizeOrNotFound(ctx, access, onTenant(ctx.tenantId), notFound(id))
      await db.tx(async (sql) => {
        const grant = await store.deleteGrant(sql, ctx.tenantId, id)
        if (!grant) throw notFound(id)()
        await publishChange(sql, ctx.tenantId, { type: grant.subjectType, id: grant.subjectId })
      })
    },
    async grantCreator(sql, { tenantId, caller }, resource) {
      const { type, id } = caller.subject
      // The platform itself has every scope, and a caller of another tenant has its scopes on the platform, so neither needs a grant.
      if (type === 'system' || caller.tenantId !== tenantId) return
      const grant = { tenantId, id: newId(), subjectType: type, subjectId: id, resource }
      const holder = await insertCreatorGrant(sql, grant)
      if (holder && !caller.roles.some((role) => administrators.includes(role)))
        await bus.publish(sql, CreatorGranted, { tenantId, subject: holder, resource })
    },
    async forgetResource(sql, tenantId, resource) {
      const deleted = await deleteGrantsOn(sql, tenantId, resource)
      const subjects = new Map(deleted.map(({ subjectType: type, subjectId: id }) => [`${type}\n${id}`, { type, id }]))
      for (const subject of subjects.values()) await publishChange(sql, tenantId, subject)
    },
  }
}

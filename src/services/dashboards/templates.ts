/** Templates: dashboards that belong to versions of applications. */
import type { Ctx } from '../../kernel/contract.ts'
import type { Kit } from '../../kernel/define-service.ts'
import { checkIfMatch, etagOf } from '../../kernel/etag.ts'
import type { Applications } from '../applications/contract.ts'
import { requireApplication } from './access.ts'
import { checkDefinition } from './definition.ts'
import { NoTemplate } from './errors.ts'
import * as store from './store.ts'
import type { DashboardInput, TemplateRow } from './types.ts'

type Deps = Pick<Kit, 'db' | 'now'> & { applications: Applications }

export const etagOfTemplate = ({ appVersionName, updatedDate, definition, name, description }: TemplateRow) =>
  etagOf([appVersionName, updatedDate, name, description], definition)

export type Templates = ReturnType<typeof createTemplates>

export function createTemplates({ db, now, applications }: Deps) {
  /** Returns the application version. Throws 404 or 403 unless the caller has the permission on the application of this version. */
  async function requireVersion(ctx: Ctx, appVersionName: string, verb: 'read' | 'update') {
    const notFound = () => NoTemplate({ appVersionName })
    const version = await applications.findVersion(appVersionName)
    if (version?.tenantId !== ctx.tenantId) throw notFound()
    requireApplication(ctx, version, verb, notFound)
    return version
  }
  return {
    async get(ctx: Ctx, appVersionName: string) {
      await requireVersion(ctx, appVersionName, 'read')
      const found = await store.findTemplate(db.sql, appVersionName)
      if (found?.tenantId !== ctx.tenantId) throw NoTemplate({ appVersionName })
      return found
    },
    async put(ctx: Ctx, appVersionName: string, input: DashboardInput, ifMatch: string | undefined) {
      const { applicationName } = await requireVersion(ctx, appVersionName, 'update')
      checkDefinition(input.definition)
      const row: TemplateRow = {
        appVersionName,
        tenantId: ctx.tenantId,
        applicationName,
        name: input.name,
        description: input.description ?? null,
        definition: JSON.stringify(input.definition),
        updatedDate: now(),
      }
      await db.tx(async (sql) => {
        const old = await store.lockTemplate(sql, appVersionName)
        // The version is checked in the transaction, so that a template cannot outlive its version.
        if (!(await applications.findVersion(appVersionName, sql))) throw NoTemplate({ appVersionName })
        checkIfMatch(ifMatch, old && etagOfTemplate(old))
        await store.upsertTemplate(sql, row)
      })
      return row
    },
    async delete(ctx: Ctx, appVersionName: string, ifMatch: string | undefined) {
      await requireVersion(ctx, appVersionName, 'update')
      await db.tx(async (sql) => {
        const old = await store.lockTemplate(sql, appVersionName)
        if (old?.tenantId !== ctx.tenantId) throw NoTemplate({ appVersionName })
        checkIfMatch(ifMatch, etagOfTemplate(old))
        await store.deleteTemplate(sql, ctx.tenantId, appVersionName)
      })
    },
  }
}

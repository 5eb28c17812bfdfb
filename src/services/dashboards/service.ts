import type { Identity } from '../../identity/contract.ts'
import { type Caller, type Ctx, nameOfCaller } from '../../kernel/contract.ts'
import type { Kit } from '../../kernel/define-service.ts'
import { checkIfMatch, etagOf } from '../../kernel/etag.ts'
import { windowOf } from '../../kernel/paging.ts'
import type { Applications } from '../applications/contract.ts'
import { requireDashboard, visibleDashboards } from './access.ts'
import { dashboardResourceName } from './contract.ts'
import { checkDefinition } from './definition.ts'
import { NoDashboardVersion, TooManyDashboards } from './errors.ts'
import { dashboardsMax, versionsMax } from './limits.ts'
import * as store from './store.ts'
import { createTemplates, type Templates } from './templates.ts'
import type { DashboardInput, DashboardRow, SummaryRow, VersionRow, VersionSummaryRow } from './types.ts'

/** Contents of a new version; `definition` is JSON text. */
type Contents = Pick<DashboardRow, 'name' | 'description' | 'definition'>

export const etagOfDashboard = ({ dashboardId, version, updatedDate }: SummaryRow) =>
  etagOf([dashboardId, version, updatedDate])

export interface DashboardsService {
  list(
    ctx: Ctx,
    query: { search?: string; offset: number; limit: number },
  ): Promise<{ total: number; rows: SummaryRow[] }>
  get(ctx: Ctx, dashboardId: string): Promise<DashboardRow>
  create(ctx: Ctx, input: DashboardInput): Promise<DashboardRow>
  update(ctx: Ctx, dashboardId: string, input: DashboardInput, ifMatch: string | undefined): Promise<DashboardRow>
  delete(ctx: Ctx, dashboardId: string, ifMatch: string | undefined): Promise<void>
  versions(ctx: Ctx, dashboardId: string): Promise<VersionSummaryRow[]>
  version(ctx: Ctx, dashboardId: string, version: number): Promise<VersionRow>
  restore(ctx: Ctx, dashboardId: string, version: number, ifMatch: string | undefined): Promise<DashboardRow>
  templates: Templates
  forgetVersion(sql: Parameters<typeof store.deleteTemplate>[0], tenantId: string, versionName: string): Promise<void>
  forgetTenant(sql: Parameters<typeof store.deleteTenant>[0], tenantId: string): Promise<void>
}

type Deps = Pick<Kit, 'db' | 'now' | 'newId'> & {
  identity: Pick<Identity, 'grantCreator' | 'forgetResource'>
  applications: Applications
}

export function createDashboards(deps: Deps): DashboardsService {
  const { db } = deps
  const read = async (ctx: Ctx, dashboardId: string) =>
    requireDashboard(ctx, dashboardId, await store.findDashboard(db.sql, dashboardId), 'read')
  return {
    async list(ctx, { search, ...page }) {
      const query = { tenantId: ctx.tenantId, visibleIds: visibleDashboards(ctx), search }
      const { count, rows } = await store.findDashboards(db.sql, query, windowOf(page))
      return { total: count, rows }
    },
    get: read,
    create: (ctx, input) => create(deps, ctx, input),
    update(ctx, dashboardId, { name, description, definition }, ifMatch) {
      checkDefinition(definition)
      const contents = { name, description: description ?? null, definition: JSON.stringify(definition) }
      return write(deps, ctx, { dashboardId, ifMatch, contentsOf: async () => contents })
    },
    async delete(ctx, dashboardId, ifMatch) {
      await db.tx(async (sql) => {
        const found = requireDashboard(ctx, dashboardId, await store.lockDashboard(sql, dashboardId), 'delete')
        checkIfMatch(ifMatch, etagOfDashboard(found))
        await store.deleteDashboard(sql, dashboardId)
        await deps.identity.forgetResource(sql, ctx.tenantId, dashboardResourceName(dashboardId))
      })
    },
    async versions(ctx, dashboardId) {
      await read(ctx, dashboardId)
      return await store.findVersions(db.sql, dashboardId)
    },
    async version(ctx, dashboardId, version) {
      await read(ctx, dashboardId)
      return requireVersion(dashboardId, version, await store.findVersion(db.sql, dashboardId, version))
    },
    restore: (ctx, dashboardId, version, ifMatch) =>
      write(deps, ctx, {
        dashboardId,
        ifMatch,
        contentsOf: async (sql) =>
          requireVersion(dashboardId, version, await store.findVersion(sql, dashboardId, version)),
      }),
    templates: createTemplates(deps),
    forgetVersion: store.deleteTemplate,
    forgetTenant: store.deleteTenant,
  }
}

function requireVersion(dashboardId: string, version: number, found: VersionRow | undefined): VersionRow {
  if (!found) throw NoDashboardVersion({ dashboardId, version: String(version) })
  return found
}

const authorOf = (caller: Caller) => ({
  authorType: caller.subject.type,
  authorId: caller.subject.id,
  authorName: nameOfCaller(caller) ?? null,
})

async function create({ db, now, newId, identity }: Deps, ctx: Ctx, input: DashboardInput) {
  checkDefinition(input.definition)
  const { subject } = ctx.caller
  const at = now()
  const contents: Contents = {
    name: input.name,
    description: input.description ?? null,
    definition: JSON.stringify(input.definition),
  }
  const row: DashboardRow = {
    dashboardId: newId(),
    tenantId: ctx.tenantId,
    ...contents,
    ownerType: subject.type,
    ownerId: subject.id,
    ownerName: nameOfCaller(ctx.caller) ?? null,
    version: 1,
    createdDate: at,
    updatedDate: at,
  }
  await db.tx(async (sql) => {
    if ((await store.lockAndCount(sql, ctx.tenantId)) >= dashboardsMax)
      throw TooManyDashboards({ max: String(dashboardsMax) })
    await store.insertDashboard(sql, row)
    const version = { version: 1, ...contents, ...authorOf(ctx.caller), createdDate: at }
    await store.insertVersion(sql, row.dashboardId, version, versionsMax)
    await identity.grantCreator(sql, ctx, dashboardResourceName(row.dashboardId))
  })
  return row
}

interface Write {
  dashboardId: string
  ifMatch: string | undefined
  contentsOf(sql: Parameters<typeof store.findVersion>[0]): Promise<Contents>
}

/** Adds a version and makes it the current version. */
async function write({ db, now }: Deps, ctx: Ctx, { dashboardId, ifMatch, contentsOf }: Write) {
  return await db.tx(async (sql) => {
    const old = requireDashboard(ctx, dashboardId, await store.lockDashboard(sql, dashboardId), 'update')
    checkIfMatch(ifMatch, etagOfDashboard(old))
    const { name, description, definition } = await contentsOf(sql)
    const change = { name, description, definition, version: old.version + 1, updatedDate: now() }
    await store.updateDashboard(sql, dashboardId, change)
    const { updatedDate: createdDate, ...contents } = change
    await store.insertVersion(sql, dashboardId, { ...contents, ...authorOf(ctx.caller), createdDate }, versionsMax)
    return { ...old, ...change }
  })
}

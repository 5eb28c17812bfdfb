/** Account integrations. Each links the tenant with a user of a network who owns gateways. */
import type { Ctx } from '../../../kernel/contract.ts'
import { isUniqueViolation, type Sql } from '../../../kernel/db.ts'
import { checkIfMatch, etagOf } from '../../../kernel/etag.ts'
import { windowOf } from '../../../kernel/paging.ts'
import { onTenant } from '../../../kernel/permissions.ts'
import { GatewaysAttached, NetUsernameTaken } from '../errors.ts'
import * as store from '../store/account-integrations.ts'
import type { IntegrationRow } from '../store/app-integrations.ts'
import { findGateways } from '../store/gateway-integrations.ts'
import { deleteIntegration, type Status, updateIntegration } from '../store/integrations.ts'
import {
  accountResourceName,
  accountScopes,
  type Deps,
  gatewayScopes,
  grantToCreator,
  requireAccount,
  visibleAccounts,
} from './access.ts'
import {
  connectionOf,
  connectionView,
  type IntegrationPatch,
  type NewConnection,
  patchedColumns,
} from './connections.ts'

type AccountView = ReturnType<typeof connectionView>
interface Shown {
  etag: string
  view: AccountView
}

export interface AccountIntegrationOperations {
  create(ctx: Ctx, given: NewConnection): Promise<Shown>
  list(
    ctx: Ctx,
    query: { status?: Status; offset: number; limit: number },
  ): Promise<{ totalElements: number; content: AccountView[] }>
  get(ctx: Ctx, id: number): Promise<Shown>
  patch(ctx: Ctx, id: number, patch: IntegrationPatch, ifMatch: string | undefined): Promise<Shown>
  delete(ctx: Ctx, id: number, ifMatch: string | undefined): Promise<void>
  setStatus(ctx: Ctx, id: number, status: Status): Promise<void>
}

const creatorScopes = [
  ...[accountScopes.read, accountScopes.update, accountScopes.delete, accountScopes.createGateway],
  ...Object.values(gatewayScopes),
]

export const createAccountIntegrationOperations = (deps: Deps): AccountIntegrationOperations => ({
  create: (ctx, given) => create(deps, ctx, given),
  async list(ctx, query) {
    const selection = { tenantId: ctx.tenantId, ids: visibleAccounts(ctx), status: query.status ?? 'ACTIVE' }
    const { total, rows } = await store.findAccounts(deps.kit.db.sql, selection, windowOf(query))
    return { totalElements: total, content: rows.map(connectionView) }
  },
  get: async (ctx, id) => shown(requireAccount(ctx, id, await store.findAccount(deps.kit.db.sql, id))),
  patch: (ctx, id, patch, ifMatch) => change(deps, ctx, id, patch, ifMatch),
  delete: (ctx, id, ifMatch) => remove(deps, ctx, id, ifMatch),
  setStatus: (ctx, id, status) => setStatus(deps, ctx, id, status),
})

const etagFor = ({ id, version }: IntegrationRow) => etagOf('account-integration', id, version)
const shown = (row: IntegrationRow): Shown => ({ etag: etagFor(row), view: connectionView(row) })

async function create(deps: Deps, ctx: Ctx, connection: NewConnection): Promise<Shown> {
  const { kit } = deps
  const { tenantId } = ctx
  const row = {
    ...connectionOf(kit, connection, { usesMqtt: false }),
    tenantId,
    status: 'ACTIVE' as const,
    createdAt: kit.now(),
  }
  try {
    const id = await kit.db.tx(async (sql) => {
      const created = await store.insertAccount(sql, row)
      const resource = { name: accountResourceName(created), above: onTenant(tenantId), scopes: creatorScopes }
      await grantToCreator(deps, sql, ctx, resource)
      return created
    })
    return shown((await store.findAccount(kit.db.sql, id))!)
  } catch (error) {
    if (isUniqueViolation(error, 'account_integration_username'))
      throw NetUsernameTaken({ netUsername: connection.netUsername })
    throw error
  }
}

async function lockFor(sql: Sql, ctx: Ctx, id: number, scope: string, ifMatch?: string) {
  const row = requireAccount(ctx, id, await store.lockAccount(sql, id), scope)
  checkIfMatch(ifMatch, etagFor(row))
  return row
}

const change = ({ kit }: Deps, ctx: Ctx, id: number, patch: IntegrationPatch, ifMatch: string | undefined) =>
  kit.db.tx(async (sql) => {
    const row = await lockFor(sql, ctx, id, accountScopes.update, ifMatch)
    await updateIntegration(sql, 'account', id, patchedColumns(kit, row, patch))
    return shown((await store.findAccount(sql, id))!)
  })

async function remove({ kit, identity }: Deps, ctx: Ctx, id: number, ifMatch: string | undefined) {
  await kit.db.tx(async (sql) => {
    const row = await lockFor(sql, ctx, id, accountScopes.delete, ifMatch)
    const any = { accountIntegrationId: id, ids: null, appVersionName: null, netGatewayId: null, nameLike: null }
    let count = 0
    for (const status of ['ACTIVE', 'SUSPENDED'] as const)
      count += (await findGateways(sql, { ...any, status }, { offset: 0, limit: 1 })).total
    if (count > 0) throw GatewaysAttached({ count })
    await deleteIntegration(sql, 'account', id)
    await identity.forgetResource(sql, row.tenantId, accountResourceName(id))
  })
}

async function setStatus({ kit }: Deps, ctx: Ctx, id: number, status: Status) {
  await kit.db.tx(async (sql) => {
    const row = await lockFor(sql, ctx, id, accountScopes.update)
    if (row.status !== status) await updateIntegration(sql, 'account', id, { status })
  })
}

/**
 * Gateway integrations. Each links a gateway of the network with an endpoint. On request, the gateway is also registered in the network.
 */
import { authorize, type Ctx } from '../../../kernel/contract.ts'
import { likePart, type Sql } from '../../../kernel/db.ts'
import { invalidField } from '../../../kernel/errors.ts'
import { checkIfMatch, etagOf } from '../../../kernel/etag.ts'
import { windowOf } from '../../../kernel/paging.ts'
import { type EndpointToRegister, endpointResource } from '../../register/contract.ts'
import { EndpointUnregistered } from '../../register/events.ts'
import { NetworkFailed, NoAccountIntegration } from '../errors.ts'
import { findAccount } from '../store/account-integrations.ts'
import type { IntegrationRow } from '../store/app-integrations.ts'
import * as store from '../store/gateway-integrations.ts'
import { deleteIntegration, type Status, updateIntegration } from '../store/integrations.ts'
import {
  aboveGateway,
  accountScopes,
  type Deps,
  gatewayResourceName,
  gatewayScopes,
  grantToCreator,
  mayListGateways,
  requireAccount,
  requireGateway,
  requireVersion,
  visibleGateways,
} from './access.ts'
import { accessOf, withoutNulls } from './connections.ts'
import { registrationOf, requireOneEnd } from './device-integrations.ts'
import { deregisterGateway, type GatewayRegistration, NetworkProblem, registerGateway } from './network-api.ts'

type GatewayInfo = GatewayRegistration['info']

export interface NewGateway {
  netGatewayId: string
  name: string
  description?: string
  endpointMetadata?: Record<string, unknown>
  endpointRelations?: EndpointToRegister['relations']
  netGatewayInfo?: Pick<GatewayInfo, 'netGatewayEui' | 'frequencyPlanId' | 'gatewayServerAddress'> &
    Partial<GatewayInfo>
}

export interface GatewayPath {
  accountIntegrationId: number
  gatewayIntegrationId: number
}

type GatewayView = ReturnType<typeof viewOf>
interface Failed {
  netGatewayId: string
  reason: string
}

export interface GatewayIntegrationOperations {
  create(
    ctx: Ctx,
    accountIntegrationId: number,
    given: { appVersionName: string; registerGatewaysOnNet?: boolean; gateways: NewGateway[]; poolIds?: string[] },
  ): Promise<{ createdCount: number; failedCount: number; created: GatewayView[]; failed: Failed[] }>
  list(
    ctx: Ctx,
    accountIntegrationId: number,
    query: {
      status?: Status
      appVersionName?: string
      netGatewayId?: string
      name?: string
      offset: number
      limit: number
    },
  ): Promise<{ totalElements: number; content: GatewayView[] }>
  get(ctx: Ctx, path: GatewayPath): Promise<{ etag: string; view: GatewayView }>
  patch(
    ctx: Ctx,
    path: GatewayPath,
    patch: { name?: string; description?: string },
    ifMatch: string | undefined,
  ): Promise<{ etag: string; view: GatewayView }>
  delete(
    ctx: Ctx,
    path: GatewayPath,
    also: { deleteEndpoint: boolean; deregisterOnNet: boolean },
    ifMatch: string | undefined,
  ): Promise<void>
  setStatus(ctx: Ctx, path: GatewayPath, status: Status): Promise<void>
}

export const createGatewayIntegrationOperations = (deps: Deps): GatewayIntegrationOperations => ({
  create: (ctx, id, given) => create(deps, ctx, id, given),
  list: (ctx, id, query) => list(deps, ctx, id, query),
  async get(ctx, { accountIntegrationId, gatewayIntegrationId: id }) {
    return shown(requireGateway(ctx, id, await store.findGateway(deps.kit.db.sql, { accountIntegrationId, id })))
  },
  patch: (ctx, path, patch, ifMatch) =>
    deps.kit.db.tx(async (sql) => {
      const row = await lockFor(sql, ctx, path, gatewayScopes.update, ifMatch)
      const change = { name: patch.name ?? row.name, description: patch.description ?? row.description }
      await updateIntegration(sql, 'gateway', row.id, change)
      return shown({ ...row, ...change, version: row.version + 1 })
    }),
  delete: (ctx, path, also, ifMatch) => remove(deps, ctx, path, also, ifMatch),
  setStatus: (ctx, path, status) =>
    deps.kit.db.tx(async (sql) => {
      const row = await lockFor(sql, ctx, path, gatewayScopes.update)
      if (row.status !== status) await updateIntegration(sql, 'gateway', row.id, { status })
    }),
})

const etagFor = ({ id, version }: store.GatewayIntegrationRow) => etagOf('gateway-integration', id, version)
const shown = (row: store.GatewayIntegrationRow) => ({ etag: etagFor(row), view: viewOf(row) })

const viewOf = (row: store.GatewayIntegrationRow) =>
  withoutNulls({
    id: row.id,
    appVersionName: row.appVersionName,
    netGatewayId: row.netGatewayId,
    endpointId: row.endpointId,
    name: row.name,
    description: row.description,
    endpointMetadata: row.endpointMetadata,
    endpointRelations: row.endpointRelations,
    netGatewayInfo: row.netGatewayInfo as GatewayInfo | null,
    poolIds: row.poolIds,
    status: row.status,
  })

const infoOf = (info: NonNullable<NewGateway['netGatewayInfo']>): GatewayInfo => ({
  netGatewayEui: info.netGatewayEui,
  ...(info.netGatewayName !== undefined && { netGatewayName: info.netGatewayName }),
  frequencyPlanId: info.frequencyPlanId,
  gatewayServerAddress: info.gatewayServerAddress,
  statusPublic: info.statusPublic ?? false,
  locationPublic: info.locationPublic ?? false,
  enforceDutyCycle: info.enforceDutyCycle ?? true,
  scheduleAnytimeDelay: info.scheduleAnytimeDelay ?? 0.53,
})

/** A gateway of the request, with its path in the request. */
interface Candidate {
  gateway: NewGateway
  requestPath: string
}

async function create(deps: Deps, ctx: Ctx, id: number, input: Parameters<GatewayIntegrationOperations['create']>[2]) {
  const { kit } = deps
  const { appVersionName, gateways, poolIds = [], registerGatewaysOnNet: onNet = false } = input
  const account = requireAccount(ctx, id, await findAccount(kit.db.sql, id), accountScopes.createGateway)
  if (account.status === 'SUSPENDED') throw invalidField('accountIntegrationId', 'the account integration is suspended')
  const { tenantId, netIdentityServerKey } = account
  const version = await requireVersion(deps, ctx, { tenantId, appVersionName, scope: 'application:endpoint:create' })
  const withoutInfo = onNet ? gateways.findIndex(({ netGatewayInfo }) => !netGatewayInfo) : -1
  if (withoutInfo !== -1)
    throw invalidField(`gateways.${withoutInfo}.netGatewayInfo`, 'is required while registerGatewaysOnNet is true')
  requireOneEnd(gateways, 'gateways')
  const reasons = new Map<number, string>()
  const ids = gateways.map(({ netGatewayId }) => netGatewayId)
  const taken = await store.findTakenGatewayIds(kit.db.sql, { tenantId, netIdentityServerKey }, ids)
  for (const [index, netGatewayId] of ids.entries())
    if (ids.indexOf(netGatewayId) < index) reasons.set(index, `${netGatewayId} occurs twice in the request`)
    else if (taken.has(netGatewayId)) reasons.set(index, takenText(netGatewayId))
  const candidates = () =>
    gateways
      .map((gateway, index): Candidate => ({ gateway, requestPath: `gateways.${index}` }))
      .filter((_, index) => !reasons.has(index))
  const insertAll = (sql: Sql) => insert(deps, sql, ctx, account, { version, poolIds }, candidates())
  if (onNet) {
    await rehearse(deps, insertAll)
    await registerOnNet(deps, ctx, account, gateways, reasons)
  }
  const created = await kit.db.tx(insertAll)
  for (const [index, netGatewayId] of ids.entries())
    if (!reasons.has(index) && !created.some((row) => row.netGatewayId === netGatewayId))
      reasons.set(index, takenText(netGatewayId))
  const failed = [...reasons]
    .sort(([a], [b]) => a - b)
    .map(([index, reason]) => ({ netGatewayId: ids[index]!, reason }))
  created.sort((a, b) => ids.indexOf(a.netGatewayId) - ids.indexOf(b.netGatewayId))
  return { createdCount: created.length, failedCount: failed.length, created: created.map(viewOf), failed }
}

const rehearsed = Symbol('rehearsed')

/**
 * Inserts all gateways and rolls back. Invalid metadata or relations (400, 404) are thereby found before the network registers a gateway.
 */
async function rehearse({ kit }: Deps, insertAll: (sql: Sql) => Promise<unknown>) {
  try {
    await kit.db.tx(async (sql) => {
      await insertAll(sql)
      throw rehearsed
    })
  } catch (error) {
    if (error !== rehearsed) throw error
  }
}

const takenText = (netGatewayId: string) => `${netGatewayId} already has a gateway integration`

const concurrentRegistrations = 4
const unreachableMax = 3

/**
 * Registers gateways in the network, a few at a time. After several requests in a row without an answer, the remaining gateways fail
 * without an attempt.
 */
async function registerOnNet(
  { kit }: Deps,
  ctx: Ctx,
  account: IntegrationRow,
  gateways: NewGateway[],
  reasons: Map<number, string>,
) {
  const access = accessOf(kit, account, ctx.signal)
  const open = gateways.map((gateway, index) => ({ gateway, index })).filter(({ index }) => !reasons.has(index))
  let unreachable = 0
  async function work() {
    for (let next = open.shift(); next; next = open.shift()) {
      const { gateway, index } = next
      const { netGatewayId, name, description = null, netGatewayInfo } = gateway
      if (unreachable >= unreachableMax) {
        reasons.set(index, 'not attempted, because the network does not answer')
        continue
      }
      try {
        await registerGateway(access, account.netUsername, {
          netGatewayId,
          name,
          description,
          info: infoOf(netGatewayInfo!),
        })
        unreachable = 0
      } catch (error) {
        if (!(error instanceof NetworkProblem)) throw error
        unreachable = error.status === undefined ? unreachable + 1 : 0
        reasons.set(index, error.message)
      }
    }
  }
  await Promise.all(Array.from({ length: concurrentRegistrations }, work))
}

async function insert(
  deps: Deps,
  sql: Sql,
  ctx: Ctx,
  account: IntegrationRow,
  {
    version,
    poolIds,
  }: { version: { tenantId: string; applicationName: string; versionName: string }; poolIds: string[] },
  candidates: Candidate[],
) {
  if (candidates.length === 0) return []
  const { tenantId, netIdentityServerKey, id: accountIntegrationId } = account
  const { applicationName: appName, versionName: appVersionName } = version
  const rows = candidates.map(({ gateway }) => newRow(deps.kit.newId(), gateway))
  const common = { tenantId, accountIntegrationId, netIdentityServerKey, appName, appVersionName, poolIds }
  const inserted = await store.insertGateways(sql, common, rows, deps.kit.now())
  const registrations = candidates.flatMap(({ gateway, requestPath }, index) =>
    inserted.has(gateway.netGatewayId) ? [registrationOf(rows[index]!.endpointId, gateway, poolIds, requestPath)] : [],
  )
  await deps.register.registerAll(sql, ctx, version, registrations)
  const found = await store.findGatewaysByNetId(sql, accountIntegrationId, [...inserted])
  const [above, scopes] = [aboveGateway(account), Object.values(gatewayScopes)]
  for (const { id } of found) await grantToCreator(deps, sql, ctx, { name: gatewayResourceName(id), above, scopes })
  return [...found]
}

const newRow = (endpointId: string, gateway: NewGateway): store.NewGatewayIntegration => ({
  netGatewayId: gateway.netGatewayId,
  endpointId,
  name: gateway.name,
  description: gateway.description ?? null,
  endpointMetadata: gateway.endpointMetadata ?? null,
  endpointRelations: gateway.endpointRelations ?? null,
  netGatewayInfo: gateway.netGatewayInfo ? { ...infoOf(gateway.netGatewayInfo) } : null,
})

async function list(deps: Deps, ctx: Ctx, id: number, query: Parameters<GatewayIntegrationOperations['list']>[2]) {
  const { sql } = deps.kit.db
  const account = await findAccount(sql, id)
  if (!mayListGateways(ctx, account)) throw NoAccountIntegration({ id })
  const { status = 'ACTIVE', appVersionName = null, netGatewayId = null, name } = query
  const nameLike = name === undefined ? null : likePart(name)
  const ids = visibleGateways(ctx, account)
  const selection = { accountIntegrationId: id, ids, status, appVersionName, netGatewayId, nameLike }
  const { total, rows } = await store.findGateways(sql, selection, windowOf(query))
  return { totalElements: total, content: rows.map(viewOf) }
}

async function lockFor(
  sql: Sql,
  ctx: Ctx,
  { accountIntegrationId, gatewayIntegrationId: id }: GatewayPath,
  scope: string,
  ifMatch?: string,
) {
  const row = requireGateway(ctx, id, await store.lockGateway(sql, { accountIntegrationId, id }), scope)
  checkIfMatch(ifMatch, etagFor(row))
  return row
}

async function remove(
  deps: Deps,
  ctx: Ctx,
  path: GatewayPath,
  { deleteEndpoint, deregisterOnNet }: { deleteEndpoint: boolean; deregisterOnNet: boolean },
  ifMatch: string | undefined,
) {
  const { kit } = deps
  const mayDelete = ({ tenantId, appName: applicationName, endpointId }: store.GatewayIntegrationRow) => {
    if (deleteEndpoint) authorize(ctx, 'endpoint:delete', endpointResource({ tenantId, applicationName, endpointId }))
  }
  if (deregisterOnNet) {
    // The network is called before the transaction, because it may take 10 seconds.
    const { gatewayIntegrationId: id, accountIntegrationId } = path
    const found = await store.findGateway(kit.db.sql, { accountIntegrationId, id })
    const row = requireGateway(ctx, id, found, gatewayScopes.delete)
    checkIfMatch(ifMatch, etagFor(row))
    mayDelete(row)
    const account = (await findAccount(kit.db.sql, accountIntegrationId))!
    await deregisterGateway(accessOf(kit, account, ctx.signal), row.netGatewayId).catch((error) => {
      throw error instanceof NetworkProblem ? NetworkFailed({ problem: error.message }) : error
    })
  }
  const { appName } = await kit.db.tx(async (sql) => {
    const row = await lockFor(sql, ctx, path, gatewayScopes.delete, ifMatch)
    mayDelete(row)
    await deleteIntegration(sql, 'gateway', row.id)
    await deps.identity.forgetResource(sql, row.tenantId, gatewayResourceName(row.id))
    if (deleteEndpoint) await deps.register.unregisterAll(sql, [row.endpointId])
    return row
  })
  if (deleteEndpoint) await kit.bus.delivered(EndpointUnregistered, appName)
}

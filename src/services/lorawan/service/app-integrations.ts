/**
 * Application integrations: create, read, change, suspend and delete them, and list devices of the network that have no device integration.
 */
import type { Ctx } from '../../../kernel/contract.ts'
import { isUniqueViolation, type Sql } from '../../../kernel/db.ts'
import { checkIfMatch, etagOf } from '../../../kernel/etag.ts'
import { newId } from '../../../kernel/ids.ts'
import { type Window, windowOf } from '../../../kernel/paging.ts'
import { AppNameTaken, DevicesAttached, NetUsernameTaken, NetworkFailed } from '../errors.ts'
import { AppIntegrationChanged } from '../events.ts'
import * as store from '../store/app-integrations.ts'
import { type DeviceSummary, findNetDeviceIds, findSummaries } from '../store/device-integrations.ts'
import { deleteIntegration, type Status, updateIntegration } from '../store/integrations.ts'
import {
  appResourceName,
  appScopes,
  type Deps,
  deviceScopes,
  grantToCreator,
  onApplication,
  requireApp,
  requireApplication,
  visibleApps,
} from './access.ts'
import {
  accessOf,
  connectionOf,
  connectionView,
  type IntegrationPatch,
  type NewConnection,
  patchedColumns,
  withoutNulls,
} from './connections.ts'
import { listNetDevices, type NetDevice, NetworkProblem } from './network-api.ts'

type State = 'CONNECTED' | 'DISCONNECTED'

interface ConnectionStates {
  netConnectionState: State
  netConnectionError?: string
  platformConnectionState: State
  platformConnectionError?: string
}

export type AppIntegrationView = ReturnType<typeof connectionView> & { appName: string } & ConnectionStates

export interface AppIntegrationOperations {
  create(ctx: Ctx, connection: NewConnection & { appName: string }): Promise<AppIntegrationView & { etag: string }>
  list(
    ctx: Ctx,
    query: { appName?: string; status?: Status; offset: number; limit: number },
  ): Promise<{ totalElements: number; content: AppIntegrationView[] }>
  get(
    ctx: Ctx,
    id: number,
  ): Promise<{ etag: string; view: AppIntegrationView & { devices: ReturnType<typeof summaryView>[] } }>
  patch(
    ctx: Ctx,
    id: number,
    patch: IntegrationPatch,
    ifMatch: string | undefined,
  ): Promise<{ etag: string; view: AppIntegrationView }>
  delete(ctx: Ctx, id: number, ifMatch: string | undefined): Promise<void>
  setStatus(ctx: Ctx, id: number, status: Status): Promise<void>
  netDevices(ctx: Ctx, id: number): Promise<{ totalElements: number; content: NetDevice[] }>
}

/** The scopes that the creator of an integration needs to work with it. */
const creatorScopes = [
  ...[appScopes.read, appScopes.update, appScopes.delete, appScopes.createDevice],
  ...Object.values(deviceScopes),
]

export const createAppIntegrationOperations = (deps: Deps): AppIntegrationOperations => ({
  create: (ctx, given) => create(deps, ctx, given),
  list: (ctx, query) => list(deps, ctx, query, windowOf(query)),
  get: (ctx, id) => get(deps, ctx, id),
  patch: (ctx, id, patch, ifMatch) => change(deps, ctx, id, patch, ifMatch),
  delete: (ctx, id, ifMatch) => remove(deps, ctx, id, ifMatch),
  setStatus: (ctx, id, status) => setStatus(deps, ctx, id, status),
  netDevices: (ctx, id) => netDevices(deps, ctx, id),
})

async function create(deps: Deps, ctx: Ctx, input: NewConnection & { appName: string }) {
  const { kit } = deps
  const { appName } = input
  const connection = connectionOf(kit, input, { usesMqtt: true })
  await requireApplication(deps, ctx, appName)
  const { tenantId } = ctx
  const clientId = `waypost-${newId().replaceAll('-', '').slice(0, 15)}`
  const row = { ...connection, tenantId, appName, status: 'ACTIVE' as const, clientId, createdAt: kit.now() }
  try {
    const id = await kit.db.tx(async (sql) => {
      const created = await store.insertAppIntegration(sql, row)
      const above = onApplication(tenantId, appName)
      await grantToCreator(deps, sql, ctx, { name: appResourceName(created), above, scopes: creatorScopes })
      await kit.bus.publish(sql, AppIntegrationChanged, { tenantId, appIntegrationId: created })
      return created
    })
    const [view] = await viewsOf(deps, [(await store.findAppIntegration(kit.db.sql, id))!])
    return { ...view!, etag: etagFor({ id, version: 1 }, []) }
  } catch (error) {
    if (isUniqueViolation(error, 'app_integration_username')) throw NetUsernameTaken({ netUsername: input.netUsername })
    if (isUniqueViolation(error, 'app_integration_application')) throw AppNameTaken({ appName })
    throw error
  }
}

/** Returns the ETag. It covers the configured fields and the list of devices. */
const etagFor = ({ id, version }: { id: number; version: number }, devices: DeviceSummary[]) =>
  etagOf(
    'app-integration',
    id,
    version,
    devices.map((device) => [device.id, device.version]),
  )

async function list(
  deps: Deps,
  ctx: Ctx,
  { appName = undefined as string | undefined, status = 'ACTIVE' as Status },
  window: Window,
) {
  const query = { tenantId: ctx.tenantId, visibility: visibleApps(ctx), status, appName: appName ?? null }
  const { total, rows } = await store.findAppIntegrations(deps.kit.db.sql, query, window)
  return { totalElements: total, content: await viewsOf(deps, rows) }
}

/** Adds the states of connections. A connection of a dead node counts as disconnected. */
async function viewsOf({ kit, identity }: Deps, rows: store.AppIntegrationRow[]): Promise<AppIntegrationView[]> {
  const realms = await identity.realms([...new Set(rows.map(({ tenantId }) => tenantId))])
  return rows.map((row) => {
    const tenantStatus = realms.get(row.tenantId)?.status
    const isAvailable = tenantStatus === 'AVAILABLE'
    const isWanted = row.status === 'ACTIVE' && row.netMqttIntegrationEnabled && isAvailable
    const isHeld = row.nodeId !== null && kit.members.isAlive(row.nodeId)
    const state = (isUp: boolean): State => (isUp ? 'CONNECTED' : 'DISCONNECTED')
    return {
      ...connectionView(row),
      appName: row.appName,
      netConnectionState: state(isWanted && isHeld && row.isConnected),
      ...(isWanted && isHeld && !row.isConnected && row.error !== null && { netConnectionError: row.error }),
      platformConnectionState: state(isAvailable),
      ...(!isAvailable && {
        platformConnectionError: `The tenant is ${tenantStatus ?? 'unknown'}; only AVAILABLE tenants communicate`,
      }),
    }
  })
}

const summaryView = ({ version: _, ...device }: DeviceSummary) => withoutNulls(device)

async function get(deps: Deps, ctx: Ctx, id: number) {
  const { sql } = deps.kit.db
  const row = requireApp(ctx, id, await store.findAppIntegration(sql, id))
  const devices = await findSummaries(sql, id)
  const [view] = await viewsOf(deps, [row])
  return { etag: etagFor(row, devices), view: { ...view!, devices: devices.map(summaryView) } }
}

/** Locks the integration for a change. Throws 412 if the integration has changed since the caller read it. */
async function lockFor(sql: Sql, ctx: Ctx, id: number, scope: string, ifMatch?: string) {
  const row = requireApp(ctx, id, await store.lockAppIntegration(sql, id), scope)
  const devices = await findSummaries(sql, id)
  checkIfMatch(ifMatch, etagFor(row, devices))
  return { row, devices }
}

async function change(deps: Deps, ctx: Ctx, id: number, patch: IntegrationPatch, ifMatch: string | undefined) {
  const { kit } = deps
  const devices = await kit.db.tx(async (sql) => {
    const locked = await lockFor(sql, ctx, id, appScopes.update, ifMatch)
    await updateIntegration(sql, 'app', id, patchedColumns(kit, locked.row, patch))
    await kit.bus.publish(sql, AppIntegrationChanged, { tenantId: locked.row.tenantId, appIntegrationId: id })
    return locked.devices
  })
  const row = requireApp(ctx, id, await store.findAppIntegration(kit.db.sql, id))
  const [view] = await viewsOf(deps, [row])
  return { etag: etagFor(row, devices), view: view! }
}

async function remove({ kit, identity }: Deps, ctx: Ctx, id: number, ifMatch: string | undefined) {
  await kit.db.tx(async (sql) => {
    const { row, devices } = await lockFor(sql, ctx, id, appScopes.delete, ifMatch)
    if (devices.length > 0) throw DevicesAttached({ count: devices.length })
    await deleteIntegration(sql, 'app', id)
    await identity.forgetResource(sql, row.tenantId, appResourceName(id))
    await kit.bus.publish(sql, AppIntegrationChanged, { tenantId: row.tenantId, appIntegrationId: id })
  })
}

async function setStatus({ kit }: Deps, ctx: Ctx, id: number, status: Status) {
  await kit.db.tx(async (sql) => {
    const { row } = await lockFor(sql, ctx, id, appScopes.update)
    if (row.status === status) return
    await updateIntegration(sql, 'app', id, { status })
    if (status === 'SUSPENDED') await store.startClean(sql, id)
    await kit.bus.publish(sql, AppIntegrationChanged, { tenantId: row.tenantId, appIntegrationId: id })
  })
}

async function netDevices({ kit }: Deps, ctx: Ctx, id: number) {
  const row = requireApp(ctx, id, await store.findAppIntegration(kit.db.sql, id))
  const [applicationId = ''] = row.netUsername.split('@', 1)
  try {
    const devices = await listNetDevices(accessOf(kit, row, ctx.signal), applicationId)
    const mapped = await findNetDeviceIds(kit.db.sql, id)
    const content = devices.filter(({ netDeviceId }) => !mapped.has(netDeviceId))
    return { totalElements: content.length, content }
  } catch (error) {
    if (error instanceof NetworkProblem) throw NetworkFailed({ problem: error.message })
    throw error
  }
}

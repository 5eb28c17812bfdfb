/** Device integrations. Each links a device of the network with an endpoint, which is registered when the integration is created. */
import { authorize, type Ctx } from '../../../kernel/contract.ts'
import { likePart, type Sql } from '../../../kernel/db.ts'
import { invalidField } from '../../../kernel/errors.ts'
import { checkIfMatch, etagOf } from '../../../kernel/etag.ts'
import { windowOf } from '../../../kernel/paging.ts'
import { type EndpointToRegister, endpointResource } from '../../register/contract.ts'
import { EndpointUnregistered } from '../../register/events.ts'
import type { CodecFunctions } from '../codecs.ts'
import { NoAppIntegration } from '../errors.ts'
import { DeviceIntegrationsChanged } from '../events.ts'
import { type AppIntegrationRow, findAppIntegration } from '../store/app-integrations.ts'
import * as store from '../store/device-integrations.ts'
import { deleteIntegration, type Status, updateIntegration } from '../store/integrations.ts'
import {
  aboveDevice,
  appScopes,
  type Deps,
  deviceResourceName,
  deviceScopes,
  grantToCreator,
  mayListBelow,
  requireApp,
  requireDevice,
  requireVersion,
  visibleDevices,
} from './access.ts'
import { withoutNulls } from './connections.ts'

export interface NewDevice {
  netDeviceId: string
  name: string
  description?: string
  endpointMetadata?: Record<string, unknown>
  endpointRelations?: EndpointToRegister['relations']
  formatter?: string
  downlinkFPort?: number
  downlinkConfirmed?: boolean
}

export interface DevicePatch {
  name?: string
  description?: string
  formatter?: string
  downlinkFPort?: number
  downlinkConfirmed?: boolean
}

export interface DevicePath {
  appIntegrationId: number
  deviceIntegrationId: number
}

type DeviceView = ReturnType<typeof viewOf>

export interface DeviceIntegrationOperations {
  create(
    ctx: Ctx,
    appIntegrationId: number,
    given: { appVersionName: string; devices: NewDevice[]; poolIds?: string[] },
  ): Promise<{
    createdCount: number
    failedCount: number
    created: DeviceView[]
    failed: { netDeviceId: string; reason: string }[]
  }>
  list(
    ctx: Ctx,
    appIntegrationId: number,
    query: {
      status?: Status
      appVersionName?: string
      netDeviceId?: string
      name?: string
      offset: number
      limit: number
    },
  ): Promise<{ totalElements: number; content: DeviceView[] }>
  get(ctx: Ctx, path: DevicePath): Promise<{ etag: string; view: DeviceView }>
  patch(
    ctx: Ctx,
    path: DevicePath,
    patch: DevicePatch,
    ifMatch: string | undefined,
  ): Promise<{ etag: string; view: DeviceView }>
  delete(ctx: Ctx, path: DevicePath, deleteEndpoint: boolean, ifMatch: string | undefined): Promise<void>
  setStatus(ctx: Ctx, path: DevicePath, status: Status): Promise<void>
}

export const createDeviceIntegrationOperations = (deps: Deps): DeviceIntegrationOperations => ({
  create: (ctx, id, given) => create(deps, ctx, id, given),
  list: (ctx, id, query) => list(deps, ctx, id, query),
  async get(ctx, path) {
    const row = await find(deps, ctx, path)
    return { etag: etagFor(row), view: viewOf(row) }
  },
  patch: (ctx, path, patch, ifMatch) => change(deps, ctx, path, patch, ifMatch),
  delete: (ctx, path, deleteEndpoint, ifMatch) => remove(deps, ctx, path, deleteEndpoint, ifMatch),
  setStatus: (ctx, path, status) => setStatus(deps, ctx, path, status),
})

const etagFor = ({ id, version }: store.DeviceIntegrationRow) => etagOf('device-integration', id, version)

const viewOf = (row: store.DeviceIntegrationRow) => {
  const { received, stored, duplicates, dropped } = row
  return {
    ...withoutNulls({
      id: row.id,
      appVersionName: row.appVersionName,
      netDeviceId: row.netDeviceId,
      endpointId: row.endpointId,
      name: row.name,
      description: row.description,
      endpointMetadata: row.endpointMetadata,
      endpointRelations: row.endpointRelations,
      poolIds: row.poolIds,
      formatter: row.formatter,
      downlinkFPort: row.downlinkFPort,
      downlinkConfirmed: row.downlinkConfirmed,
      status: row.status,
      lastUplinkAt: row.lastUplinkAt,
      lastError: row.lastError,
      lastErrorAt: row.lastErrorAt,
    }),
    statistics: { received, stored, duplicates, dropped },
  }
}

const noFormatter: CodecFunctions = { decodes: false, encodes: false }
const concurrentInspections = 8

/** Checks each distinct formatter once, because a thousand devices usually share one formatter. */
async function inspectAll({ codecs }: Deps, tenantId: string, formatters: { formatter?: string; path: string }[]) {
  const functions = new Map<string, CodecFunctions>([['', noFormatter]])
  const distinct = [...Map.groupBy(formatters, ({ formatter = '' }) => formatter)].filter(([text]) => text !== '')
  for (let from = 0; from < distinct.length; from += concurrentInspections)
    await Promise.all(
      distinct.slice(from, from + concurrentInspections).map(async ([text, [first]]) => {
        const found = await codecs.inspect(tenantId, text)
        if ('error' in found) throw invalidField(first!.path, found.error)
        functions.set(text, found)
      }),
    )
  return functions
}

async function create(deps: Deps, ctx: Ctx, id: number, request: Parameters<DeviceIntegrationOperations['create']>[2]) {
  const { kit } = deps
  const app = requireApp(ctx, id, await findAppIntegration(kit.db.sql, id), appScopes.createDevice)
  const { appVersionName, devices, poolIds = [] } = request
  requireOneEnd(devices, 'devices')
  const { tenantId, appName } = app
  const version = await requireVersion(deps, ctx, { tenantId, appVersionName, appName, scope: appScopes.createDevice })
  const functions = await inspectAll(
    deps,
    tenantId,
    devices.map(({ formatter }, index) => ({ ...(formatter && { formatter }), path: `devices.${index}.formatter` })),
  )
  const rows = devices.map((device) => newRow(kit.newId(), device, functions.get(device.formatter ?? '')!))
  const failed: { netDeviceId: string; reason: string }[] = []
  const isRepeated = (index: number) =>
    devices.findIndex(({ netDeviceId }) => netDeviceId === devices[index]!.netDeviceId) < index
  const created = await kit.db.tx(async (sql) => {
    failed.length = 0
    const candidates = rows.filter((_, index) => !isRepeated(index))
    const common = { tenantId, appIntegrationId: id, appName, appVersionName, poolIds }
    const inserted = await store.insertDeviceIntegrations(sql, common, candidates, kit.now())
    for (const [index, { netDeviceId }] of devices.entries()) {
      if (isRepeated(index)) failed.push({ netDeviceId, reason: `${netDeviceId} occurs twice in the request` })
      else if (!inserted.has(netDeviceId))
        failed.push({ netDeviceId, reason: `${netDeviceId} already has a device integration` })
    }
    if (inserted.size === 0) return []
    const registrations = rows.flatMap((row, index) =>
      inserted.has(row.netDeviceId) && !isRepeated(index)
        ? [registrationOf(row.endpointId, devices[index]!, poolIds, `devices.${index}`)]
        : [],
    )
    await deps.register.registerAll(sql, ctx, version, registrations)
    const found = await store.findDevicesByNetId(sql, id, [...inserted])
    const scopes = Object.values(deviceScopes)
    for (const device of found)
      await grantToCreator(deps, sql, ctx, { name: deviceResourceName(device.id), above: aboveDevice(app), scopes })
    await publish(deps, sql, app, found)
    return found
  })
  const order = new Map(devices.map(({ netDeviceId }, index) => [netDeviceId, index] as const).reverse())
  created.sort((a, b) => order.get(a.netDeviceId)! - order.get(b.netDeviceId)!)
  return {
    createdCount: created.length,
    failedCount: failed.length,
    created: created.map(viewOf),
    failed,
  }
}

const newRow = (endpointId: string, device: NewDevice, functions: CodecFunctions): store.NewDeviceIntegration => ({
  netDeviceId: device.netDeviceId,
  endpointId,
  name: device.name,
  description: device.description ?? null,
  endpointMetadata: device.endpointMetadata ?? null,
  endpointRelations: device.endpointRelations ?? null,
  formatter: device.formatter || null,
  ...functions,
  downlinkFPort: device.downlinkFPort ?? 1,
  downlinkConfirmed: device.downlinkConfirmed ?? false,
})

/** Throws 400 for a relation that has both `from` and `to`, because only one of them can be the other endpoint. */
export function requireOneEnd(items: Pick<NewDevice, 'endpointRelations'>[], field: string) {
  const index = items.findIndex(({ endpointRelations = [] }) =>
    endpointRelations.some((relation) => 'from' in relation && 'to' in relation),
  )
  if (index !== -1)
    throw invalidField(`${field}.${index}.endpointRelations`, 'expected exactly one of from and to in each relation')
}

/** Returns the endpoint that is registered together with a device or gateway. */
export const registrationOf = (
  endpointId: string,
  { endpointMetadata = {}, endpointRelations = [] }: Pick<NewDevice, 'endpointMetadata' | 'endpointRelations'>,
  poolIds: string[],
  requestPath: string,
): EndpointToRegister => ({
  endpointId,
  metadata: endpointMetadata,
  relations: endpointRelations,
  poolIds,
  requestPath,
})

/** Publishes the change, so that all nodes invalidate their caches. */
const publish = (
  { kit }: Deps,
  sql: Sql,
  app: Pick<AppIntegrationRow, 'tenantId' | 'id'>,
  devices: store.DeviceIntegrationRow[],
) =>
  kit.bus.publish(sql, DeviceIntegrationsChanged, {
    tenantId: app.tenantId,
    appIntegrationId: app.id,
    netDeviceIds: devices.map(({ netDeviceId }) => netDeviceId),
    endpointIds: devices.map(({ endpointId }) => endpointId),
  })

async function list(deps: Deps, ctx: Ctx, id: number, query: Parameters<DeviceIntegrationOperations['list']>[2]) {
  const { sql } = deps.kit.db
  const app = await findAppIntegration(sql, id)
  if (!mayListBelow(ctx, app)) throw NoAppIntegration({ id })
  const { status = 'ACTIVE', appVersionName = null, netDeviceId = null, name } = query
  const nameLike = name === undefined ? null : likePart(name)
  const selection = {
    appIntegrationId: id,
    ids: visibleDevices(ctx, app),
    status,
    appVersionName,
    netDeviceId,
    nameLike,
  }
  const { total, rows } = await store.findDevices(sql, selection, windowOf(query))
  return { totalElements: total, content: rows.map(viewOf) }
}

async function find({ kit }: Deps, ctx: Ctx, { appIntegrationId, deviceIntegrationId: id }: DevicePath) {
  return requireDevice(ctx, id, await store.findDevice(kit.db.sql, { appIntegrationId, id }))
}

async function lockFor(
  sql: Sql,
  ctx: Ctx,
  { appIntegrationId, deviceIntegrationId: id }: DevicePath,
  scope: string,
  ifMatch?: string,
) {
  const row = requireDevice(ctx, id, await store.lockDevice(sql, { appIntegrationId, id }), scope)
  checkIfMatch(ifMatch, etagFor(row))
  return row
}

const publishOne = (deps: Deps, sql: Sql, row: store.DeviceIntegrationRow) =>
  publish(deps, sql, { tenantId: row.tenantId, id: row.appIntegrationId }, [row])

async function change(deps: Deps, ctx: Ctx, path: DevicePath, patch: DevicePatch, ifMatch: string | undefined) {
  const { kit } = deps
  const { tenantId } = requireDevice(
    ctx,
    path.deviceIntegrationId,
    await store.findDevice(kit.db.sql, { ...path, id: path.deviceIntegrationId }),
    deviceScopes.update,
  )
  const functions =
    patch.formatter === undefined
      ? undefined
      : (await inspectAll(deps, tenantId, [{ formatter: patch.formatter, path: 'formatter' }])).get(patch.formatter)!
  const { id } = await kit.db.tx(async (sql) => {
    const row = await lockFor(sql, ctx, path, deviceScopes.update, ifMatch)
    await updateIntegration(sql, 'device', row.id, {
      name: patch.name ?? row.name,
      description: patch.description ?? row.description,
      formatter: patch.formatter === undefined ? row.formatter : patch.formatter || null,
      decodes: functions?.decodes ?? row.decodes,
      encodes: functions?.encodes ?? row.encodes,
      downlinkFPort: patch.downlinkFPort ?? row.downlinkFPort,
      downlinkConfirmed: patch.downlinkConfirmed ?? row.downlinkConfirmed,
    })
    await publishOne(deps, sql, row)
    return row
  })
  const row = requireDevice(ctx, id, await store.findDevice(kit.db.sql, { ...path, id }))
  return { etag: etagFor(row), view: viewOf(row) }
}

async function remove(deps: Deps, ctx: Ctx, path: DevicePath, deleteEndpoint: boolean, ifMatch: string | undefined) {
  const { db, bus } = deps.kit
  const { appName } = await db.tx(async (sql) => {
    const row = await lockFor(sql, ctx, path, deviceScopes.delete, ifMatch)
    const { tenantId, endpointId, appName: applicationName } = row
    if (deleteEndpoint) authorize(ctx, 'endpoint:delete', endpointResource({ tenantId, applicationName, endpointId }))
    await deleteIntegration(sql, 'device', row.id)
    await deps.identity.forgetResource(sql, tenantId, deviceResourceName(row.id))
    if (deleteEndpoint) await deps.register.unregisterAll(sql, [endpointId])
    await publishOne(deps, sql, row)
    return row
  })
  if (deleteEndpoint) await bus.delivered(EndpointUnregistered, appName)
}

async function setStatus(deps: Deps, ctx: Ctx, path: DevicePath, status: Status) {
  await deps.kit.db.tx(async (sql) => {
    const row = await lockFor(sql, ctx, path, deviceScopes.update)
    if (row.status === status) return
    await updateIntegration(sql, 'device', row.id, { status })
    await publishOne(deps, sql, row)
  })
}

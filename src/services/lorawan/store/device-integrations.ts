/** SQL of device integrations. */
import type { Fragment, Sql } from '../../../kernel/db.ts'
import type { Window } from '../../../kernel/paging.ts'
import { isOfUnregistered, type Unregistered } from './deletions.ts'
import { rowIdOf } from './row-id.ts'
import type { Status } from './status.ts'

export interface NewDeviceIntegration {
  netDeviceId: string
  endpointId: string
  name: string
  description: string | null
  endpointMetadata: Record<string, unknown> | null
  endpointRelations: unknown[] | null
  formatter: string | null
  decodes: boolean
  encodes: boolean
  downlinkFPort: number
  downlinkConfirmed: boolean
}

export interface DeviceIntegrationRow extends NewDeviceIntegration {
  id: number
  tenantId: string
  appIntegrationId: number
  appName: string
  appVersionName: string
  poolIds: string[]
  status: Status
  version: number
  received: number
  stored: number
  duplicates: number
  dropped: number
  lastUplinkAt: Date | null
  lastError: string | null
  lastErrorAt: Date | null
}

const columns = (sql: Sql) => sql`
  d.id, d.tenant_id, d.app_integration_id, d.app_name, d.app_version_name, d.net_device_id, d.endpoint_id, d.name,
  d.description, d.endpoint_metadata, d.endpoint_relations, d.pool_ids, d.formatter, d.decodes, d.encodes,
  d.downlink_f_port, d.downlink_confirmed, d.status, d.version,
  coalesce(s.received, 0)::float8 as received, coalesce(s.stored, 0)::float8 as stored,
  coalesce(s.duplicates, 0)::float8 as duplicates, coalesce(s.dropped, 0)::float8 as dropped,
  s.last_uplink_at, s.last_error, s.last_error_at`

const source = (sql: Sql) => sql`
  lorawan.device_integrations d left join lorawan.device_statistics s on s.device_integration_id = d.id`

/** Inserts devices. Returns the network ids of the inserted devices. A network id that is not returned is already taken. */
export async function insertDeviceIntegrations(
  sql: Sql,
  common: { tenantId: string; appIntegrationId: number; appName: string; appVersionName: string; poolIds: string[] },
  devices: NewDeviceIntegration[],
  at: Date,
): Promise<Set<string>> {
  const rows = await sql<{ netDeviceId: string }[]>`
    insert into lorawan.device_integrations (tenant_id, app_integration_id, app_name, app_version_name, pool_ids,
      net_device_id, endpoint_id, name, description, endpoint_metadata, endpoint_relations, formatter, decodes, encodes,
      downlink_f_port, downlink_confirmed, status, created_at)
    select ${common.tenantId}, ${common.appIntegrationId}, ${common.appName}, ${common.appVersionName}, ${common.poolIds}::text[],
      g."netDeviceId", g."endpointId", g.name, g.description, g."endpointMetadata", g."endpointRelations", g.formatter,
      g.decodes, g.encodes, g."downlinkFPort", g."downlinkConfirmed", 'ACTIVE', ${at}::timestamptz
    from jsonb_to_recordset(${sql.json(devices)}) as g("netDeviceId" text, "endpointId" text, name text,
      description text, "endpointMetadata" jsonb, "endpointRelations" jsonb, formatter text, decodes boolean,
      encodes boolean, "downlinkFPort" smallint, "downlinkConfirmed" boolean)
    on conflict on constraint device_integration_device do nothing
    returning net_device_id`
  return new Set(rows.map(({ netDeviceId }) => netDeviceId))
}

export async function findDevice(
  sql: Sql,
  device: { appIntegrationId: number; id: number },
): Promise<DeviceIntegrationRow | undefined> {
  const [row] = await sql<DeviceIntegrationRow[]>`
    select ${columns(sql)} from ${source(sql)} where d.app_integration_id = ${rowIdOf(device.appIntegrationId)} and d.id = ${rowIdOf(device.id)}`
  return row
}

export async function lockDevice(
  sql: Sql,
  device: { appIntegrationId: number; id: number },
): Promise<DeviceIntegrationRow | undefined> {
  const [row] = await sql<DeviceIntegrationRow[]>`
    select ${columns(sql)} from ${source(sql)} where d.app_integration_id = ${rowIdOf(device.appIntegrationId)} and d.id = ${rowIdOf(device.id)}
    for update of d`
  return row
}

/** Finds devices by their ids in the network. */
export async function findDevicesByNetId(
  sql: Sql,
  appIntegrationId: number,
  netDeviceIds: string[],
): Promise<DeviceIntegrationRow[]> {
  return await sql<DeviceIntegrationRow[]>`
    select ${columns(sql)} from ${source(sql)}
    where d.app_integration_id = ${appIntegrationId} and d.net_device_id = any(${netDeviceIds}::text[])`
}

export interface DeviceSummary {
  id: number
  appVersionName: string
  netDeviceId: string
  endpointId: string
  name: string
  description: string | null
  status: Status
  version: number
}

/** Returns all devices of an integration, ordered by id. */
export async function findSummaries(sql: Sql, appIntegrationId: number): Promise<DeviceSummary[]> {
  return await sql<DeviceSummary[]>`
    select id, app_version_name, net_device_id, endpoint_id, name, description, status, version
    from lorawan.device_integrations where app_integration_id = ${appIntegrationId} order by id`
}

/** Finds devices. `nameLike` is a LIKE pattern. If `ids` is given, finds only devices with these ids. */
export async function findDevices(
  sql: Sql,
  query: {
    appIntegrationId: number
    ids: number[] | null
    status: Status
    appVersionName: string | null
    netDeviceId: string | null
    nameLike: string | null
  },
  { offset, limit }: Window,
): Promise<{ total: number; rows: DeviceIntegrationRow[] }> {
  const matches = (): Fragment => sql`
    d.app_integration_id = ${query.appIntegrationId} and d.status = ${query.status}
      and (${query.ids}::integer[] is null or d.id = any(${query.ids}::integer[]))
      and (${query.appVersionName}::text is null or d.app_version_name = ${query.appVersionName})
      and (${query.netDeviceId}::text is null or d.net_device_id = ${query.netDeviceId})
      and (${query.nameLike}::text is null or d.name ilike ${query.nameLike})`
  const [count] = await sql<{ count: number }[]>`
    select count(*)::integer as count from lorawan.device_integrations d where ${matches()}`
  const rows = await sql<DeviceIntegrationRow[]>`
    select ${columns(sql)} from ${source(sql)} where ${matches()} order by d.id offset ${offset} limit ${limit}`
  return { total: count!.count, rows: [...rows] }
}

export type DeviceChange = Pick<
  DeviceIntegrationRow,
  'name' | 'description' | 'formatter' | 'decodes' | 'encodes' | 'downlinkFPort' | 'downlinkConfirmed'
>

export interface DeviceRef {
  id: number
  appIntegrationId: number
  netDeviceId: string
}

/** Stores the version that an endpoint has moved to. Returns the LoRaWAN device of the endpoint, if there is such a device. */
export async function updateVersionOfEndpoint(
  sql: Sql,
  endpointId: string,
  appVersionName: string,
): Promise<DeviceRef | undefined> {
  const [row] = await sql<DeviceRef[]>`
    update lorawan.device_integrations set app_version_name = ${appVersionName}, version = version + 1
    where endpoint_id = ${endpointId} returning id, app_integration_id, net_device_id`
  return row
}

/** Deletes the devices of unregistered endpoints. If an endpoint is registered again, devices of the new registration stay. */
export async function deleteDevicesOfEndpoints(sql: Sql, unregistered: Unregistered): Promise<DeviceRef[]> {
  return await sql<DeviceRef[]>`
    delete from lorawan.device_integrations i where ${isOfUnregistered(sql, unregistered)}
    returning id, app_integration_id, net_device_id`
}

/** Finds the network ids of devices that have a device integration. */
export async function findNetDeviceIds(sql: Sql, appIntegrationId: number): Promise<Set<string>> {
  const rows = await sql<{ netDeviceId: string }[]>`
    select net_device_id from lorawan.device_integrations where app_integration_id = ${appIntegrationId}`
  return new Set(rows.map(({ netDeviceId }) => netDeviceId))
}

/** SQL of uplinks. Each uplink is claimed before its sample is stored, so that every node recognises a repeated uplink. */
import type { Sql } from '../../../kernel/db.ts'

export interface UplinkKey {
  deviceIntegrationId: number
  sessionKey: string
  fCnt: number
}

export interface ClaimedUplink extends UplinkKey {
  /** The time that the sample got with the first claim. */
  sampleAt: Date
  /** True if the sample was stored within the last hour. */
  isStored: boolean
}

/**
 * Claims uplinks with distinct keys. A claim that is older than an hour does not count. The commit does not wait for the disk, because the
 * later commit of the sample waits for the disk, and makes the claim durable too.
 */
export async function claimUplinks(sql: Sql, uplinks: (UplinkKey & { sampleAt: Date })[]): Promise<ClaimedUplink[]> {
  return await sql<ClaimedUplink[]>`
    insert into lorawan.uplinks as u (device_integration_id, session_key, f_cnt, sample_at, claimed_at, is_stored)
    select g.device, g.session, g.f_cnt, g.at, statement_timestamp(), false
    from unnest(${uplinks.map(({ deviceIntegrationId }) => deviceIntegrationId)}::integer[],
      ${uplinks.map(({ sessionKey }) => sessionKey)}::text[], ${uplinks.map(({ fCnt }) => fCnt)}::float8[],
      ${uplinks.map(({ sampleAt }) => sampleAt)}::timestamptz[]) as g(device, session, f_cnt, at),
      set_config('synchronous_commit', 'off', true)
    order by 1, 2, 3
    on conflict (device_integration_id, session_key, f_cnt) do update set
      sample_at = case when u.claimed_at < statement_timestamp() - interval '1 hour' then excluded.sample_at else u.sample_at end,
      is_stored = u.is_stored and u.claimed_at >= statement_timestamp() - interval '1 hour',
      claimed_at = case when u.claimed_at < statement_timestamp() - interval '1 hour' then excluded.claimed_at
        else u.claimed_at end
    returning u.device_integration_id, u.session_key, u.f_cnt::float8 as f_cnt, u.sample_at, u.is_stored`
}

export async function markStored(sql: Sql, uplinks: UplinkKey[]) {
  await sql`
    update lorawan.uplinks u set is_stored = true
    from unnest(${uplinks.map(({ deviceIntegrationId }) => deviceIntegrationId)}::integer[],
      ${uplinks.map(({ sessionKey }) => sessionKey)}::text[], ${uplinks.map(({ fCnt }) => fCnt)}::float8[])
      as g(device, session, f_cnt)
    where u.device_integration_id = g.device and u.session_key = g.session and u.f_cnt = g.f_cnt::bigint`
}

/** Deletes claims that are older than an hour. Returns how many were deleted. */
export async function deleteOldUplinks(sql: Sql, limit: number): Promise<number> {
  const { count } = await sql`
    delete from lorawan.uplinks where ctid = any(array(
      select ctid from lorawan.uplinks where claimed_at < statement_timestamp() - interval '1 hour' limit ${limit}))`
  return count
}

export interface Counts {
  deviceIntegrationId: number
  received: number
  stored: number
  duplicates: number
  dropped: number
  lastUplinkAt: Date | null
  lastError: string | null
  lastErrorAt: Date | null
}

/** Adds to the counts of the devices. Devices that were deleted meanwhile are left out. */
export async function addCounts(sql: Sql, counts: Counts[]) {
  await sql`
    insert into lorawan.device_statistics as s (device_integration_id, received, stored, duplicates, dropped, last_uplink_at,
      last_error, last_error_at)
    select d.id, g.received, g.stored, g.duplicates, g.dropped, g."lastUplinkAt", g."lastError", g."lastErrorAt"
    from jsonb_to_recordset(${sql.json(counts)}) as g("deviceIntegrationId" integer, received bigint, stored bigint,
      duplicates bigint, dropped bigint, "lastUplinkAt" timestamptz, "lastError" text, "lastErrorAt" timestamptz)
    join lorawan.device_integrations d on d.id = g."deviceIntegrationId"
    order by d.id
    for key share of d
    on conflict (device_integration_id) do update set
      received = s.received + excluded.received, stored = s.stored + excluded.stored,
      duplicates = s.duplicates + excluded.duplicates, dropped = s.dropped + excluded.dropped,
      last_uplink_at = greatest(s.last_uplink_at, excluded.last_uplink_at),
      last_error = coalesce(excluded.last_error, s.last_error),
      last_error_at = coalesce(excluded.last_error_at, s.last_error_at)`
}

/** A device with the fields that uplinks and downlinks need. */
export interface LinkedDevice {
  id: number
  tenantId: string
  appIntegrationId: number
  appName: string
  appVersionName: string
  netDeviceId: string
  endpointId: string
  formatter: string | null
  decodes: boolean
  encodes: boolean
  downlinkFPort: number
  downlinkConfirmed: boolean
  status: 'ACTIVE' | 'SUSPENDED'
  /** The time of the device's latest sample within the last hour. */
  lastSampleAt: Date | null
}

const linkedColumns = (sql: Sql) => sql`
  d.id, d.tenant_id, d.app_integration_id, d.app_name, d.app_version_name, d.net_device_id, d.endpoint_id, d.formatter,
  d.decodes, d.encodes, d.downlink_f_port, d.downlink_confirmed, d.status,
  (select max(u.sample_at) from lorawan.uplinks u where u.device_integration_id = d.id) as last_sample_at`

/** Finds devices by integration and id in the network. */
export async function findLinkedDevices(
  sql: Sql,
  devices: { appIntegrationId: number; netDeviceId: string }[],
): Promise<LinkedDevice[]> {
  return await sql<LinkedDevice[]>`
    select ${linkedColumns(sql)}
    from unnest(${devices.map(({ appIntegrationId }) => appIntegrationId)}::integer[],
      ${devices.map(({ netDeviceId }) => netDeviceId)}::text[]) as g(app, device)
    join lorawan.device_integrations d on d.app_integration_id = g.app and d.net_device_id = g.device`
}

export async function findLinkedEndpoint(sql: Sql, endpointId: string): Promise<LinkedDevice | undefined> {
  const [row] = await sql<LinkedDevice[]>`
    select ${linkedColumns(sql)} from lorawan.device_integrations d where d.endpoint_id = ${endpointId}`
  return row
}

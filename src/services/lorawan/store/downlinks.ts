/** SQL of downlinks: commands that were published to the network and wait for its report. */
import type { Sql } from '../../../kernel/db.ts'

export interface DownlinkRow {
  correlationId: string
  deviceIntegrationId: number
  tenantId: string
  endpointId: string
  commandId: number
  commandType: string
  isConfirmed: boolean
}

/** Returns the ids of the commands of an endpoint whose downlinks the broker has acknowledged. */
export async function findPublished(
  sql: Sql,
  { tenantId, endpointId }: { tenantId: string; endpointId: string },
): Promise<Set<number>> {
  const rows = await sql<{ commandId: number }[]>`
    select command_id from lorawan.downlinks
    where tenant_id = ${tenantId} and endpoint_id = ${endpointId} and published_at is not null`
  return new Set(rows.map(({ commandId }) => commandId))
}

/** Stores a downlink before it is published. If it was published before without an acknowledgement, it keeps its correlation id. */
export async function insertDownlink(sql: Sql, row: DownlinkRow): Promise<string> {
  const [stored] = await sql<{ correlationId: string }[]>`
    insert into lorawan.downlinks as d (correlation_id, device_integration_id, tenant_id, endpoint_id, command_id,
      command_type, is_confirmed, created_at)
    values (${row.correlationId}, ${row.deviceIntegrationId}, ${row.tenantId}, ${row.endpointId}, ${row.commandId},
      ${row.commandType}, ${row.isConfirmed}, statement_timestamp())
    on conflict on constraint downlink_command do update set
      device_integration_id = excluded.device_integration_id, is_confirmed = excluded.is_confirmed
    returning correlation_id`
  return stored!.correlationId
}

export async function updatePublished(sql: Sql, correlationId: string) {
  await sql`
    update lorawan.downlinks set published_at = statement_timestamp() where correlation_id = ${correlationId}`
}

/** Finds downlinks of an integration by correlation ids from its network. Downlinks of other integrations are not found. */
export async function findDownlinks(
  sql: Sql,
  appIntegrationId: number,
  correlationIds: string[],
): Promise<(DownlinkRow & { appName: string; appVersionName: string })[]> {
  return await sql<(DownlinkRow & { appName: string; appVersionName: string })[]>`
    select l.correlation_id, l.device_integration_id, l.tenant_id, l.endpoint_id, l.command_id, l.command_type,
      l.is_confirmed, d.app_name, d.app_version_name
    from lorawan.downlinks l join lorawan.device_integrations d on d.id = l.device_integration_id
    where l.correlation_id = any(${correlationIds}::text[]) and d.app_integration_id = ${appIntegrationId}`
}

export async function deleteDownlink(sql: Sql, correlationId: string) {
  await sql`delete from lorawan.downlinks where correlation_id = ${correlationId}`
}

/** Deletes downlinks on which the network never reported. Returns how many were deleted. */
export async function deleteOldDownlinks(sql: Sql, days: number, limit: number): Promise<number> {
  const { count } = await sql`
    delete from lorawan.downlinks where ctid = any(array(
      select ctid from lorawan.downlinks
      where created_at < statement_timestamp() - make_interval(days => ${days}) limit ${limit}))`
  return count
}

/** Returns the next endpoints of an integration's active devices, ordered by the device id. */
export async function findEndpointsAfter(
  sql: Sql,
  page: { appIntegrationId: number; after: number; limit: number },
): Promise<{ id: number; endpointId: string }[]> {
  return await sql<{ id: number; endpointId: string }[]>`
    select id, endpoint_id from lorawan.device_integrations
    where app_integration_id = ${page.appIntegrationId} and id > ${page.after} and status = 'ACTIVE'
    order by id limit ${page.limit}`
}

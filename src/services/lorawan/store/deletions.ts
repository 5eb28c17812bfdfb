/** SQL that deletes the data of deleted applications and tenants. */
import type { Fragment, Sql } from '../../../kernel/db.ts'

/** Deletes the integration of a deleted application, and devices and gateways that still exist. Returns the ids of integrations. */
export async function deleteOfApplication(
  sql: Sql,
  { tenantId, applicationName }: { tenantId: string; applicationName: string },
): Promise<number[]> {
  await sql`delete from lorawan.device_integrations where tenant_id = ${tenantId} and app_name = ${applicationName}`
  await sql`delete from lorawan.gateway_integrations where tenant_id = ${tenantId} and app_name = ${applicationName}`
  const rows = await sql<{ id: number }[]>`
    delete from lorawan.app_integrations where tenant_id = ${tenantId} and app_name = ${applicationName} returning id`
  return rows.map(({ id }) => id)
}

/** Deletes up to `limit` devices and gateways of a tenant. Returns how many were deleted. */
export async function deleteSomeOfTenant(sql: Sql, tenantId: string, limit: number): Promise<number> {
  let deleted = 0
  for (const table of ['device_integrations', 'gateway_integrations'] as const) {
    const { count } = await sql.unsafe(
      `delete from lorawan.${table} where ctid = any(array(
        select ctid from lorawan.${table} where tenant_id = $1 limit $2))`,
      [tenantId, limit],
    )
    deleted += count
  }
  return deleted
}

/** Deletes the integrations of a tenant that no longer has devices and gateways. Returns the ids of the application integrations. */
export async function deleteIntegrationsOfTenant(sql: Sql, tenantId: string): Promise<number[]> {
  await sql`delete from lorawan.account_integrations where tenant_id = ${tenantId}`
  const rows = await sql<{ id: number }[]>`
    delete from lorawan.app_integrations where tenant_id = ${tenantId} returning id`
  return rows.map(({ id }) => id)
}

export interface Unregistered {
  endpointIds: string[]
  /**
   * The time at which the endpoints were unregistered. If an endpoint was registered again, its rows that were created later belong to the
   * new registration and stay. If not, all its rows are deleted: the clock of the node that created a row may have been ahead.
   */
  until: Date
  /** Returns a subquery of all registered endpoints. */
  registered: (sql: Sql) => Fragment
}

/** Returns the condition for the integrations `i` of unregistered endpoints. */
export const isOfUnregistered = (sql: Sql, { endpointIds, until, registered }: Unregistered): Fragment => sql`
  i.endpoint_id = any(${endpointIds}::text[]) and (i.created_at <= ${until}
    or not exists (select 1 from (${registered(sql)}) as e where e.endpoint_id = i.endpoint_id))`

export async function deleteGatewaysOfEndpoints(sql: Sql, unregistered: Unregistered): Promise<number[]> {
  const rows = await sql<{ id: number }[]>`
    delete from lorawan.gateway_integrations i where ${isOfUnregistered(sql, unregistered)} returning id`
  return rows.map(({ id }) => id)
}

export async function updateVersionOfGateway(sql: Sql, endpointId: string, appVersionName: string) {
  await sql`
    update lorawan.gateway_integrations set app_version_name = ${appVersionName}, version = version + 1
    where endpoint_id = ${endpointId}`
}

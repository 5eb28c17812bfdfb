/** SQL functions for `gateway.observations`: the pushes that devices have stopped. */
import type { Sql } from '../../kernel/db.ts'

export interface ObservationKey {
  endpointId: string
  extension: string
}

export interface ObservationRow {
  /** The name of the pushes. An empty name stands for all names that have no row of their own. */
  name: string
  observed: boolean
}

export async function findObservations(sql: Sql, { endpointId, extension }: ObservationKey): Promise<ObservationRow[]> {
  return await sql<ObservationRow[]>`
    select name, observed from gateway.observations where endpoint_id = ${endpointId} and extension = ${extension}`
}

/** Finds the observations of many endpoints, in all extensions. */
export async function findObservationsOfAll(
  sql: Sql,
  endpointIds: string[],
): Promise<(ObservationKey & ObservationRow)[]> {
  return await sql<(ObservationKey & ObservationRow)[]>`
    select endpoint_id, extension, name, observed from gateway.observations
    where endpoint_id = any(${endpointIds}::text[])`
}

export async function saveObservation(
  sql: Sql,
  row: ObservationKey & ObservationRow & { tenantId: string; setAt: Date },
) {
  await sql`
    insert into gateway.observations ${sql({ ...row })}
    on conflict (endpoint_id, extension, name)
    do update set observed = excluded.observed, tenant_id = excluded.tenant_id, set_at = excluded.set_at`
}

export async function deleteObservations(sql: Sql, { endpointId, extension }: ObservationKey) {
  await sql`delete from gateway.observations where endpoint_id = ${endpointId} and extension = ${extension}`
}

/** Deletes the observations of unregistered endpoints. If an endpoint with the same id was registered since, its observations are kept. */
export async function deleteObservationsOf(sql: Sql, endpointIds: string[], before: Date) {
  await sql`
    delete from gateway.observations where endpoint_id = any(${endpointIds}::text[]) and set_at <= ${before}`
}

/** Deletes up to `limit` rows and returns their number. */
export async function deleteObservationsOfTenant(sql: Sql, tenantId: string, limit: number): Promise<number> {
  const { count } = await sql`
    delete from gateway.observations where ctid = any(array(
      select ctid from gateway.observations where tenant_id = ${tenantId} limit ${limit}))`
  return count
}

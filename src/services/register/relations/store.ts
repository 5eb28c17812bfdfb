import type { Fragment, Sql } from '../../../kernel/db.ts'
import type { EndpointRef, Relation } from '../contract.ts'
import type { Visibility } from '../lists/query.ts'

/** Locks the relations of a tenant, because two concurrent changes could together create a cycle. */
export async function lockRelations(sql: Sql, tenantId: string) {
  await sql`select pg_advisory_xact_lock(hashtextextended(${`register.relations\n${tenantId}`}, 0))`
}

/** Finds the relations in which one of these endpoints is contained directly. */
export async function findRelationsAbove(sql: Sql, endpointIds: string[], limit: number) {
  return await sql<{ from: string; to: string }[]>`
    select from_id as "from", to_id as "to" from register.relations
    where to_id = any(${endpointIds}::text[]) and type = 'contains' limit ${limit}`
}

/** Inserts relations. Returns the relations that did not exist before. */
export async function insertRelations(
  sql: Sql,
  relations: Relation[],
  common: { tenantId: string; at: Date },
): Promise<Relation[]> {
  return await sql<Relation[]>`
    insert into register.relations (from_id, to_id, type, tenant_id, created_date)
    select from_id, to_id, type, ${common.tenantId}, ${common.at}
    from unnest(${relations.map(({ type }) => type)}::text[], ${relations.map(({ from }) => from)}::text[],
      ${relations.map(({ to }) => to)}::text[]) as g(type, from_id, to_id)
    on conflict do nothing returning type, from_id as "from", to_id as "to"`
}

/** Adds the rows of `deleted` to the ended relations. The end is never before the start, even if the clocks of nodes differ. */
const keepEnded = (sql: Sql, at: Date) => sql`
  insert into register.ended_relations (tenant_id, from_id, to_id, type, created_date, ended_date)
  select tenant_id, from_id, to_id, type, created_date, greatest(created_date, ${at}::timestamptz) from deleted`

/** Ends relations. Returns the relations that existed. */
export async function deleteRelations(sql: Sql, relations: Relation[], at: Date): Promise<Relation[]> {
  return await sql<Relation[]>`
    with deleted as (
      delete from register.relations r
      using unnest(${relations.map(({ type }) => type)}::text[], ${relations.map(({ from }) => from)}::text[],
        ${relations.map(({ to }) => to)}::text[]) as g(type, from_id, to_id)
      where r.type = g.type and r.from_id = g.from_id and r.to_id = g.to_id
      returning r.*),
    ended as (${keepEnded(sql, at)})
    select type, from_id as "from", to_id as "to" from deleted`
}

export async function deleteRelationsOf(sql: Sql, endpointIds: string[], at: Date) {
  await sql`
    with deleted as (
      delete from register.relations
      where from_id = any(${endpointIds}::text[]) or to_id = any(${endpointIds}::text[])
      returning *)
    ${keepEnded(sql, at)}`
}

/** Returns SQL for the current relations, for a statement in another service. */
export const currentRelations = (sql: Sql): Fragment => sql`
  select tenant_id, from_id, to_id, created_date from register.relations where type = 'contains'`

/** Returns SQL for the relations that have ended, for a statement in another service. */
export const endedRelations = (sql: Sql): Fragment => sql`
  select tenant_id, from_id, to_id, created_date, ended_date, number from register.ended_relations where type = 'contains'`

export type Direction = 'outbound' | 'inbound'

interface RelationSelection {
  tenantId: string
  endpointId: string
  direction: Direction
  visibility: Visibility
}

/**
 * Returns the condition for the relations of an endpoint whose other endpoint the caller may read, and the column of the other endpoint.
 */
function relationsOf(sql: Sql, { endpointId, direction, visibility }: RelationSelection) {
  const [ownColumn, otherColumn] = direction === 'outbound' ? [sql`from_id`, sql`to_id`] : [sql`to_id`, sql`from_id`]
  const seen =
    visibility === 'all'
      ? sql``
      : sql`and exists (select from register.endpoints e where e.endpoint_id = r.${otherColumn}
          and (e.application_name = any(${visibility.applicationNames}::text[])
            or e.endpoint_id = any(${visibility.endpointIds}::text[])))`
  return { where: sql`r.${ownColumn} = ${endpointId} ${seen}`, other: otherColumn }
}

export async function countRelations(sql: Sql, selection: RelationSelection): Promise<number> {
  const [row] = await sql`select count(*) from register.relations r where ${relationsOf(sql, selection).where}`
  return row?.count
}

/** Finds a page of relations, ordered by the id of the other end. */
export async function findRelations(
  sql: Sql,
  selection: RelationSelection & { after: string; offset: number; limit: number },
): Promise<Relation[]> {
  const { where, other } = relationsOf(sql, selection)
  return await sql<Relation[]>`
    select type, from_id as "from", to_id as "to" from register.relations r
    where ${where} and r.${other} > ${selection.after} order by r.${other} offset ${selection.offset} limit ${selection.limit}`
}

export async function findRelated(
  sql: Sql,
  endpoint: { endpointId: string; direction: Direction; limit: number },
): Promise<EndpointRef[]> {
  const [ownColumn, otherColumn] =
    endpoint.direction === 'outbound' ? [sql`from_id`, sql`to_id`] : [sql`to_id`, sql`from_id`]
  return await sql<EndpointRef[]>`
    select e.endpoint_id, e.tenant_id, e.application_name, e.version_name
    from register.relations r join register.endpoints e on e.endpoint_id = r.${otherColumn}
    where r.${ownColumn} = ${endpoint.endpointId} order by r.${otherColumn} limit ${endpoint.limit}`
}

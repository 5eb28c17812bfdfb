/** System configurations at four levels. */
import { isUniqueViolation, type Sql } from '../../../kernel/db.ts'
import type { Window } from '../../../kernel/paging.ts'

export type Level = 'TENANT' | 'APPLICATION' | 'APP_VERSION' | 'ENDPOINT'

export interface SystemPlace {
  tenantId: string
  level: Level
  entityId: string
}

export interface SystemRow {
  configId: string
  name: string
  displayName: string | null
  /** JSON text. */
  config: string
  createdDate: Date
  updatedDate: Date
}

const columns = (sql: Sql) => sql`config_id, name, display_name, config, created_date, updated_date`
const ofPlace = (sql: Sql, { tenantId, level, entityId }: SystemPlace) =>
  sql`tenant_id = ${tenantId} and level = ${level} and entity_id = ${entityId}`

/** Returns false if the place has a configuration with this name. */
export async function insertSystem(sql: Sql, place: SystemPlace, row: SystemRow): Promise<boolean> {
  const { count } = await sql`
    insert into configuration.system_configs ${sql({ ...place, ...row })}
    on conflict on constraint system_config_name do nothing`
  return count === 1
}

export async function findSystem(sql: Sql, place: SystemPlace, configId: string): Promise<SystemRow | undefined> {
  const [row] = await sql<SystemRow[]>`
    select ${columns(sql)} from configuration.system_configs where ${ofPlace(sql, place)} and config_id = ${configId}`
  return row
}

export async function lockSystem(sql: Sql, place: SystemPlace, configId: string): Promise<SystemRow | undefined> {
  const [row] = await sql<SystemRow[]>`
    select ${columns(sql)} from configuration.system_configs where ${ofPlace(sql, place)} and config_id = ${configId}
    for update`
  return row
}

/** Returns false if another configuration of the place has the new name. */
export async function updateSystem(sql: Sql, place: SystemPlace, row: SystemRow): Promise<boolean> {
  const { configId, createdDate: _, ...changed } = row
  try {
    await sql`
      update configuration.system_configs set ${sql(changed)} where ${ofPlace(sql, place)} and config_id = ${configId}`
    return true
  } catch (error) {
    if (isUniqueViolation(error, 'system_config_name')) return false
    throw error
  }
}

export async function deleteSystem(sql: Sql, place: SystemPlace, configId: string) {
  await sql`delete from configuration.system_configs where ${ofPlace(sql, place)} and config_id = ${configId}`
}

export async function countSystem(sql: Sql, place: SystemPlace, name: string | undefined): Promise<number> {
  const [row] = await sql<{ count: number }[]>`
    select count(*)::int as count from configuration.system_configs
    where ${ofPlace(sql, place)} and (${name ?? null}::text is null or name = ${name ?? null})`
  return row!.count
}

export async function findSystemPage(
  sql: Sql,
  place: SystemPlace,
  name: string | undefined,
  { offset, limit }: Window,
): Promise<SystemRow[]> {
  return await sql<SystemRow[]>`
    select ${columns(sql)} from configuration.system_configs
    where ${ofPlace(sql, place)} and (${name ?? null}::text is null or name = ${name ?? null})
    order by name offset ${offset} limit ${limit}`
}

/** Finds the configuration with this name at the first of the places that has one. */
export async function findCurrentSystem(
  sql: Sql,
  places: SystemPlace[],
  name: string,
): Promise<(SystemRow & { level: Level; entityId: string }) | undefined> {
  const [row] = await sql<(SystemRow & { level: Level; entityId: string })[]>`
    select s.config_id, s.name, s.display_name, s.config, s.created_date, s.updated_date, s.level, s.entity_id
    from unnest(${places.map(({ level }) => level)}::text[], ${places.map(({ entityId }) => entityId)}::text[])
      with ordinality as place(level, entity_id, position)
    join configuration.system_configs s on s.tenant_id = ${places[0]!.tenantId} and s.level = place.level
      and s.entity_id = place.entity_id and s.name = ${name}
    order by place.position limit 1`
  return row
}

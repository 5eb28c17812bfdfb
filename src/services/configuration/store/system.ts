/** SQL of system configurations at four levels. */
import { isUniqueViolation, type Sql } from '../../../kernel/db.ts'
import type { Window } from '../../../kernel/paging.ts'

export type Level = 'TENANT' | 'APPLICATION' | 'APP_VERSION' | 'ENDPOINT'

/** The tenant, application, version or endpoint to which a system configuration belongs. */
export interface SystemOwner {
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
const ownedBy = (sql: Sql, { tenantId, level, entityId }: SystemOwner) =>
  sql`tenant_id = ${tenantId} and level = ${level} and entity_id = ${entityId}`

/** Inserts a configuration. Returns false if the owner already has a configuration with this name. */
export async function insertSystem(sql: Sql, owner: SystemOwner, row: SystemRow): Promise<boolean> {
  const { count } = await sql`
    insert into configuration.system_configs ${sql({ ...owner, ...row })}
    on conflict on constraint system_config_name do nothing`
  return count === 1
}

export async function findSystem(sql: Sql, owner: SystemOwner, configId: string): Promise<SystemRow | undefined> {
  const [row] = await sql<SystemRow[]>`
    select ${columns(sql)} from configuration.system_configs where ${ownedBy(sql, owner)} and config_id = ${configId}`
  return row
}

export async function lockSystem(sql: Sql, owner: SystemOwner, configId: string): Promise<SystemRow | undefined> {
  const [row] = await sql<SystemRow[]>`
    select ${columns(sql)} from configuration.system_configs where ${ownedBy(sql, owner)} and config_id = ${configId}
    for update`
  return row
}

/** Updates a configuration. Returns false if another configuration of the owner has the new name. */
export async function updateSystem(sql: Sql, owner: SystemOwner, row: SystemRow): Promise<boolean> {
  const { configId, createdDate: _, ...changed } = row
  try {
    await sql`
      update configuration.system_configs set ${sql(changed)} where ${ownedBy(sql, owner)} and config_id = ${configId}`
    return true
  } catch (error) {
    if (isUniqueViolation(error, 'system_config_name')) return false
    throw error
  }
}

export async function deleteSystem(sql: Sql, owner: SystemOwner, configId: string) {
  await sql`delete from configuration.system_configs where ${ownedBy(sql, owner)} and config_id = ${configId}`
}

export async function countSystem(sql: Sql, owner: SystemOwner, name: string | undefined): Promise<number> {
  const [row] = await sql<{ count: number }[]>`
    select count(*)::int as count from configuration.system_configs
    where ${ownedBy(sql, owner)} and (${name ?? null}::text is null or name = ${name ?? null})`
  return row!.count
}

export async function findSystemPage(
  sql: Sql,
  owner: SystemOwner,
  name: string | undefined,
  { offset, limit }: Window,
): Promise<SystemRow[]> {
  return await sql<SystemRow[]>`
    select ${columns(sql)} from configuration.system_configs
    where ${ownedBy(sql, owner)} and (${name ?? null}::text is null or name = ${name ?? null})
    order by name offset ${offset} limit ${limit}`
}

/** Finds the configuration with this name. If several owners have such a configuration, the first of these owners takes precedence. */
export async function findCurrentSystem(
  sql: Sql,
  owners: SystemOwner[],
  name: string,
): Promise<(SystemRow & { level: Level; entityId: string }) | undefined> {
  const [row] = await sql<(SystemRow & { level: Level; entityId: string })[]>`
    select s.config_id, s.name, s.display_name, s.config, s.created_date, s.updated_date, s.level, s.entity_id
    from unnest(${owners.map(({ level }) => level)}::text[], ${owners.map(({ entityId }) => entityId)}::text[])
      with ordinality as owner(level, entity_id, position)
    join configuration.system_configs s on s.tenant_id = ${owners[0]!.tenantId} and s.level = owner.level
      and s.entity_id = owner.entity_id and s.name = ${name}
    order by owner.position limit 1`
  return row
}

import type { Sql } from '../../../kernel/db.ts'

export interface Seeds {
  roles: { name: string; description: string; heldOn: string }[]
  roleVersions: { version: number; role: string }[]
  scopes: string[]
  roleScopes: { role: string; scope: string }[]
  resourceScopes: { resource: string; scope: string }[]
}

export async function findSeedChecksum(sql: Sql): Promise<string | undefined> {
  const [row] = await sql`select checksum from tenants.seed_state`
  return row?.checksum
}

/** Lets one node insert the built-in roles and scopes (the seeds) while the other nodes wait. */
export async function lockSeeds(sql: Sql) {
  await sql`select pg_advisory_xact_lock(hashtextextended('tenants.seeds', 0))`
}

export async function setSeedChecksum(sql: Sql, checksum: string) {
  await sql`
    insert into tenants.seed_state (id, checksum) values (1, ${checksum})
    on conflict (id) do update set checksum = excluded.checksum`
}

/** Records built-in items as inserted. Returns the items that were not recorded before. */
export async function insertSeeds(sql: Sql, items: string[]): Promise<Set<string>> {
  const rows = await sql`
    insert into tenants.seeds (item) select unnest(${items}::text[]) on conflict do nothing returning item`
  return new Set(rows.map(({ item }) => item as string))
}

export async function insertDefaults(sql: Sql, seeds: Seeds) {
  const { roles, roleVersions, scopes, roleScopes, resourceScopes } = seeds
  const column = <T, K extends keyof T>(rows: T[], key: K) => rows.map((row) => row[key]) as string[]
  await sql`
    insert into tenants.roles (name, description, held_on)
    select * from unnest(${column(roles, 'name')}::text[], ${column(roles, 'description')}::text[],
      ${column(roles, 'heldOn')}::text[]) on conflict do nothing`
  await sql`
    insert into tenants.role_version_mappings (version, role)
    select * from unnest(${roleVersions.map(({ version }) => version)}::integer[],
      ${column(roleVersions, 'role')}::text[]) on conflict do nothing`
  await sql`insert into tenants.scopes (name) select unnest(${scopes}::text[]) on conflict do nothing`
  await sql`
    insert into tenants.scope_version_mappings (version, scope)
    select 1, unnest(${scopes}::text[]) on conflict do nothing`
  await sql`
    insert into tenants.role_scope_mappings (role, scope)
    select * from unnest(${column(roleScopes, 'role')}::text[], ${column(roleScopes, 'scope')}::text[])
    on conflict do nothing`
  await sql`
    insert into tenants.default_resource_scope_mappings (resource, scope)
    select * from unnest(${column(resourceScopes, 'resource')}::text[], ${column(resourceScopes, 'scope')}::text[])
    on conflict do nothing`
}

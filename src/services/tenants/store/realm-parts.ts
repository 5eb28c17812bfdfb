import type { Sql } from '../../../kernel/db.ts'
import type { RealmVersions } from '../tenant.ts'

export interface RealmParts {
  realm: Record<string, unknown> | undefined
  frontend: Record<string, unknown> | undefined
  backend: Record<string, unknown> | undefined
  roles: { name: string; description: string | null; heldOn: 'platform' | 'tenant'; scopes: string[] }[]
  resources: { name: string; type: string; displayName: string; scopes: string[] }[]
}

/** Finds the templates, roles and resources of these versions. Roles only get scopes that belong to the scope version. */
export async function findRealmParts(sql: Sql, versions: RealmVersions): Promise<RealmParts> {
  const [templates] = await sql`
    select
      (select template from tenants.realm_templates where id = ${versions.realmTemplateVersion}) as realm,
      (select template from tenants.realm_frontend_client_templates where id = ${versions.clientFrontendVersion})
        as frontend,
      (select template from tenants.realm_backend_client_templates where id = ${versions.clientBackendVersion})
        as backend`
  const roles = await sql<RealmParts['roles']>`
    select mapping.role as name, role.description, coalesce(role.held_on, 'tenant') as held_on,
      array(
        select held.scope from tenants.role_scope_mappings held
        join tenants.scope_version_mappings known
          on known.scope = held.scope and known.version = ${versions.realmScopesVersion}
        where held.role = mapping.role order by held.scope) as scopes
    from tenants.role_version_mappings mapping
    left join tenants.roles role on role.name = mapping.role
    where mapping.version = ${versions.rolesVersion} order by mapping.role`
  const resources = await sql<RealmParts['resources']>`
    select resource.resource_name as name, resource.resource_type as type, resource.display_name,
      array(
        select unnest(resource.scopes) union
        select scope from tenants.default_resource_scope_mappings where resource = resource.resource_name
        order by 1) as scopes
    from tenants.default_resource_version_mappings mapping
    join tenants.default_resources resource on resource.resource_name = mapping.resource
    where mapping.version = ${versions.resourcesVersion} order by resource.resource_name`
  return {
    realm: templates?.realm ?? undefined,
    frontend: templates?.frontend ?? undefined,
    backend: templates?.backend ?? undefined,
    roles: [...roles],
    resources: [...resources],
  }
}

export async function findRoleName(sql: Sql, id: number): Promise<string | undefined> {
  const [row] = await sql`select name from tenants.roles where id = ${id}`
  return row?.name
}

export interface UserTemplate {
  username: string
  email: string | null
  firstName: string | null
  lastName: string | null
}

export async function findUserTemplate(sql: Sql, id: number): Promise<UserTemplate | undefined> {
  const [row] = await sql<UserTemplate[]>`
    select username, email, first_name, last_name from tenants.users where id = ${id}`
  return row
}

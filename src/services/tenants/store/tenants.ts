import { likePart, type Sql } from '../../../kernel/db.ts'
import type { Window } from '../../../kernel/paging.ts'
import type { TenantStatus } from '../states.ts'
import type { Tenant } from '../tenant.ts'

export type NewTenant = Omit<Tenant, 'statusReason' | 'packageName' | 'jsPolicies'>

/** Inserts a tenant. Returns false if the tenant id is taken, even by a deleted tenant. */
export async function insertTenant(sql: Sql, tenant: NewTenant): Promise<boolean> {
  const { count } = await sql`
    insert into tenants.tenants ${sql(tenant as never)} on conflict (tenant_id) do nothing`
  return count === 1
}

const tenantColumns = (sql: Sql) => sql`
  tenant.*, package.name as package_name,
  array(select policy_id from tenants.tenants_policies_mappings mapping
    where mapping.tenant_id = tenant.tenant_id order by policy_id) as js_policies
  from tenants.tenants tenant left join tenants.package_types package on package.id = tenant.package_type`

/** Finds a tenant that is not deleted, by tenant id or internal id. */
export async function findTenant(sql: Sql, by: { tenantId: string } | { id: string }): Promise<Tenant | undefined> {
  const condition = 'id' in by ? sql`tenant.id = ${by.id}` : sql`tenant.tenant_id = ${by.tenantId}`
  const [tenant] = await sql<Tenant[]>`select ${tenantColumns(sql)} where ${condition} and status <> 'DELETED'`
  return tenant
}

/** Finds a tenant and locks it until the transaction ends. */
export async function lockTenant(sql: Sql, tenantId: string): Promise<Tenant | undefined> {
  const [locked] = await sql`
    select tenant_id from tenants.tenants where tenant_id = ${tenantId} and status <> 'DELETED' for update`
  return locked && findTenant(sql, { tenantId })
}

export interface TenantFilter {
  /** The only tenant that the caller may list; undefined means all. */
  onlyTenant?: string | undefined
  tenantId?: string | undefined
  /** Default: every status except DELETED. */
  status?: TenantStatus | undefined
  analyticsEnabled?: boolean | undefined
  subscriptionTypes?: string[] | undefined
  /** A part of the name, case-insensitive. `admin` and `search` work in the same way. */
  name?: string | undefined
  admin?: string | undefined
  search?: string | undefined
}

export interface TenantOrder {
  by: 'name' | 'created' | 'modified'
  descending: boolean
}

const filterCondition = (sql: Sql, filter: TenantFilter) => sql`
  where ${filter.status === undefined ? sql`status <> 'DELETED'` : sql`status = ${filter.status}`}
  ${filter.onlyTenant === undefined ? sql`` : sql`and tenant.tenant_id = ${filter.onlyTenant}`}
  ${filter.tenantId === undefined ? sql`` : sql`and tenant.tenant_id = ${filter.tenantId}`}
  ${filter.analyticsEnabled === undefined ? sql`` : sql`and analytics_enabled = ${filter.analyticsEnabled}`}
  ${filter.subscriptionTypes === undefined ? sql`` : sql`and subscription_type = any(${filter.subscriptionTypes})`}
  ${filter.name === undefined ? sql`` : sql`and tenant.name ilike ${likePart(filter.name)}`}
  ${filter.admin === undefined ? sql`` : sql`and ${adminLike(sql, filter.admin)}`}
  ${
    filter.search === undefined
      ? sql``
      : sql`and (tenant.name ilike ${likePart(filter.search)} or tenant.tenant_id ilike ${likePart(filter.search)}
          or ${adminLike(sql, filter.search)})`
  }`

const adminLike = (sql: Sql, part: string) =>
  sql`(admin_username ilike ${likePart(part)} or admin_email ilike ${likePart(part)})`

const orderColumns = { name: 'lower(tenant.name)', created: 'tenant.created', modified: 'tenant.modified' } as const

export async function findTenants(sql: Sql, filter: TenantFilter, order: TenantOrder, { offset, limit }: Window) {
  const direction = sql.unsafe(order.descending ? 'desc' : 'asc')
  const tenants = await sql<Tenant[]>`
    select ${tenantColumns(sql)} ${filterCondition(sql, filter)}
    order by ${sql.unsafe(orderColumns[order.by])} ${direction}, tenant.id ${direction} offset ${offset} limit ${limit}`
  const [total] = await sql`select count(*) as count from tenants.tenants tenant ${filterCondition(sql, filter)}`
  return { count: total!.count as number, tenants: [...tenants] }
}

export async function updateTenant(sql: Sql, tenantId: string, change: Partial<NewTenant> & { modified: Date }) {
  await sql`update tenants.tenants set ${sql(change as never)} where tenant_id = ${tenantId}`
}

export async function setStatus(
  sql: Sql,
  tenantId: string,
  change: { status: TenantStatus; statusReason?: string; modified: Date },
) {
  const { status, statusReason = null, modified } = change
  await sql`
    update tenants.tenants set status = ${status}, status_reason = ${statusReason}, modified = ${modified}
    where tenant_id = ${tenantId}`
}

/** Records the checksum of the built-in roles and scopes that the realm was built with. Deletes the administrator's sealed password. */
export async function setBuilt(sql: Sql, tenantId: string, seedChecksum: string | null) {
  await sql`
    update tenants.tenants set built_with = ${seedChecksum}, admin_password_sealed = null
    where tenant_id = ${tenantId}`
}

/** Finds tenants whose realm was built with other built-in roles or scopes, including suspended tenants. */
export async function findTenantsWithOldSeeds(
  sql: Sql,
  seedChecksum: string,
  after: string,
  limit: number,
): Promise<string[]> {
  const rows = await sql`
    select tenant_id from tenants.tenants
    where tenant_id > ${after} and built_with is distinct from ${seedChecksum}
      and status in ('AVAILABLE', 'SUSPENDED', 'DISABLED')
    order by tenant_id limit ${limit}`
  return rows.map(({ tenantId }) => tenantId)
}

/** Finds tenants whose build has stopped. Updates `modified`, so that they are not found again immediately. */
export async function claimStuckBuilds(sql: Sql, before: Date, now: Date, limit: number): Promise<string[]> {
  const rows = await sql`
    update tenants.tenants set modified = ${now} where tenant_id in (
      select tenant_id from tenants.tenants where status in ('CREATING', 'UPDATING') and modified < ${before}
      order by modified limit ${limit} for update skip locked)
    returning tenant_id`
  return rows.map(({ tenantId }) => tenantId)
}

/** SQL of all catalogues. Table and column names come from catalogues.ts, never from a request. */
import type { Sql } from '../../../kernel/db.ts'
import type { Window } from '../../../kernel/paging.ts'
import type { TenantLimitValues } from '../../../kernel/tenant-limits.ts'
import type { Catalogue, CatalogueItem } from '../catalogues.ts'

/** A violated constraint: the value of the field is already taken, or it references an unknown object. */
export interface ConstraintViolation {
  field: string
  kind: 'taken' | 'unknown'
}

interface Row {
  item: CatalogueItem
}

const tableOf = (sql: Sql, { table }: Catalogue) => sql(`tenants.${table}`)

/** Selects an entry with to_jsonb, which keeps the column names that the API uses. */
const itemColumn = (sql: Sql, { table }: Catalogue) => sql`to_jsonb(${sql(table)}) as item`

const timeFields = ['starts_at', 'ends_at']
/** Writes the time zone UTC as `Z`, as all other times of the API. to_jsonb writes `+00:00`. */
const inUtc = (name: string, value: unknown) =>
  timeFields.includes(name) && typeof value === 'string' ? value.replace(/\+00:00$/, 'Z') : value

/** Removes null fields, but only at the top level, because a template may contain null. */
const withoutNulls = (row: Row) =>
  Object.fromEntries(
    Object.entries(row.item).flatMap(([name, value]) => (value === null ? [] : [[name, inUtc(name, value)]])),
  ) as CatalogueItem

export async function findEntries(sql: Sql, catalogue: Catalogue, { offset, limit }: Window) {
  const rows = await sql<Row[]>`
    select ${itemColumn(sql, catalogue)} from ${tableOf(sql, catalogue)} order by id offset ${offset} limit ${limit}`
  return rows.map(withoutNulls)
}

export async function countEntries(sql: Sql, catalogue: Catalogue): Promise<number> {
  const [row] = await sql`select count(*) as count from ${tableOf(sql, catalogue)}`
  return row!.count
}

export async function findEntry(sql: Sql, catalogue: Catalogue, id: number) {
  const [row] = await sql<Row[]>`
    select ${itemColumn(sql, catalogue)} from ${tableOf(sql, catalogue)} where id = ${id}`
  return row && withoutNulls(row)
}

export const insertEntry = (sql: Sql, catalogue: Catalogue, body: Record<string, unknown>) =>
  catchViolation(catalogue, async () => {
    const presentFields = Object.entries(columnsOf(sql, catalogue, body)).filter(([, value]) => value !== null)
    const table = tableOf(sql, catalogue)
    const [inserted] =
      presentFields.length > 0
        ? await sql<Row[]>`
            insert into ${table} ${sql(Object.fromEntries(presentFields) as never)}
            returning ${itemColumn(sql, catalogue)}`
        : await sql<Row[]>`insert into ${table} default values returning ${itemColumn(sql, catalogue)}`
    return withoutNulls(inserted!)
  })

/** Updates an entry. Returns undefined if the entry does not exist. */
export const updateEntry = (sql: Sql, catalogue: Catalogue, id: number, body: Record<string, unknown>) =>
  catchViolation(catalogue, async () => {
    const row = columnsOf(sql, catalogue, body)
    const [updated] = await sql<Row[]>`
      update ${tableOf(sql, catalogue)} set ${sql(row as never)} where id = ${id}
      returning ${itemColumn(sql, catalogue)}`
    return updated && withoutNulls(updated)
  })

/**
 * Locks the entry exclusively. This waits for registrations that locked it with `lockEntryShared`. Returns false if the entry does not
 * exist.
 */
export async function lockEntry(sql: Sql, catalogue: Catalogue, id: number): Promise<boolean> {
  const { count } = await sql`select from ${tableOf(sql, catalogue)} where id = ${id} for update`
  return count === 1
}

/** Returns a tenant that was built with this entry, if any. */
export async function findTenantUsing(sql: Sql, column: string, id: number): Promise<string | undefined> {
  const [row] = await sql`
    select tenant_id from tenants.tenants where ${sql(column)} = ${id} and status <> 'DELETED' limit 1`
  return row?.tenantId
}

export async function deleteEntry(sql: Sql, catalogue: Catalogue, id: number) {
  await sql`delete from ${tableOf(sql, catalogue)} where id = ${id}`
}

/** Locks the entry until the transaction ends, to exclude its deletion. Returns false if the entry does not exist. */
export async function lockEntryShared(sql: Sql, catalogue: Catalogue, id: number): Promise<boolean> {
  const { count } = await sql`select from ${tableOf(sql, catalogue)} where id = ${id} for key share`
  if (count === 1) return true
  if (!catalogue.mappings) return false
  const mapped = await sql`select from ${sql(`tenants.${catalogue.mappings}`)} where version = ${id} limit 1`
  return mapped.count === 1
}

export async function findPackageId(sql: Sql, name: string): Promise<number | undefined> {
  const [row] = await sql`select id from tenants.package_types where name = ${name}`
  return row?.id
}

/** Returns the storage quota of the tenant's package in bytes; 0 if the tenant has no package. */
export async function findStorageQuota(sql: Sql, tenantId: string): Promise<number> {
  const [row] = await sql`
    select disk_size from tenants.tenants tenant join tenants.package_types package on package.id = tenant.package_type
    where tenant.tenant_id = ${tenantId}`
  return row?.diskSize ?? 0
}

/** Returns the limits in the tenants' packages. 0 means that the package has no limit. */
export async function findLimits(sql: Sql, tenantIds: string[]): Promise<Map<string, TenantLimitValues>> {
  const rows = await sql<({ tenantId: string } & TenantLimitValues)[]>`
    select tenant_id, traffic::float8 as bytes_per_day, requests_per_second::float8 as requests_per_second
    from tenants.tenants tenant join tenants.package_types package on package.id = tenant.package_type
    where tenant.tenant_id = any(${tenantIds}::text[])`
  return new Map(rows.map(({ tenantId, ...values }) => [tenantId, values]))
}

/** Returns the id of the newest or the first identity provider. */
export async function findIdpId(sql: Sql, which: 'newest' | 'first'): Promise<number> {
  const order = which === 'newest' ? sql`desc` : sql`asc`
  const [row] = await sql`select id from tenants.idps order by id ${order} limit 1`
  return row?.id ?? 1
}

export async function findSubscriptions(sql: Sql, tenantId: string, { offset, limit }: Window) {
  const rows = await sql<Row[]>`
    select to_jsonb(entry) as item from tenants.tenants_subscriptions entry
    where tenant_id = ${tenantId} order by id offset ${offset} limit ${limit}`
  const [total] = await sql`select count(*) as count from tenants.tenants_subscriptions where tenant_id = ${tenantId}`
  return { count: total!.count as number, results: rows.map(withoutNulls) }
}

export async function insertSubscription(sql: Sql, tenantId: string, subscriptionType: string, startsAt: Date) {
  await sql`insert into tenants.tenants_subscriptions ${sql({ tenantId, subscriptionType, startsAt })}`
}

/** Returns a value for each field of the catalogue. Absent fields are null. */
const columnsOf = (sql: Sql, { fields }: Catalogue, body: Record<string, unknown>) =>
  Object.fromEntries(
    Object.keys(fields).map((field) => {
      const value = body[field] ?? null
      const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
      return [field, isObject ? sql.json(value as never) : value]
    }),
  )

/**
 * Catches the violation of a constraint and returns it. Constraints have names of the form `<table>_<field>_key` and
 * `<table>_<field>_fkey`.
 */
async function catchViolation<T>(
  { table }: Catalogue,
  work: () => Promise<T>,
): Promise<T | { violation: ConstraintViolation }> {
  try {
    return await work()
  } catch (error) {
    const { code, constraint = '' } = error as { code?: string; constraint?: string }
    if (code !== '23505' && code !== '23503') throw error
    const field = constraint.slice(table.length + 1).replace(/_f?key$/, '')
    return { violation: { field, kind: code === '23505' ? 'taken' : 'unknown' } }
  }
}

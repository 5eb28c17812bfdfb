/** Stores the descriptors of files and blobs, and the usage of tenants. */
import { type Fragment, likePart, type Sql } from '../../../kernel/db.ts'
import type { Window } from '../../../kernel/paging.ts'

export type Kind = 'blob' | 'file'

export interface Item {
  endpointId: string
  id: string
  kind: Kind
  tenantId: string
  applicationName: string
  name: string
  contentKey: string
  size: number
  /** Hexadecimal SHA-256. */
  checksum: string
  createdDate: Date
  updatedDate: Date
}
/** An item with its sequence number, which orders items of the same time in lists. */
export type ListedItem = Item & { seq: number }

const columns = (sql: Sql) => sql`
  endpoint_id, id, kind, tenant_id, application_name, name, content_key, size, checksum, created_date, updated_date, seq`

export interface ItemQuery {
  kind: Kind
  tenantId: string
  applicationName: string
  /** The endpoints that the caller may read; undefined means all of the application. */
  visibility: string[] | undefined
  endpointIds?: string[] | undefined
  /** A part of the name. */
  name?: string | undefined
  from?: string | undefined
  to?: string | undefined
  descending: boolean
}

const isMatching = (sql: Sql, query: ItemQuery) => sql`
  kind = ${query.kind} and tenant_id = ${query.tenantId} and application_name = ${query.applicationName}
  ${query.visibility ? sql`and endpoint_id = any(${query.visibility}::text[])` : sql``}
  ${query.endpointIds ? sql`and endpoint_id = any(${query.endpointIds}::text[])` : sql``}
  ${query.name === undefined ? sql`` : sql`and name ilike ${likePart(query.name)}`}
  ${query.from === undefined ? sql`` : sql`and created_date >= ${query.from}::timestamptz`}
  ${query.to === undefined ? sql`` : sql`and created_date <= ${query.to}::timestamptz`}`

/** Finds a page and the total in the same snapshot. */
export async function findItems(sql: Sql, query: ItemQuery, { offset, limit }: Window) {
  const order = query.descending ? sql`created_date desc, seq desc` : sql`created_date, seq`
  const rows = await sql<(ListedItem & { total: number })[]>`
    select counted.total, page.* from (select count(*) as total from binary_data.items where ${isMatching(sql, query)}) counted
    left join (select ${columns(sql)} from binary_data.items where ${isMatching(sql, query)}
      order by ${order} offset ${offset} limit ${limit}) page on true
    order by ${order}`
  return { total: rows[0]?.total ?? 0, items: rows.filter(({ id }) => id !== null) as ListedItem[] }
}

/** Finds the items that follow the item `after` in the list. */
export async function findItemsAfter(
  sql: Sql,
  query: ItemQuery,
  { after, limit }: { after: ListedItem; limit: number },
) {
  const order = query.descending ? sql`created_date desc, seq desc` : sql`created_date, seq`
  const comparison = query.descending ? sql`<` : sql`>`
  return await sql<ListedItem[]>`
    select ${columns(sql)} from binary_data.items
    where ${isMatching(sql, query)} and (created_date, seq) ${comparison} (${after.createdDate}, ${after.seq})
    order by ${order} limit ${limit}`
}

/** Finds the items that follow the item `after` in the list that is ordered by endpoint and then by time. */
export async function findItemsByEndpoint(
  sql: Sql,
  query: ItemQuery,
  { after, limit }: { after: ListedItem | undefined; limit: number },
) {
  const order = query.descending ? sql`created_date desc, seq desc` : sql`created_date, seq`
  const comparison = query.descending ? sql`<` : sql`>`
  const rest = after
    ? sql`and (endpoint_id > ${after.endpointId}
        or endpoint_id = ${after.endpointId} and (created_date, seq) ${comparison} (${after.createdDate}, ${after.seq}))`
    : sql``
  return await sql<ListedItem[]>`
    select ${columns(sql)} from binary_data.items where ${isMatching(sql, query)} ${rest}
    order by endpoint_id, ${order} limit ${limit}`
}

export async function findFile(sql: Sql, endpointId: string, name: string): Promise<Item | undefined> {
  const [row] = await sql<Item[]>`
    select ${columns(sql)} from binary_data.items
    where endpoint_id = ${endpointId} and name = ${name} and kind = 'file'`
  return row
}

export async function findBlob(sql: Sql, endpointId: string, id: string): Promise<Item | undefined> {
  const [row] = await sql<Item[]>`
    select ${columns(sql)} from binary_data.items where endpoint_id = ${endpointId} and id = ${id} and kind = 'blob'`
  return row
}

export async function findLastBlob(sql: Sql, endpointId: string): Promise<Item | undefined> {
  const [row] = await sql<Item[]>`
    select ${columns(sql)} from binary_data.items where endpoint_id = ${endpointId} and kind = 'blob'
    order by created_date desc, seq desc limit 1`
  return row
}

/** Locks a file name until the transaction ends. */
export async function lockFileName(sql: Sql, endpointId: string, name: string) {
  await sql`select pg_advisory_xact_lock(hashtextextended(${`binary-data\n${endpointId}\n${name}`}, 0))`
}

export async function insertItem(sql: Sql, item: Item) {
  await sql`insert into binary_data.items ${sql({ ...item })}`
}

/** Replaces the content of a file. Concurrent reads get either the old or the new content. */
export async function replaceContent(sql: Sql, { endpointId, id }: Item, content: Partial<Item>) {
  await sql`update binary_data.items set ${sql(content)} where endpoint_id = ${endpointId} and id = ${id}`
}

/** Deletes an item. Returns undefined if it was deleted concurrently. */
export async function deleteItem(sql: Sql, { endpointId, id }: Item): Promise<Item | undefined> {
  const [row] = await sql<Item[]>`
    delete from binary_data.items where endpoint_id = ${endpointId} and id = ${id} returning ${columns(sql)}`
  return row
}

export type DeletedContent = Pick<Item, 'contentKey' | 'size'>

export interface Unregistered {
  endpointIds: string[]
  /**
   * The time at which the endpoints were unregistered. If an endpoint was registered again, later rows belong to the new registration and
   * stay. Otherwise all its rows are deleted, also later ones: the clock of the node that wrote a row may be ahead.
   */
  until: Date
  /** Returns a subquery of all registered endpoints. */
  registered: (sql: Sql) => Fragment
}

/** Deletes up to `limit` items of unregistered endpoints. */
export async function deleteOfEndpoints(sql: Sql, endpoints: Unregistered & { tenantId: string; limit: number }) {
  const { tenantId, endpointIds, until, registered, limit } = endpoints
  const isPast = sql`(updated_date <= ${until}
    or not exists (select 1 from (${registered(sql)}) as e where e.endpoint_id = items.endpoint_id))`
  return await sql<DeletedContent[]>`
    delete from binary_data.items where ${isPast} and (endpoint_id, id) in (
      select endpoint_id, id from binary_data.items
      where endpoint_id = any(${endpointIds}::text[]) and tenant_id = ${tenantId} and ${isPast} limit ${limit})
    returning content_key, size`
}

export async function deleteOfTenant(sql: Sql, tenantId: string, limit: number) {
  return await sql<DeletedContent[]>`
    delete from binary_data.items where tenant_id = ${tenantId} and (endpoint_id, id) in (
      select endpoint_id, id from binary_data.items where tenant_id = ${tenantId} limit ${limit})
    returning content_key, size`
}

export async function hasItems(sql: Sql, endpointIds: string[]): Promise<boolean> {
  const [row] = await sql`
    select exists (select from binary_data.items where endpoint_id = any(${endpointIds}::text[])) as yes`
  return row?.yes
}

// ── usage of tenants

export async function findUsage(sql: Sql, tenantId: string): Promise<number> {
  const [row] = await sql`select bytes from binary_data.usage where tenant_id = ${tenantId}`
  return row?.bytes ?? 0
}

/**
 * Adds to the usage of a tenant and returns the new usage. Call it at the end of a transaction, because it locks the row of the tenant:
 * until the commit, other uploads of the tenant wait for this row.
 */
export async function addUsage(sql: Sql, tenantId: string, bytes: number): Promise<number> {
  const [row] = await sql`
    insert into binary_data.usage (tenant_id, bytes) values (${tenantId}, ${bytes})
    on conflict (tenant_id) do update set bytes = usage.bytes + ${bytes} returning bytes`
  return row?.bytes
}

export async function deleteUsage(sql: Sql, tenantId: string) {
  await sql`delete from binary_data.usage where tenant_id = ${tenantId}`
}

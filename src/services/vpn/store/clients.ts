import type { Fragment, Sql, TransactionSql } from '../../../kernel/db.ts'
import type { Window } from '../../../kernel/paging.ts'
import type { ClientType } from '../addresses.ts'

export interface ClientRow {
  id: string
  tenantId: string
  name: string
  type: ClientType
  protocol: 'tcp' | 'udp'
  state: 'active' | 'revoked'
  address: string
  endpointId: string | null
  application: string | null
  description: string
  username: string | null
  hasSshKey: boolean
  created: Date
  lastConnected: Date | null
}

export interface NewClient {
  id: string
  tenantId: string
  name: string
  type: ClientType
  protocol: 'tcp' | 'udp'
  endpointId: string | null
  application: string | null
  description: string
  username: string | null
  sshKey: string | null
  certificate: string
  sealedKey: string
  serialNumber: string
  fingerprint: string
  invalidAfter: Date
  created: Date
}

export interface ProfileRow extends Pick<ClientRow, 'id' | 'tenantId' | 'name' | 'protocol' | 'state'> {
  certificate: string
  sealedKey: string
  authority: string
}

const columns = (sql: Sql) => sql`
  id, tenant_id, name, type, protocol, state, host(address) as address, endpoint_id, application, description, username,
  ssh_key is not null as has_ssh_key, created, last_connected`

/** Inserts a client with the next address that was never assigned. Returns undefined if there is no such address. */
export async function insertWithNewAddress(
  sql: Sql,
  client: NewClient,
  { start, last }: { start: number; last: number },
): Promise<string | undefined> {
  const next = client.type === 'admin' ? sql`next_admin` : sql`next_device`
  const [row] = await sql<{ address: string }[]>`
    with given as (
      update vpn.tenants set ${next} = ${next} + 1
      where tenant_id = ${client.tenantId} and ${next} + ${start}::integer <= ${last}::integer
      returning range_start + (${next} - 1 + ${start}::integer)::bigint as address)
    ${insertOf(sql, client)}`
  return row?.address
}

/** Inserts a client with the address that has been free for the longest time. Returns undefined if no address is free. */
export async function insertWithFreeAddress(sql: TransactionSql, client: NewClient): Promise<string | undefined> {
  // The lock makes concurrent creations and revocations of the tenant's clients wait for each other.
  await sql`select from vpn.tenants where tenant_id = ${client.tenantId} for update`
  const [row] = await sql<{ address: string }[]>`
    with given as (
      delete from vpn.free_addresses where (tenant_id, address) = (
        select tenant_id, address from vpn.free_addresses
        where tenant_id = ${client.tenantId} and type = ${client.type} order by freed_date, address limit 1)
      returning address)
    ${insertOf(sql, client)}`
  return row?.address
}

const insertOf = (sql: Sql, client: NewClient) => sql`
  insert into vpn.clients (id, tenant_id, name, type, protocol, endpoint_id, application, description, username, ssh_key,
    certificate, sealed_key, serial_number, fingerprint, invalid_after, created, address)
  select ${client.id}, ${client.tenantId}, ${client.name}, ${client.type}, ${client.protocol}, ${client.endpointId},
    ${client.application}, ${client.description}, ${client.username}, ${client.sshKey}, ${client.certificate},
    ${client.sealedKey}, ${client.serialNumber}, ${client.fingerprint}, ${client.invalidAfter}, ${client.created}, address
  from given returning host(address) as address`

export async function findClient(sql: Sql, tenantId: string, id: string): Promise<ClientRow | undefined> {
  const [row] = await sql<ClientRow[]>`
    select ${columns(sql)} from vpn.clients where tenant_id = ${tenantId} and id = ${id}`
  return row
}

export async function findProfile(sql: Sql, tenantId: string, id: string): Promise<ProfileRow | undefined> {
  const [row] = await sql<ProfileRow[]>`
    select c.id, c.tenant_id, c.name, c.protocol, c.state, c.certificate, c.sealed_key, t.certificate as authority
    from vpn.clients c join vpn.tenants t using (tenant_id) where c.tenant_id = ${tenantId} and c.id = ${id}`
  return row
}

export interface ClientFilter {
  tenantId: string
  /** The ids that the request names; undefined if it names none. */
  ids: string[] | undefined
  /** The ids of the clients that the caller may read; undefined if the caller may read all clients. */
  visibleIds: string[] | undefined
  name: string | undefined
  endpointId: string | undefined
  state: string | undefined
  address: string | undefined
}

/** Finds a page, newest first, and the number of all clients that match. */
export async function findClients(
  sql: Sql,
  filter: ClientFilter,
  { offset, limit }: Window,
): Promise<{ count: number; rows: ClientRow[] }> {
  const where = sql`
    where tenant_id = ${filter.tenantId}
      ${filter.ids ? sql`and id = any(${filter.ids})` : sql``}
      ${filter.visibleIds ? sql`and id = any(${filter.visibleIds})` : sql``}
      ${filter.name === undefined ? sql`` : sql`and name = ${filter.name}`}
      ${filter.endpointId === undefined ? sql`` : sql`and endpoint_id = ${filter.endpointId}`}
      ${filter.state === undefined ? sql`` : sql`and state = ${filter.state}`}
      ${filter.address === undefined ? sql`` : sql`and address = ${filter.address}::inet`}`
  const [[total], rows] = await Promise.all([
    sql<{ count: number }[]>`select count(*) as count from vpn.clients ${where}`,
    sql<ClientRow[]>`
      select ${columns(sql)} from vpn.clients ${where}
      order by created desc, id offset ${offset} limit ${limit}`,
  ])
  return { count: Number(total!.count), rows: [...rows] }
}

/** Changes one field of an active client. Returns false if there is no such client. */
export async function updateClient(
  sql: Sql,
  { tenantId, id }: { tenantId: string; id: string },
  change: { sshKey: string } | { username: string | null } | { description: string },
): Promise<boolean> {
  const set =
    'sshKey' in change
      ? sql`ssh_key = ${change.sshKey}`
      : 'username' in change
        ? sql`username = ${change.username}`
        : sql`description = ${change.description}`
  const { count } = await sql`
    update vpn.clients set ${set} where tenant_id = ${tenantId} and id = ${id} and state = 'active'`
  return count === 1
}

/** Revokes active clients. Their certificates are added to the revocation list, and their addresses become free. */
export async function revokeClients(
  sql: Sql,
  { tenantId, ids, at }: { tenantId: string; ids: string[]; at: Date },
): Promise<number> {
  // This update locks the tenant before its clients. The creation of a client uses the same order, so the two cannot deadlock.
  await sql`update vpn.tenants set revision = revision + 1 where tenant_id = ${tenantId}`
  const { count } = await sql`
    with revoked as (
      update vpn.clients set state = 'revoked'
      where tenant_id = ${tenantId} and id = any(${ids}) and state = 'active'
      returning tenant_id, type, address, serial_number, invalid_after
    ), listed as (
      insert into vpn.revoked_certificates (tenant_id, serial_number, revoked_date, invalid_after)
      select tenant_id, serial_number, ${at}, invalid_after from revoked
    )
    insert into vpn.free_addresses (tenant_id, address, type, freed_date)
    select tenant_id, address, type, clock_timestamp() from revoked`
  return count
}

/** Deletes the record of a revoked client. Returns false if there is no such record. */
export async function deleteRevokedClient(sql: Sql, tenantId: string, id: string): Promise<boolean> {
  const { count } = await sql`
    delete from vpn.clients where tenant_id = ${tenantId} and id = ${id} and state = 'revoked'`
  return count === 1
}

/**
 * Finds the clients of endpoints that were unregistered at `until`. If an endpoint is registered again, clients created after `until` are
 * left out. Otherwise `created` is ignored, because the clock of the node that created a client may have been ahead. `registered` returns a
 * subquery of all registered endpoints.
 */
export async function findClientsOfEndpoints(
  sql: Sql,
  registered: (sql: Sql) => Fragment,
  { tenantId, endpointIds, until }: { tenantId: string; endpointIds: string[]; until: Date },
): Promise<string[]> {
  const rows = await sql<{ id: string }[]>`
    select id from vpn.clients c
    where tenant_id = ${tenantId} and endpoint_id = any(${endpointIds})
      and (created <= ${until} or not exists (select 1 from (${registered(sql)}) as e where e.endpoint_id = c.endpoint_id))
    order by id`
  return rows.map(({ id }) => id)
}

export async function clearEndpoint(sql: Sql, tenantId: string, ids: string[]) {
  await sql`
    update vpn.clients set endpoint_id = null, application = null where tenant_id = ${tenantId} and id = any(${ids})`
}

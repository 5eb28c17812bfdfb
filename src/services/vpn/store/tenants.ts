/** SQL of the VPN's own authority, and of the tenants with their authorities and address ranges. */
import type { Sql, TransactionSql } from '../../../kernel/db.ts'

export interface InstallationRow {
  certificate: string
  sealedKey: string
  sealedTlsCrypt: string
  serverCertificate: string
  sealedServerKey: string
  serverInvalidAfter: Date
}

export interface TenantRow {
  tenantId: string
  rangeStart: string
  certificate: string
  sealedKey: string
  serialNumber: string
  fingerprint: string
}

export async function findInstallation(sql: Sql): Promise<InstallationRow | undefined> {
  const [row] = await sql<InstallationRow[]>`
    select certificate, sealed_key, sealed_tls_crypt, server_certificate, sealed_server_key, server_invalid_after
    from vpn.installation`
  return row
}

/** Inserts the installation's row, unless another node has already inserted it. */
export async function insertInstallation(sql: Sql, row: InstallationRow) {
  await sql`
    insert into vpn.installation
      (id, certificate, sealed_key, sealed_tls_crypt, server_certificate, sealed_server_key, server_invalid_after)
    values (1, ${row.certificate}, ${row.sealedKey}, ${row.sealedTlsCrypt}, ${row.serverCertificate},
      ${row.sealedServerKey}, ${row.serverInvalidAfter})
    on conflict do nothing`
}

export async function updateServerCertificate(
  sql: Sql,
  row: Pick<InstallationRow, 'serverCertificate' | 'sealedServerKey' | 'serverInvalidAfter'>,
) {
  await sql`
    update vpn.installation set server_certificate = ${row.serverCertificate},
      sealed_server_key = ${row.sealedServerKey}, server_invalid_after = ${row.serverInvalidAfter}`
}

export async function findTenant(sql: Sql, tenantId: string): Promise<TenantRow | undefined> {
  const [row] = await sql<TenantRow[]>`
    select tenant_id, host(range_start) as range_start, certificate, sealed_key, serial_number, fingerprint
    from vpn.tenants where tenant_id = ${tenantId}`
  return row
}

/**
 * Inserts a tenant with a free range of the network, unless another node has already done so. Ranges that were never used are preferred;
 * otherwise the range that has been free for the longest time is used. A range can be used again `restSeconds` after it became free.
 * Inserts nothing if there is no such range.
 */
export async function insertTenant(
  sql: TransactionSql,
  row: Omit<TenantRow, 'rangeStart'>,
  network: { networkStart: string; rangeCount: number; rangeSize: number; restSeconds: number },
) {
  // The lock prevents two tenants from getting the same range.
  await sql`lock table vpn.tenants in share row exclusive mode`
  await sql`
    with ranges as (
      select ${network.networkStart}::inet + number * ${network.rangeSize}::bigint as range_start
      from generate_series(0, ${network.rangeCount}::bigint - 1) as number
    ), free as (
      select r.range_start, (select max(retired_date) from vpn.retired_tenants t where t.range_start = r.range_start) as since
      from ranges r where not exists (select from vpn.tenants t where t.range_start = r.range_start)
    )
    insert into vpn.tenants (tenant_id, range_start, certificate, sealed_key, serial_number, fingerprint)
    select ${row.tenantId}, range_start, ${row.certificate}, ${row.sealedKey}, ${row.serialNumber}, ${row.fingerprint}
    from free where since is null or since < now() - make_interval(secs => ${network.restSeconds})
    order by since nulls first, range_start limit 1
    on conflict (tenant_id) do nothing`
}

/** Deletes all data of a tenant. Its authority is added to the root's revocation list, and its range becomes free. */
export async function retireTenant(sql: Sql, tenantId: string, at: Date) {
  await sql`
    insert into vpn.retired_tenants (serial_number, range_start, retired_date)
    select serial_number, range_start, ${at} from vpn.tenants where tenant_id = ${tenantId}
    on conflict do nothing`
  await sql`delete from vpn.tenants where tenant_id = ${tenantId}`
}

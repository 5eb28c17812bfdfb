import type { Sql } from '../../../kernel/db.ts'
import type { CredentialState } from '../states.ts'
import type { Use } from './basic.ts'

export interface CertificateRow {
  id: string
  serialNumber: string
  commonName: string
  state: CredentialState
  invalidAfter: Date
  createdDate: Date
  updatedDate: Date
  lastUseDate: Date | null
}

/** The columns that a verification needs. */
export interface CertificateForVerification {
  id: string
  state: CredentialState
  invalidAfter: Date
  lastUseDate: Date | null
}

export async function insertCertificate(
  sql: Sql,
  row: { tenantId: string; id: string; serialNumber: string; commonName: string; invalidAfter: Date; at: Date },
) {
  await sql`
    insert into credentials.certificates
      (tenant_id, id, serial_number, common_name, state, invalid_after, created_date, updated_date)
    values (${row.tenantId}, ${row.id}, ${row.serialNumber}, ${row.commonName}, 'Inactive', ${row.invalidAfter},
      ${row.at}, ${row.at})`
}

const pageRows = 1000

/** Finds a page of the tenant's certificates, the oldest first. */
export async function findCertificatePage(sql: Sql, tenantId: string, after: CertificateRow | undefined) {
  const rows = await sql<CertificateRow[]>`
    select id, serial_number, common_name, state, invalid_after, created_date, updated_date, last_use_date
    from credentials.certificates
    where tenant_id = ${tenantId}
      ${after ? sql`and (created_date, id) > (${after.createdDate}, ${after.id})` : sql``}
    order by created_date, id limit ${pageRows}`
  return { rows: [...rows], complete: rows.length < pageRows }
}

export async function findCertificate(sql: Sql, tenantId: string, id: string): Promise<CertificateRow | undefined> {
  const [row] = await sql<CertificateRow[]>`
    select id, serial_number, common_name, state, invalid_after, created_date, updated_date, last_use_date
    from credentials.certificates where tenant_id = ${tenantId} and id = ${id}`
  return row
}

/** Finds a credential and locks it, so that its changes run one after the other. */
export async function lockCertificate(sql: Sql, tenantId: string, id: string): Promise<CertificateRow | undefined> {
  const [row] = await sql<CertificateRow[]>`
    select id, serial_number, common_name, state, invalid_after, created_date, updated_date, last_use_date
    from credentials.certificates where tenant_id = ${tenantId} and id = ${id} for update`
  return row
}

export async function setCertificateState(sql: Sql, tenantId: string, id: string, state: CredentialState, at: Date) {
  await sql`
    update credentials.certificates set state = ${state}, updated_date = ${at}
    where tenant_id = ${tenantId} and id = ${id}`
}

// ── use

export async function findCertificateBySerialNumber(
  sql: Sql,
  tenantId: string,
  serialNumber: string,
): Promise<CertificateForVerification | undefined> {
  const [row] = await sql<CertificateForVerification[]>`
    select id, state, invalid_after, last_use_date from credentials.certificates
    where tenant_id = ${tenantId} and serial_number = ${serialNumber}`
  return row
}

/** Activates an Inactive credential at its first use. Returns false if it is no longer Inactive. */
export async function activateCertificate(sql: Sql, tenantId: string, id: string, at: Date) {
  const { count } = await sql`
    update credentials.certificates set state = 'Active', updated_date = ${at}, last_use_date = ${at}
    where tenant_id = ${tenantId} and id = ${id} and state = 'Inactive'`
  return count === 1
}

export async function saveCertificateUses(sql: Sql, uses: Use[]) {
  await sql`
    update credentials.certificates c set last_use_date = used.at
    from unnest(${uses.map(({ tenantId }) => tenantId)}::text[], ${uses.map(({ id }) => id)}::text[],
      ${uses.map(({ at }) => at.toISOString())}::timestamptz[]) as used (tenant_id, id, at)
    where c.tenant_id = used.tenant_id and c.id = used.id
      and (c.last_use_date is null or c.last_use_date < used.at)`
}

// ── expiry

export interface ExpiringCertificate {
  tenantId: string
  credentialId: string
  serialNumber: string
  commonName: string
  invalidAfter: Date
}

/** Returns up to `limit` certificates that expire before `until`, and marks them as reported. Revoked certificates are left out. */
export async function takeExpiring(sql: Sql, until: Date, limit: number): Promise<ExpiringCertificate[]> {
  return await sql<ExpiringCertificate[]>`
    update credentials.certificates c set expiry_told = true
    from (
      select tenant_id, id from credentials.certificates
      where not expiry_told and invalid_after <= ${until} and state <> 'Revoked'
      order by invalid_after limit ${limit} for update skip locked) soon
    where c.tenant_id = soon.tenant_id and c.id = soon.id
    returning c.tenant_id, c.id as credential_id, c.serial_number, c.common_name, c.invalid_after`
}

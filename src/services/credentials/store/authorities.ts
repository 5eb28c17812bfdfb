import type { Sql } from '../../../kernel/db.ts'

/** Tenant id of the platform's authority. No tenant has an empty id. */
export const platformTenant = ''

export interface AuthorityRow {
  tenantId: string
  id: string
  subject: string
  certificate: string
  sealedKey: string
}

export interface StoredList {
  list: Buffer | null
  listNumber: number
  listDate: Date | null
  revision: number
  /** True if nothing has changed since the list was created. */
  current: boolean
}

/** Inserts an authority, unless another node has already inserted it. */
export async function insertAuthority(sql: Sql, row: AuthorityRow & { serialNumber: string; invalidAfter: Date }) {
  await sql`
    insert into credentials.authorities (tenant_id, id, subject, serial_number, certificate, sealed_key, invalid_after)
    values (${row.tenantId}, ${row.id}, ${row.subject}, ${row.serialNumber}, ${row.certificate}, ${row.sealedKey},
      ${row.invalidAfter})
    on conflict (tenant_id) do nothing`
}

export async function findAuthority(sql: Sql, tenantId: string): Promise<AuthorityRow | undefined> {
  const [row] = await sql<AuthorityRow[]>`
    select tenant_id, id, subject, certificate, sealed_key from credentials.authorities where tenant_id = ${tenantId}`
  return row
}

/** Finds an authority by its id. Ids and subjects contain a UUID, so they are unique. */
export async function findAuthorityById(sql: Sql, id: string): Promise<AuthorityRow | undefined> {
  const [row] = await sql<AuthorityRow[]>`
    select tenant_id, id, subject, certificate, sealed_key from credentials.authorities where id = ${id}`
  return row
}

export async function findAuthorityBySubject(sql: Sql, subject: string): Promise<AuthorityRow | undefined> {
  const [row] = await sql<AuthorityRow[]>`
    select tenant_id, id, subject, certificate, sealed_key from credentials.authorities where subject = ${subject}`
  return row
}

/** Deletes the tenant's authority and adds it to the platform's revocation list. Returns false if the tenant had no authority. */
export async function retireAuthority(sql: Sql, tenantId: string, at: Date) {
  const { count } = await sql`
    insert into credentials.retired_authorities (tenant_id, serial_number, retired_date)
    select tenant_id, serial_number, ${at} from credentials.authorities where tenant_id = ${tenantId}
    on conflict do nothing`
  await sql`delete from credentials.authorities where tenant_id = ${tenantId}`
  return count === 1
}

// ── revocation lists

/** Marks the tenant's revocation list as outdated. */
export async function markListOutdated(sql: Sql, tenantId: string) {
  await sql`update credentials.authorities set revision = revision + 1 where tenant_id = ${tenantId}`
}

export async function findList(sql: Sql, tenantId: string): Promise<StoredList | undefined> {
  const [row] = await sql<StoredList[]>`
    select list, list_number, list_date, revision, list_revision = revision as current
    from credentials.authorities where tenant_id = ${tenantId}`
  return row
}

/** Saves a list, unless another node has saved one. `revision` is the revision that was read before the entries of the list. */
export async function saveList(
  sql: Sql,
  tenantId: string,
  list: { bytes: Uint8Array; number: number; date: Date; revision: number },
) {
  await sql`
    update credentials.authorities
    set list = ${Buffer.from(list.bytes)}, list_number = ${list.number}, list_date = ${list.date},
      list_revision = ${list.revision}
    where tenant_id = ${tenantId} and list_number = ${list.number - 1}`
}

export interface RevokedRow {
  serialNumber: string
  date: Date
  /** True if suspended (certificate hold), false if revoked. */
  isOnHold: boolean
}

const pageRows = 5000

/** Finds suspended and revoked certificates. Expired certificates are left out, because they are invalid anyway. */
export async function findListedCertificates(sql: Sql, tenantId: string, now: Date): Promise<RevokedRow[]> {
  const found: RevokedRow[] = []
  for (;;) {
    const page = await sql<RevokedRow[]>`
      select serial_number, updated_date as date, state = 'Suspended' as is_on_hold from credentials.certificates
      where tenant_id = ${tenantId} and state in ('Suspended', 'Revoked') and invalid_after >= ${now}
        and serial_number > ${found.at(-1)?.serialNumber ?? ''}
      order by serial_number limit ${pageRows}`
    found.push(...page)
    if (page.length < pageRows) return found
  }
}

export async function findRetiredAuthorities(sql: Sql): Promise<RevokedRow[]> {
  const found: RevokedRow[] = []
  let after = { tenantId: '', serialNumber: '' }
  for (;;) {
    const page = await sql<(RevokedRow & { tenantId: string })[]>`
      select tenant_id, serial_number, retired_date as date, false as is_on_hold from credentials.retired_authorities
      where (tenant_id, serial_number) > (${after.tenantId}, ${after.serialNumber})
      order by tenant_id, serial_number limit ${pageRows}`
    found.push(...page)
    if (page.length < pageRows) return found
    after = page.at(-1)!
  }
}

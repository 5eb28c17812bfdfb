/** SQL that only secrets need. library.ts has the SQL that all objects share. */
import type { Sql } from '../../../../kernel/db.ts'

export interface SealedSecret {
  id: string
  name: string
  /** The sealed value. */
  value: string
}

export async function findSecret(sql: Sql, tenantId: string, name: string): Promise<{ id: string } | undefined> {
  const [row] = await sql<{ id: string }[]>`
    select id from rules.secrets where tenant_id = ${tenantId} and name = ${name}`
  return row
}

export async function findSealedSecrets(sql: Sql, tenantId: string): Promise<SealedSecret[]> {
  return await sql<SealedSecret[]>`select id, name, value from rules.secrets where tenant_id = ${tenantId}`
}

/** Locks the secrets of a tenant until the transaction ends, so that their number stays within the limit. */
export async function lockSecrets(sql: Sql, tenantId: string): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${`rules.secrets ${tenantId}`}, 0))`
}

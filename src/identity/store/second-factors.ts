import type { Sql } from '../../kernel/db.ts'

export interface FactorRow {
  id: string
  kind: 'totp' | 'webauthn'
  name: string
  secretSealed: string | null
  lastStep: number | null
  credentialId: string | null
  publicKey: Buffer | null
  counter: number
  transports: string[]
  createdAt: Date
  lastUsedAt: Date | null
}

export const findFactors = (sql: Sql, tenantId: string, userId: string): Promise<FactorRow[]> =>
  sql<FactorRow[]>`
    select id, kind, name, secret_sealed, last_step::float8 as last_step, credential_id, public_key,
      counter::float8 as counter, transports, created_at, last_used_at
    from identity.second_factors where tenant_id = ${tenantId} and user_id = ${userId} order by created_at, id`

export interface NewFactor {
  id: string
  kind: 'totp' | 'webauthn'
  name: string
  secretSealed?: string
  lastStep?: number
  credentialId?: string
  publicKey?: Buffer
  counter?: number
  transports?: string[]
  createdAt: Date
}

/** Inserts a factor. Returns false if the credential is already registered. */
export async function insertFactor(sql: Sql, tenantId: string, userId: string, factor: NewFactor): Promise<boolean> {
  const { count } = await sql`
    insert into identity.second_factors ${sql({ tenantId, userId, ...factor } as never)} on conflict do nothing`
  return count === 1
}

/** Records the step of an accepted code. Returns false if a code of this or a later step was accepted before. */
export async function useStep(sql: Sql, tenantId: string, id: string, step: number, at: Date): Promise<boolean> {
  const { count } = await sql`
    update identity.second_factors set last_step = ${step}, last_used_at = ${at}
    where tenant_id = ${tenantId} and id = ${id} and (last_step is null or last_step < ${step})`
  return count === 1
}

/**
 * Records the counter of a signature. Returns false if it has not grown, which indicates a copied key. Keys without a counter always send
 * 0, so 0 after 0 is accepted.
 */
export async function useCounter(sql: Sql, tenantId: string, id: string, counter: number, at: Date): Promise<boolean> {
  const { count } = await sql`
    update identity.second_factors set counter = ${counter}, last_used_at = ${at}
    where tenant_id = ${tenantId} and id = ${id} and (counter < ${counter} or (counter = 0 and ${counter} = 0))`
  return count === 1
}

export async function deleteFactor(sql: Sql, tenantId: string, userId: string, id: string): Promise<boolean> {
  const { count } = await sql`
    delete from identity.second_factors where tenant_id = ${tenantId} and user_id = ${userId} and id = ${id}`
  return count === 1
}

export async function deleteFactors(sql: Sql, tenantId: string, userId: string) {
  await sql`delete from identity.second_factors where tenant_id = ${tenantId} and user_id = ${userId}`
  await sql`delete from identity.recovery_codes where tenant_id = ${tenantId} and user_id = ${userId}`
}

export async function replaceRecoveryCodes(sql: Sql, tenantId: string, userId: string, hashes: Buffer[]) {
  await sql`delete from identity.recovery_codes where tenant_id = ${tenantId} and user_id = ${userId}`
  for (const hash of hashes) await sql`insert into identity.recovery_codes ${sql({ tenantId, userId, hash })}`
}

/** Consumes a recovery code. Of several concurrent calls, exactly one returns true. */
export async function useRecoveryCode(sql: Sql, tenantId: string, userId: string, hash: Buffer): Promise<boolean> {
  const { count } = await sql`
    delete from identity.recovery_codes where tenant_id = ${tenantId} and user_id = ${userId} and hash = ${hash}`
  return count === 1
}

export async function countRecoveryCodes(sql: Sql, tenantId: string, userId: string): Promise<number> {
  const [row] = await sql`
    select count(*)::integer as count from identity.recovery_codes
    where tenant_id = ${tenantId} and user_id = ${userId}`
  return row!.count
}

/** Locks the realm until the transaction ends, and returns its rule for second factors. */
export async function lockSecondFactorMode(sql: Sql, tenantId: string) {
  const [row] = await sql<{ secondFactor: 'off' | 'optional' | 'required' }[]>`
    select second_factor from identity.realms where tenant_id = ${tenantId} for update`
  return row?.secondFactor
}

/** Sets whether users of the realm may or must have a second factor. Returns false if the realm does not exist. */
export async function updateSecondFactorMode(sql: Sql, tenantId: string, mode: 'off' | 'optional' | 'required') {
  const { count } = await sql`update identity.realms set second_factor = ${mode} where tenant_id = ${tenantId}`
  return count === 1
}

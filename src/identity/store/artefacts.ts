/** What the OpenID Connect provider keeps. `id` is a hash wherever the id itself opens something. */
import type { Sql } from '../../kernel/db.ts'

export type Payload = Record<string, unknown>

export interface Artefact {
  tenantId: string
  model: string
  id: Buffer
  payload: Payload
  grantId: string | null
  uid: string | null
  accountId: string | null
  expiresAt: Date
}

export async function upsertArtefact(sql: Sql, { payload, ...artefact }: Artefact) {
  await sql`
    insert into identity.artefacts ${sql({ ...artefact, payload: sql.json(payload as never) } as never)}
    on conflict (tenant_id, model, id) do update set payload = excluded.payload, grant_id = excluded.grant_id,
      uid = excluded.uid, account_id = excluded.account_id, expires_at = excluded.expires_at`
}

const payloadOf = (row: { payload: Payload; consumedAt: Date | null } | undefined) =>
  row && (row.consumedAt ? { ...row.payload, consumed: Math.floor(row.consumedAt.getTime() / 1000) } : row.payload)

interface Found {
  payload: Payload
  consumedAt: Date | null
}

export async function findArtefact(sql: Sql, tenantId: string, model: string, id: Buffer, now: Date) {
  const [row] = await sql<Found[]>`
    select payload, consumed_at from identity.artefacts
    where tenant_id = ${tenantId} and model = ${model} and id = ${id} and expires_at > ${now}`
  return payloadOf(row)
}

export async function findArtefactByUid(sql: Sql, tenantId: string, model: string, uid: string, now: Date) {
  const [row] = await sql<Found[]>`
    select payload, consumed_at from identity.artefacts
    where tenant_id = ${tenantId} and uid = ${uid} and model = ${model} and expires_at > ${now}`
  return payloadOf(row)
}

/** True for exactly one caller, whatever the number of processes. */
export async function consumeArtefact(sql: Sql, tenantId: string, model: string, id: Buffer, now: Date) {
  const { count } = await sql`
    update identity.artefacts set consumed_at = ${now}
    where tenant_id = ${tenantId} and model = ${model} and id = ${id} and consumed_at is null`
  return count === 1
}

export async function deleteArtefact(sql: Sql, tenantId: string, model: string, id: Buffer) {
  await sql`delete from identity.artefacts where tenant_id = ${tenantId} and model = ${model} and id = ${id}`
}

/** Everything of a login: the grant, its codes and its refresh tokens. */
export async function deleteGrant(sql: Sql, tenantId: string, grantId: string) {
  await sql`delete from identity.artefacts where tenant_id = ${tenantId} and grant_id = ${grantId}`
}

/** Everything of a user; the ids of the logins that ended. */
export async function deleteArtefactsOf(sql: Sql, tenantId: string, accountId: string): Promise<string[]> {
  const rows = await sql`
    delete from identity.artefacts where tenant_id = ${tenantId} and account_id = ${accountId}
    returning grant_id`
  return [...new Set(rows.map(({ grantId }) => grantId as string | null).filter((id) => id !== null))]
}

/** A bounded bite: a table that nobody pruned for long does not hold its rows locked for long. */
export async function deleteExpired(sql: Sql, now: Date) {
  await sql`
    delete from identity.artefacts where ctid = any(array(
      select ctid from identity.artefacts where expires_at < ${now} limit 20000))`
  await sql`delete from identity.denied where expires_at < ${now}`
}

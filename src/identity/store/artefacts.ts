/** SQL of the stored objects of the OpenID Connect provider. `id` is a hash, because ids of the library can be secrets. */
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
  /** For a finished login, the address of the client; for an unfinished login, the network of the client. */
  address?: string
  /** The user agent of the client. Stored for logins. */
  userAgent?: string
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

/** Consumes an object. Of several concurrent calls, even on different nodes, exactly one returns true. */
export async function consumeArtefact(sql: Sql, tenantId: string, model: string, id: Buffer, now: Date) {
  const { count } = await sql`
    update identity.artefacts set consumed_at = ${now}
    where tenant_id = ${tenantId} and model = ${model} and id = ${id} and consumed_at is null`
  return count === 1
}

export async function deleteArtefact(sql: Sql, tenantId: string, model: string, id: Buffer) {
  await sql`delete from identity.artefacts where tenant_id = ${tenantId} and model = ${model} and id = ${id}`
}

/** Deletes a login: the grant, its codes and its refresh tokens. */
export async function deleteGrant(sql: Sql, tenantId: string, grantId: string) {
  await sql`delete from identity.artefacts where tenant_id = ${tenantId} and grant_id = ${grantId}`
}

/** Deletes all objects of a user. Returns the ids of the ended logins. */
export async function deleteArtefactsOf(sql: Sql, tenantId: string, accountId: string): Promise<string[]> {
  const rows = await sql`
    delete from identity.artefacts where tenant_id = ${tenantId} and account_id = ${accountId}
    returning grant_id`
  return [...new Set(rows.map(({ grantId }) => grantId as string | null).filter((id) => id !== null))]
}

/** Deletes expired objects, at most 20,000 at a time, to keep the transaction short. */
export async function deleteExpired(sql: Sql, now: Date) {
  await sql`
    delete from identity.artefacts where ctid = any(array(
      select ctid from identity.artefacts where expires_at < ${now} limit 20000))`
  await sql`delete from identity.denied where expires_at < ${now}`
}

/** Counts unfinished logins of a network, up to a maximum. */
export async function countOpenLoginsOf(sql: Sql, address: string, now: Date, max: number): Promise<number> {
  const [row] = await sql`
    select count(*)::int as count from (
      select from identity.artefacts where model = 'Interaction' and address = ${address} and expires_at > ${now}
      limit ${max}) as open`
  return row!.count
}

/** Counts all unfinished logins, up to a maximum. */
export async function countOpenLogins(sql: Sql, now: Date, max: number): Promise<number> {
  const [row] = await sql`
    select count(*)::int as count from (
      select from identity.artefacts where model = 'Interaction' and address is not null and expires_at > ${now}
      limit ${max}) as open`
  return row!.count
}

/** Locks a login until the transaction ends. */
export async function lockLogin(sql: Sql, tenantId: string, login: string) {
  await sql`select pg_advisory_xact_lock(hashtextextended(${`login ${tenantId} ${login}`}, 0))`
}

/** Counts the objects of a model that a user has and that have not expired. */
export async function countArtefactsOf(sql: Sql, tenantId: string, model: string, accountId: string, now: Date) {
  const [row] = await sql`
    select count(*)::integer as count from identity.artefacts
    where tenant_id = ${tenantId} and account_id = ${accountId} and model = ${model} and expires_at > ${now}`
  return row!.count as number
}

/** Returns the user of an object that is neither consumed nor expired. */
export async function findAccountOf(sql: Sql, tenantId: string, model: string, id: Buffer, now: Date) {
  const [row] = await sql`
    select account_id from identity.artefacts
    where tenant_id = ${tenantId} and model = ${model} and id = ${id} and consumed_at is null and expires_at > ${now}`
  return (row?.accountId ?? undefined) as string | undefined
}

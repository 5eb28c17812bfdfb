/**
 * SQL of the logins of one user. A login is a grant. The session of a browser contains the grants of all clients to which the user has
 * signed in with this browser.
 */
import type { Fragment, Sql } from '../../kernel/db.ts'

export interface LoginRow {
  id: string
  clientId: string | null
  address: string | null
  userAgent: string | null
  startedAt: number | null
  lastUsedAt: number | null
  expiresAt: Date
}

/** Maximum number of logins in the list of one user. */
const listedMax = 1000

/** Returns the condition that the session of a browser contains this login. */
const namesGrant = (sql: Sql, payload: Fragment, grantId: Fragment) =>
  sql`exists (select from jsonb_each(coalesce(${payload} -> 'authorizations', '{}')) a where a.value ->> 'grantId' = ${grantId})`

/** Finds logins that can still be used: with a refresh token, the session of a browser, or an access token that has not expired. */
export const findLogins = (sql: Sql, tenantId: string, userId: string, now: Date, accessTokenSeconds: number) =>
  sql<LoginRow[]>`
    with used as (
      select grant_id, max((payload ->> 'iat')::float8) as at,
        bool_or(model = 'RefreshToken' and consumed_at is null and expires_at > ${now}) as has_token
      from identity.artefacts
      where tenant_id = ${tenantId} and account_id = ${userId} and grant_id is not null
      group by grant_id)
    select g.grant_id as id, g.payload ->> 'clientId' as client_id, g.address, g.user_agent, g.expires_at,
      (g.payload ->> 'iat')::float8 as started_at, u.at as last_used_at
    from identity.artefacts g join used u on u.grant_id = g.grant_id
    where g.tenant_id = ${tenantId} and g.account_id = ${userId} and g.model = 'Grant' and g.expires_at > ${now}
      and (u.has_token or u.at > ${now.getTime() / 1000 - accessTokenSeconds}
        or exists (select from identity.artefacts s
          where s.tenant_id = ${tenantId} and s.account_id = ${userId} and s.model = 'Session' and s.expires_at > ${now}
            and ${namesGrant(sql, sql`s.payload`, sql`g.grant_id`)}))
    order by u.at desc, g.grant_id limit ${listedMax}`

/** Returns a login of the user with the other logins of the same browser. Returns no logins if the user has no such login. */
export async function findLoginsOfBrowser(sql: Sql, tenantId: string, userId: string, id: string): Promise<string[]> {
  const rows = await sql<{ id: string }[]>`
    select grant_id as id from identity.artefacts
    where tenant_id = ${tenantId} and account_id = ${userId} and model = 'Grant' and grant_id = ${id}
    union
    select a.value ->> 'grantId' from identity.artefacts s, jsonb_each(coalesce(s.payload -> 'authorizations', '{}')) a
    where s.tenant_id = ${tenantId} and s.account_id = ${userId} and s.model = 'Session'
      and a.value ->> 'grantId' is not null and ${namesGrant(sql, sql`s.payload`, sql`${id}::text`)}`
  return rows.map((row) => row.id)
}

/** Deletes these logins of the user, and the sessions of browsers that contain one of these logins. */
export async function deleteLogins(sql: Sql, tenantId: string, userId: string, ids: string[]) {
  await sql`
    delete from identity.artefacts d
    where tenant_id = ${tenantId} and account_id = ${userId}
      and (grant_id = any(${ids}) or (model = 'Session' and ${namesGrant(sql, sql`d.payload`, sql`any(${ids}::text[])`)}))`
}

/** Deletes all logins of the user except these and the session of their browser. Returns the ids of the ended logins. */
export async function deleteOtherLogins(sql: Sql, tenantId: string, userId: string, kept: string[]): Promise<string[]> {
  const rows = await sql<{ grantId: string | null }[]>`
    delete from identity.artefacts d
    where tenant_id = ${tenantId} and account_id = ${userId} and (grant_id is null or grant_id <> all(${kept}))
      and not (model = 'Session' and ${namesGrant(sql, sql`d.payload`, sql`any(${kept}::text[])`)})
    returning grant_id`
  return [...new Set(rows.map(({ grantId }) => grantId).filter((id) => id !== null))]
}

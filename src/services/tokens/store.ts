import type { Sql } from '../../kernel/db.ts'
import type { Window } from '../../kernel/paging.ts'
import type { TokenStatus } from './states.ts'

export interface EndpointRow {
  endpointId: string
  tenantId: string
  applicationName: string
}

export interface TokenRow extends EndpointRow {
  endpointTokenId: string
  tokenHash: string
  status: TokenStatus
  createdDate: Date
  /** Null until the status changes for the first time. */
  updatedDate: Date | null
}

export type TokenRef = Pick<TokenRow, 'endpointId' | 'endpointTokenId'>
export type NewToken = Omit<TokenRow, 'status' | 'updatedDate'>

// ── endpoints

export async function findEndpoint(sql: Sql, endpointId: string): Promise<EndpointRow | undefined> {
  const [row] = await sql<EndpointRow[]>`
    select endpoint_id, tenant_id, application_name from tokens.endpoints where endpoint_id = ${endpointId}`
  return row
}

/** Locks the endpoint until the transaction ends, to exclude its deletion and new tokens. */
export async function lockEndpoint(sql: Sql, endpointId: string): Promise<EndpointRow | undefined> {
  const [row] = await sql<EndpointRow[]>`
    select endpoint_id, tenant_id, application_name from tokens.endpoints where endpoint_id = ${endpointId} for update`
  return row
}

export type FirstToken = Pick<NewToken, 'endpointId' | 'endpointTokenId' | 'tokenHash'>

interface FirstTokens {
  owner: { tenantId: string; applicationName: string; createdDate: Date }
  tokens: FirstToken[]
}

/**
 * Inserts new endpoints with their first tokens. `existed` is looked up, which takes 2 µs per endpoint; `on conflict` would take 7 µs. The
 * lookup is not an `exists`, because PostgreSQL would read the whole table into a hash table for a list of 500. A token that the
 * application already has is a unique violation.
 */
export async function insertEndpointsWithTokens(
  sql: Sql,
  { owner, tokens }: FirstTokens,
): Promise<{ endpointId: string; existed: boolean }[]> {
  const existing = await sql<{ endpointId: string }[]>`
    with given as materialized (
      select g.*, (select true from tokens.endpoints e where e.endpoint_id = g.endpoint_id limit 1) is true as existed
      from unnest(${tokens.map(({ endpointId }) => endpointId)}::text[],
        ${tokens.map(({ endpointTokenId }) => endpointTokenId)}::text[], ${tokens.map(({ tokenHash }) => tokenHash)}::text[])
        as g(endpoint_id, endpoint_token_id, token_hash)),
    inserted as (
      insert into tokens.tokens (endpoint_id, endpoint_token_id, tenant_id, application_name, token_hash, status,
        created_date)
      select endpoint_id, endpoint_token_id, ${owner.tenantId}, ${owner.applicationName}, token_hash, 'Inactive',
        ${owner.createdDate} from given),
    fresh as (
      insert into tokens.endpoints (endpoint_id, tenant_id, application_name)
      select endpoint_id, ${owner.tenantId}, ${owner.applicationName} from given where not existed)
    select endpoint_id from given where existed`
  const existingIds = new Set(existing.map(({ endpointId }) => endpointId))
  return tokens.map(({ endpointId }) => ({ endpointId, existed: existingIds.has(endpointId) }))
}

/**
 * Inserts new endpoints with tokens that callers have chosen. Leaves out endpoints whose token exists in the application or occurs earlier
 * in the list. Tokens are inserted in the order of their hashes, so that concurrent transactions with equal tokens cannot deadlock.
 */
export async function insertEndpointsWithChosenTokens(
  sql: Sql,
  { owner, tokens }: FirstTokens,
): Promise<{ endpointId: string; existed: boolean }[]> {
  return await sql<{ endpointId: string; existed: boolean }[]>`
    with inserted as (
      insert into tokens.tokens (endpoint_id, endpoint_token_id, tenant_id, application_name, token_hash, status,
        created_date)
      select endpoint_id, endpoint_token_id, ${owner.tenantId}, ${owner.applicationName}, token_hash, 'Inactive',
        ${owner.createdDate}
      from unnest(${tokens.map(({ endpointId }) => endpointId)}::text[],
        ${tokens.map(({ endpointTokenId }) => endpointTokenId)}::text[], ${tokens.map(({ tokenHash }) => tokenHash)}::text[])
        with ordinality as given(endpoint_id, endpoint_token_id, token_hash, position)
      order by token_hash collate "C", position
      on conflict (application_name, token_hash) do nothing returning endpoint_id),
    checked as (
      select i.endpoint_id, (select true from tokens.endpoints e where e.endpoint_id = i.endpoint_id limit 1) is true as existed
      from inserted i),
    fresh as (
      insert into tokens.endpoints (endpoint_id, tenant_id, application_name)
      select endpoint_id, ${owner.tenantId}, ${owner.applicationName} from checked where not existed)
    select endpoint_id, existed from checked`
}

/** Assigns an existing row to another owner. If the deletion of its tenant has deleted the row meanwhile, it is inserted again. */
export async function saveEndpoint(sql: Sql, { endpointId, tenantId, applicationName }: EndpointRow) {
  await sql`
    insert into tokens.endpoints (endpoint_id, tenant_id, application_name)
    values (${endpointId}, ${tenantId}, ${applicationName})
    on conflict (endpoint_id) do update set tenant_id = excluded.tenant_id, application_name = excluded.application_name`
}

export type DeletedToken = Pick<TokenRow, 'endpointId' | 'endpointTokenId' | 'tokenHash'>

/** Deletes endpoints. Returns their deleted tokens. */
export async function deleteEndpoints(sql: Sql, tenantId: string, endpointIds: string[]): Promise<DeletedToken[]> {
  // Endpoints are locked before their tokens, as provisioning does, to avoid deadlocks.
  await sql`
    select from tokens.endpoints where endpoint_id = any(${endpointIds}::text[]) and tenant_id = ${tenantId}
    order by endpoint_id for update`
  const tokens = await sql<DeletedToken[]>`
    delete from tokens.tokens where endpoint_id = any(${endpointIds}::text[]) and tenant_id = ${tenantId}
    returning endpoint_id, endpoint_token_id, token_hash`
  await sql`delete from tokens.endpoints where endpoint_id = any(${endpointIds}::text[]) and tenant_id = ${tenantId}`
  return [...tokens]
}

/** Deletes up to `limit` endpoints of a tenant with their tokens. Returns how many were deleted. */
export async function deleteOfTenant(sql: Sql, tenantId: string, limit: number): Promise<number> {
  const [row] = await sql<{ count: number }[]>`
    with gone as (
      delete from tokens.endpoints where tenant_id = ${tenantId} and endpoint_id in (
        select endpoint_id from tokens.endpoints where tenant_id = ${tenantId} limit ${limit})
      returning endpoint_id),
    emptied as (delete from tokens.tokens t using gone where t.endpoint_id = gone.endpoint_id)
    select count(*) from gone`
  return row!.count
}

// ── tokens

/** Inserts a token. Returns false if the application already has it. */
export async function insertToken(sql: Sql, token: NewToken): Promise<boolean> {
  const { count } = await sql`
    insert into tokens.tokens ${sql({ ...token, status: 'Inactive' })}
    on conflict (application_name, token_hash) do nothing`
  return count === 1
}

export async function countTokens(sql: Sql, endpointId: string): Promise<number> {
  const [row] = await sql`select count(*) from tokens.tokens where endpoint_id = ${endpointId}`
  return row?.count
}

export async function hasToken(sql: Sql, endpointId: string, statuses: readonly TokenStatus[]): Promise<boolean> {
  const [row] = await sql`
    select exists (select from tokens.tokens
      where endpoint_id = ${endpointId} and status = any(${[...statuses]}::text[])) as yes`
  return row?.yes
}

/** Finds a page of tokens and their total number in one snapshot. */
export async function findTokens(
  sql: Sql,
  query: { endpointId: string; statuses: readonly TokenStatus[]; order: 'ASC' | 'DESC' } & Window,
): Promise<{ total: number; tokens: TokenRow[] }> {
  const matching = sql`
    from tokens.tokens where endpoint_id = ${query.endpointId} and status = any(${[...query.statuses]}::text[])`
  // The id determines the order of tokens of the same millisecond.
  const order =
    query.order === 'ASC' ? sql`created_date, endpoint_token_id` : sql`created_date desc, endpoint_token_id desc`
  const rows = await sql<(TokenRow & { total: number })[]>`
    select counted.total, page.* from (select count(*) as total ${matching}) counted
    left join (
      select endpoint_id, endpoint_token_id, tenant_id, application_name, token_hash, status, created_date, updated_date
      ${matching} order by ${order} offset ${query.offset} limit ${query.limit}) page on true
    order by ${order}`
  return { total: rows[0]?.total ?? 0, tokens: rows.filter(({ endpointTokenId }) => endpointTokenId !== null) }
}

export async function findToken(sql: Sql, { endpointId, endpointTokenId }: TokenRef): Promise<TokenRow | undefined> {
  const [row] = await sql<TokenRow[]>`
    select endpoint_id, endpoint_token_id, tenant_id, application_name, token_hash, status, created_date, updated_date
    from tokens.tokens where endpoint_id = ${endpointId} and endpoint_token_id = ${endpointTokenId}`
  return row
}

/** Finds a token and locks it, so that its changes run one after the other. */
export async function lockToken(sql: Sql, { endpointId, endpointTokenId }: TokenRef): Promise<TokenRow | undefined> {
  const [row] = await sql<TokenRow[]>`
    select endpoint_id, endpoint_token_id, tenant_id, application_name, token_hash, status, created_date, updated_date
    from tokens.tokens where endpoint_id = ${endpointId} and endpoint_token_id = ${endpointTokenId} for update`
  return row
}

/** Changes the status. Returns false if the token does not have the status `from`. */
export async function updateStatus(
  sql: Sql,
  { endpointId, endpointTokenId }: TokenRef,
  change: { from: TokenStatus; to: TokenStatus; at: Date },
): Promise<boolean> {
  const { count } = await sql`
    update tokens.tokens set status = ${change.to}, updated_date = ${change.at}
    where endpoint_id = ${endpointId} and endpoint_token_id = ${endpointTokenId} and status = ${change.from}`
  return count === 1
}

/** Changes the status of several tokens. Returns the tokens that had the status `from`. Locks the tokens in order, to avoid deadlocks. */
export async function updateStatuses(
  sql: Sql,
  tokens: TokenRef[],
  change: { from: TokenStatus; to: TokenStatus; at: Date },
): Promise<Omit<TokenForValidation, 'status'>[]> {
  return await sql<Omit<TokenForValidation, 'status'>[]>`
    with locked as (
      select t.endpoint_id, t.endpoint_token_id
      from unnest(${tokens.map(({ endpointId }) => endpointId)}::text[],
        ${tokens.map(({ endpointTokenId }) => endpointTokenId)}::text[]) as requested (endpoint_id, endpoint_token_id)
      join tokens.tokens t on t.endpoint_id = requested.endpoint_id and t.endpoint_token_id = requested.endpoint_token_id
      where t.status = ${change.from}
      order by t.endpoint_id, t.endpoint_token_id
      for update of t)
    update tokens.tokens t set status = ${change.to}, updated_date = ${change.at}
    from locked
    where t.endpoint_id = locked.endpoint_id and t.endpoint_token_id = locked.endpoint_token_id
    returning t.tenant_id, t.application_name, t.endpoint_id, t.endpoint_token_id, t.token_hash`
}

export async function deleteToken(sql: Sql, { endpointId, endpointTokenId }: TokenRef) {
  await sql`
    delete from tokens.tokens where endpoint_id = ${endpointId} and endpoint_token_id = ${endpointTokenId}`
}

/** Deletes all tokens of an endpoint except one. */
export async function deleteOtherTokens(sql: Sql, { endpointId, endpointTokenId }: TokenRef): Promise<DeletedToken[]> {
  const tokens = await sql<DeletedToken[]>`
    delete from tokens.tokens where endpoint_id = ${endpointId} and endpoint_token_id <> ${endpointTokenId}
    returning endpoint_id, endpoint_token_id, token_hash`
  return [...tokens]
}

// ── by hash

export interface Lookup {
  applicationName: string
  tokenHash: string
}

/** The columns that a validation needs. */
export type TokenForValidation = Pick<
  TokenRow,
  'tenantId' | 'applicationName' | 'endpointId' | 'endpointTokenId' | 'tokenHash' | 'status'
>

export async function findByHash(sql: Sql, lookups: Lookup[]): Promise<TokenForValidation[]> {
  return await sql<TokenForValidation[]>`
    select t.tenant_id, t.application_name, t.endpoint_id, t.endpoint_token_id, t.token_hash, t.status
    from unnest(${lookups.map(({ applicationName }) => applicationName)}::text[],
      ${lookups.map(({ tokenHash }) => tokenHash)}::text[]) as requested (application_name, token_hash)
    join tokens.tokens t on t.application_name = requested.application_name and t.token_hash = requested.token_hash`
}

/** Inserts the key, unless a key exists. */
export async function insertLookupKey(sql: Sql, sealed: string) {
  await sql`insert into tokens.lookup_keys (id, sealed) values (1, ${sealed}) on conflict (id) do nothing`
}

export async function findLookupKey(sql: Sql): Promise<string | undefined> {
  const [row] = await sql`select sealed from tokens.lookup_keys`
  return row?.sealed
}

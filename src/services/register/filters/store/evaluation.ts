/** Evaluates filters in the database, for patterns that would block this node. */
import type { Sql } from '../../../../kernel/db.ts'
import { defaultKeys } from '../../configuration.ts'
import { keysOf } from '../../document-query/keys.ts'
import type { Query } from '../../document-query/query.ts'
import { toSql } from '../../document-query/sql.ts'

const columns = { metadata: 'e.metadata', versionName: 'e.version_name' }

/** Returns the numbers of the endpoints that match. */
export async function findMatching(sql: Sql, query: Query, tenantId: string, seqs: number[]): Promise<Set<number>> {
  const keys = keysOf(query)
  const connectivity = keys === 'any' || defaultKeys.some((key) => keys.has(key))
  const metadata = connectivity
    ? sql`register.whole_metadata(metadata, connected, connectivity_ts) as metadata`
    : sql`metadata`
  const rows = await sql`
    select e.seq from (
      select seq, version_name, ${metadata} from register.endpoints
      where tenant_id = ${tenantId} and seq = any(${seqs.map(String)}::text[]::bigint[]) offset 0) e
    where ${toSql(sql, query, columns)}`.unprepared()
  return new Set(rows.map(({ seq }) => seq as number))
}

/** Returns the numbers of the endpoints that are stored as members. */
export async function findStoredMembers(
  sql: Sql,
  set: { tenantId: string; memberSet: number; seqs: number[] },
): Promise<Set<number>> {
  const rows = await sql<{ seq: number }[]>`
    select seq from register.filter_members
    where tenant_id = ${set.tenantId} and member_set = ${set.memberSet}
      and seq = any(${set.seqs.map(String)}::text[]::bigint[]) and matched`
  return new Set(rows.map(({ seq }) => seq))
}

/** Makes the database compile all patterns of the query. Throws if the database rejects a pattern. */
export async function compilePatterns(sql: Sql, query: Query) {
  await sql`
    select from (select '{}'::jsonb as metadata, ''::text as version_name offset 0) e where ${toSql(sql, query, columns)}`.unprepared()
}

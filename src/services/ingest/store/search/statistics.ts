/** Selects traffic statistics with the columns of documents. */
import type { Fragment, Sql } from '../../../../kernel/db.ts'

/**
 * Returns a relation with the columns of `ingest.documents`. `statistics` must have the columns `since`, `application_name`,
 * `version_name`, `outbound`, `messages` and `bytes`.
 */
export const statisticsRelation = (sql: Sql, statistics: Fragment): Fragment => sql`(
  select since as arrived_at, since as ts, 0 as index_no,
    md5(application_name || '/' || version_name || '/' || outbound || '/' || since)::uuid as id,
    '' as endpoint_id, version_name,
    jsonb_build_object(
      '@timestamp', to_char(since at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
      'appName', application_name, 'appVersionName', version_name,
      'direction', case when outbound then 'OUTBOUND' else 'INBOUND' end,
      'messages', messages, 'bytes', bytes) as doc
  from (${statistics}) counted)`

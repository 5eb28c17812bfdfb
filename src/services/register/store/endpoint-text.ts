/** An endpoint of `register.endpoints e` as JSON text, made where the row is: the platform only passes it on. */
import type { Sql } from '../../../kernel/db.ts'
import type { Fragment } from './fragment.ts'

/** Which metadata is shown. */
export type View = 'none' | 'all' | string[]

/** Between two texts, and never within one: JSON writes line breaks in another way. */
export const separator = ',\n'

const noFilters = '"filters":[]'

export const textOf = (sql: Sql, view: View): Fragment => sql`concat(
  '{"endpointId":', to_json(e.endpoint_id), ',"createdDate":"', register.moment(e.created_date),
  '","appName":', to_json(e.application_name), ',"appVersion":{"name":', to_json(e.version_name),
  ',"registeredDate":"', register.moment(e.version_registered_date), '"},', ${noFilters}::text,
  ',"poolIds":', to_json(e.pool_ids) ${view === 'none' ? sql`` : sql`, ${metadataOf(sql, view)}`}, '}')`

const metadataOf = (sql: Sql, view: View): Fragment => sql`
  ',"metadataUpdatedDate":"' || register.moment(e.metadata_updated_date) || '"',
  ',"metadata":', ${typeof view === 'object' ? picked(sql, view) : sql`${whole(sql)}::text`}`

const whole = (sql: Sql) => sql`register.whole_metadata(e.metadata, e.connected, e.connectivity_ts)`

const picked = (sql: Sql, keys: string[]) => sql`coalesce((
  select jsonb_object_agg(key, value)::text from jsonb_each(${whole(sql)}) where key = any(${keys}::text[])), '{}')`

const beforeId = '{"endpointId":"'

/** The ids in a text of endpoints, in their order. An id has no character that JSON would write in another way. */
export const idsIn = (content: string) =>
  content.split(separator).map((text) => text.slice(beforeId.length, text.indexOf('"', beforeId.length)))

/** The texts with the filters of each; `filtersOf` an endpoint's id. */
export const withFilters = (content: string, filtersOf: (endpointId: string) => string[]): string => {
  const ids = idsIn(content)
  return content
    .split(separator)
    .map((text, index) => text.replace(noFilters, () => `"filters":${JSON.stringify(filtersOf(ids[index]!))}`))
    .join(separator)
}

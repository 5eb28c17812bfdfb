/** Fills the directory in bulk. The background task of the platform would need minutes for the same rows. */

import { defaultCountedKeys, defaultDirectoryKeys } from '../../src/services/register/configuration.ts'
import { documentOf } from '../../src/services/register/directory/document.ts'
import { bandLevel, keptLevels } from '../../src/services/register/directory/grid.ts'
import { saveDocuments } from '../../src/services/register/directory/store/documents.ts'
import type { Metadata } from '../../src/services/register/metadata/metadata.ts'
import { applicationName, type BenchPlatform } from './bench-platform.ts'

const pageSize = 5000

export async function fillDirectory({ sql, tenantId }: BenchPlatform) {
  for (const table of [
    'directory_queue',
    'documents',
    'sort_values',
    'activity',
    'places',
    'place_cells',
    'value_counts',
  ])
    await sql.unsafe(`truncate register.${table}`)
  const [index] = await sql<{ indexdef: string }[]>`
    select indexdef from pg_indexes where schemaname = 'register' and indexname = 'documents_grams'`
  if (index) await sql`drop index register.documents_grams`
  const settings = { keys: defaultDirectoryKeys, countedKeys: defaultCountedKeys, place: undefined }
  for (let after = -1; ; ) {
    const page = await sql<{ seq: number; endpointId: string; metadata: Metadata }[]>`
      select seq, endpoint_id, metadata from register.endpoints where tenant_id = ${tenantId} and seq > ${after}
      order by seq limit ${pageSize}`
    if (page.length === 0) break
    await saveDocuments(
      sql,
      page.map((endpoint) => ({ tenantId, applicationName, ...documentOf(endpoint, settings) })),
    )
    after = page.at(-1)!.seq
  }
  await sql.begin(async (tx) => {
    await tx.unsafe("set local maintenance_work_mem = '512MB'")
    await tx.unsafe(
      'create index documents_grams on register.documents using gin (grams) with (fastupdate = on, gin_pending_list_limit = 512)',
    )
  })
  await sql`
    insert into register.sort_values select tenant_id, application_name, key, value, seq
    from register.documents, jsonb_each_text(sorted) order by 1, 2, 3, 4, 5`
  await sql`
    insert into register.activity select tenant_id, application_name, seq, case when connected then 2 else 1 end, connectivity_ts
    from register.endpoints where connectivity_ts is not null order by seq`
  await sql`
    insert into register.value_counts select tenant_id, application_name, key, value, count(*)
    from register.documents, jsonb_each_text(counted) group by 1, 2, 3, 4
    union all
    select tenant_id, application_name, '', connection::text, count(*) from register.activity group by 1, 2, 4`
  await sql`
    insert into register.places select tenant_id, application_name,
      least((latitude + 90000000::bigint) * ${2 ** bandLevel}::bigint / 180000000, ${2 ** bandLevel - 1})::integer, longitude, latitude, seq
    from register.documents where latitude is not null order by 3, 4`
  for (const level of keptLevels)
    await sql`
      insert into register.place_cells select tenant_id, application_name, ${level}::smallint,
        least((latitude + 90000000::bigint) * ${2 ** level}::bigint / 180000000, ${2 ** level - 1})::integer as y,
        least((longitude + 180000000::bigint) * ${2 ** level}::bigint / 360000000, ${2 ** level - 1})::integer as x,
        count(*), sum(latitude), sum(longitude), sum(seq)
      from register.places group by 1, 2, 3, 4, 5`
  for (const table of ['documents', 'sort_values', 'activity', 'places', 'place_cells', 'value_counts', 'endpoints'])
    await sql.unsafe(`vacuum analyze register.${table}`)
}

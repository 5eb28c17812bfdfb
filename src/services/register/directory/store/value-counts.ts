/** Stores and reads the numbers of endpoints by value. Only the background task of the directory writes them. */
import type { Sql } from '../../../../kernel/db.ts'
import type { Scope } from '../query.ts'

/** The key under which connections are counted. It cannot be a metadata key, because metadata keys are not empty. */
export const connectionKey = ''

export interface ValueCount {
  tenantId: string
  applicationName: string
  key: string
  value: string
  count: number
}

/** Adds differences to the stored counts. Counts that become zero are deleted. */
export async function addToValueCounts(sql: Sql, differences: ValueCount[]) {
  const sums = new Map<string, ValueCount>()
  for (const { tenantId, applicationName, key, value, count } of differences) {
    const id = JSON.stringify([tenantId, applicationName, key, value])
    const sum = sums.get(id) ?? { tenantId, applicationName, key, value, count: 0 }
    sums.set(id, { ...sum, count: sum.count + count })
  }
  const changed = [...sums.values()].filter(({ count }) => count !== 0)
  if (changed.length === 0) return
  const columns = sql`d("tenantId" text, "applicationName" text, key text, value text, count bigint)`
  await sql`
    insert into register.value_counts as known (tenant_id, application_name, key, value, count)
    select "tenantId", "applicationName", key, value, count from jsonb_to_recordset(${sql.json(changed)}) as ${columns}
    on conflict (tenant_id, application_name, key, value) do update set count = known.count + excluded.count`
  await sql`
    delete from register.value_counts s using jsonb_to_recordset(${sql.json(changed)}) as ${columns}
    where s.tenant_id = d."tenantId" and s.application_name = d."applicationName" and s.key = d.key and s.value = d.value
      and s.count = 0`
}

/** Reads the numbers of endpoints by the values of a key. A change is counted some seconds later. */
export async function findValueCounts(
  sql: Sql,
  { tenantId, applicationNames }: Scope,
  key: string,
): Promise<{ value: string; count: number }[]> {
  return await sql<{ value: string; count: number }[]>`
    select value, sum(count)::bigint as count from register.value_counts
    where tenant_id = ${tenantId} and application_name = any(${applicationNames}::text[]) and key = ${key}
    group by value`
}

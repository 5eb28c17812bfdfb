/**
 * Checks that the tables could be distributed over several servers: every key contains a column by which rows could be assigned to servers.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openTimeSeries } from '../../../../test/harness/time-series.ts'

const { sql } = await openTimeSeries()

/** Small tables without such a column. They would be copied to every server. */
const replicatedTables = ['slots', 'latest_marks']
const distributedColumns = ['endpoint_no', 'endpoint_id', 'tenant_id']

test('every key contains a column by which rows could be assigned to servers', async () => {
  const keys = await sql<{ name: string; columns: string[] }[]>`
    select t.relname as name, array(
      select a.attname::text from pg_attribute a where a.attrelid = t.oid and a.attnum = any(i.indkey)) as columns
    from pg_index i join pg_class t on t.oid = i.indrelid
    where t.relnamespace = 'time_series'::regnamespace and i.indisunique and not t.relispartition`
  assert.ok(keys.length >= 8, `${keys.length} keys`)
  for (const { name, columns } of keys)
    assert.ok(
      replicatedTables.includes(name) || columns.some((column) => distributedColumns.includes(column)),
      `${name} (${columns.join(', ')})`,
    )
})

test('no table has a foreign key or a trigger', async () => {
  const rows = await sql`
    select conrelid::regclass::text as name from pg_constraint
    where connamespace = 'time_series'::regnamespace and contype = 'f'
    union all
    select tgrelid::regclass::text from pg_trigger join pg_class c on c.oid = tgrelid
    where c.relnamespace = 'time_series'::regnamespace and not tgisinternal`
  assert.deepEqual([...rows], [])
})

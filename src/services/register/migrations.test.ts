import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { freshDatabase, migrateKernel } from '../../../test/harness/database.ts'
import { connect } from '../../kernel/db.ts'
import { migrate, readMigrations } from '../../kernel/migrate.ts'

const directory = fileURLToPath(new URL('./migrations/', import.meta.url))

test('the migration turns running batches and matchings into bulk tasks that continue at the same position', async () => {
  const connection = await freshDatabase()
  await migrateKernel(connection)
  const sql = connect(connection, { max: 1 })
  const kernel = readMigrations([
    { module: 'kernel', directory: fileURLToPath(new URL('../../kernel/migrations/', import.meta.url)) },
  ])
  const all = readMigrations([{ module: 'register', directory }])
  await migrate(sql, [...kernel, ...all.filter(({ name }) => name < '0006')])
  await sql`
    insert into register.batches (tenant_id, task_id, application_name, version_name, creator, created_date) values
      ('t', 'half', 'a', 'a-v1', '{"subject": {"type": "user", "id": "ada"}, "roles": []}', now()),
      ('t', 'done', 'a', 'a-v1', null, now())`
  await sql`
    insert into register.batch_items (tenant_id, task_id, position, endpoint_id, endpoint_token, metadata, state, reason)
    select 't', 'half', n, case when n <= 150 or n = 200 then 'e' || n end, case when n <= 150 then 'sealed' end,
      case when n % 2 = 0 then '{"a": null}'::jsonb end,
      case when n > 150 then 'pending' when n = 3 then 'failed' else 'created' end, case when n = 3 then 'because' end
    from generate_series(1, 230) as n`
  await sql`
    insert into register.batch_items (tenant_id, task_id, position, endpoint_id, endpoint_token, state)
    values ('t', 'done', 1, 'x', 'sealed', 'created')`
  await sql`
    insert into register.filters (tenant_id, filter_id, application_name, name, description, document_query, status,
      matched_until, matched_date, created_date, updated_date) values
      ('t', 'f', 'a', 'f', '', '{}', 'pending', 77, now(), now(), now()),
      ('t', 'g', 'a', 'g', '', '{}', 'active', 99, now(), now(), now())`
  await migrate(sql, [...kernel, ...all])

  const tasks = await sql`
    select task_id, type, created_by, state, total, succeeded, failed, cursor, done_in_page, pages, finished_at is null as open
    from kernel.bulk_tasks where type = 'register.batch' order by task_id`
  const common = { type: 'register.batch', cursor: 0, pages: 1 }
  assert.deepEqual(
    [...tasks],
    [
      {
        ...common,
        taskId: 'done',
        createdBy: { type: 'system', id: 'waypost' },
        state: 'finished',
        total: 1,
        succeeded: 1,
        failed: 0,
        doneInPage: 1,
        open: false,
      },
      {
        ...common,
        taskId: 'half',
        createdBy: { type: 'user', id: 'ada' },
        state: 'waiting',
        total: 230,
        succeeded: 149,
        failed: 1,
        cursor: 1,
        doneInPage: 50,
        pages: 3,
        open: true,
      },
    ],
  )
  const pages = await sql`
    select page, json_array_length(items) as items, jsonb_array_length(results) as results, succeeded, failed,
      items -> 1 as second, items -> 99 as last, results -> 2 as third from kernel.bulk_pages where task_id = 'half' order by page`
  assert.deepEqual(
    pages.map(({ page, items, results, succeeded, failed }) => [page, items, results, succeeded, failed]),
    [
      [0, 100, 100, 99, 1],
      [1, 100, 50, 50, 0],
      [2, 30, 0, 0, 0],
    ],
  )
  assert.deepEqual(pages[0]?.second, { endpointId: 'e2', endpointToken: 'sealed', metadata: { a: null } })
  assert.deepEqual(pages[0]?.third, { failed: 'because' })
  assert.deepEqual(pages[1]?.last, { endpointId: 'e200', metadata: { a: null } })
  const matchings = await sql`select data, state, cursor from kernel.bulk_tasks where type = 'register.match-filter'`
  const [set] = await sql`select member_set from register.filters where filter_id = 'f'`
  assert.deepEqual(
    [...matchings],
    [{ data: { filterId: 'f', applicationName: 'a', memberSet: set?.memberSet }, state: 'waiting', cursor: 77 }],
  )
  await sql.end()
})

/** Tests that long pages of lists, which are read in parts, are complete and in order. */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { openRules, rulesRoot } from '../../../test/harness/rules.ts'
import { newId } from '../../kernel/ids.ts'

const { waypost, expectStatus } = await openRules()
const { sql } = waypost.kit.db
const rows = 230

async function listed(path: string): Promise<{ totalElements: number; ids: string[]; content: object[] }> {
  const { body, headers } = await expectStatus(200, `GET ${rulesRoot}${path}`)
  // A response that is sent in parts has no length.
  assert.equal(headers['content-length'], undefined)
  const content = body.content as ({ id: string } & object)[]
  return { totalElements: body.totalElements, ids: content.map(({ id }) => id), content }
}

/** Checks that a long page and short pages have the same objects in the same order. */
async function checkPages(path: string) {
  const whole = await listed(`${path}size=10000`)
  assert.deepEqual([whole.totalElements, new Set(whole.ids).size], [rows, rows])
  const pages = [await listed(`${path}size=150`), await listed(`${path}size=150&page=1`)]
  assert.deepEqual(
    pages.flatMap(({ ids }) => ids),
    whole.ids,
  )
  const short = [0, 1, 2, 3, 4].map((page) => listed(`${path}size=50&page=${page}`))
  const shortPages = await Promise.all(short)
  assert.deepEqual(
    shortPages.flatMap(({ content }) => content),
    whole.content,
  )
}

suite('long lists', () => {
  test('a long page of rules has all rules in order', async () => {
    await sql`
      insert into rules.rules (id, tenant_id, name, expression, state, writer_type, writer_id, created_at, updated_at)
      select gen_random_uuid(), 'default', 'rule ' || n, 'return ' || n, 'ENABLED', 'user', 'u', now() - (n / 7) * interval '1 s', now()
      from generate_series(1, ${rows}) n`
    await checkPages('/rules?')
    await checkPages('/rules?sortOrder=asc&')
  })

  test('a long page of actions, triggers and snippets has all objects in order', async () => {
    await sql`
      insert into rules.actions (id, tenant_id, type, name, fields, value_types, writer_type, writer_id, created_at, updated_at)
      select gen_random_uuid(), 'default', 'webhook', 'action ' || n, '{"webhookUrl":"https://a.example"}', '{}', 'user', 'u', now(), now()
      from generate_series(1, ${rows}) n`
    await checkPages('/action-types/webhook/actions?')
    await sql`
      insert into rules.triggers (id, tenant_id, type, name, fields, created_at, updated_at)
      select gen_random_uuid(), 'default', 'cron', 'trigger ' || n, '{"cronExpression":"0 0 1 1 *"}', now(), now()
      from generate_series(1, ${rows}) n`
    await checkPages('/trigger-types/cron/triggers?')
    await sql`
      insert into rules.snippets (id, tenant_id, name, code, created_at, updated_at)
      select gen_random_uuid(), 'default', 'snippet ' || n, 'x', now(), now() from generate_series(1, ${rows}) n`
    await checkPages('/snippets?')
  })

  test('a long page of traces has all traces in order, even if many traces have the same time', async () => {
    const entityId = newId()
    await sql`
      insert into rules.traces (created_at, id, trace_id, entity_id, is_failure, is_on_demand, duration_ms, tenant_id, entity_type,
        raised_on_id, metadata)
      select date_trunc('milliseconds', now()) + (n / 90) * interval '1 us', gen_random_uuid(), gen_random_uuid(), ${entityId}, false,
        true, 1, 'default', 'RULE', ${entityId}, '{}'
      from generate_series(1, ${rows}) n`
    await checkPages(`/traces?entityId=${entityId}&outcome=SUCCESS&`)
  })

  test('a long page of alerts has all alerts in order, and a long page of their events has all events in order', async () => {
    await sql`
      insert into rules.alerts (id, tenant_id, alert_type, severity, entity_type, entity_id, state, started_at, last_active_at)
      select gen_random_uuid(), 'default', 'T' || n, n % 5, 'TENANT', 'default', 'OPEN', now(), now()
      from generate_series(1, ${rows}) n`
    await checkPages('/alerts?')
    await checkPages('/alerts?sort=severityLevel&')
    const [alert] = await sql<{ id: string }[]>`select id from rules.alerts limit 1`
    await sql`
      insert into rules.alert_events (id, alert_id, event_type, created_at, payload)
      select gen_random_uuid(), ${alert!.id}, 'UPDATED', now(), '{}' from generate_series(1, ${rows}) n`
    await checkPages(`/alerts/${alert!.id}/lifecycle-events?`)
  })
})

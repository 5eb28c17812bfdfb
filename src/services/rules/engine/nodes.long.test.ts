/** Tests two nodes: changes of definitions, the order of events, ticks (the times of schedules) and takeover. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aTenantAdmin } from '../../../../test/harness/builders.ts'
import { freshDatabase } from '../../../../test/harness/database.ts'
import { eventually } from '../../../../test/harness/eventually.ts'
import { rulesRoot } from '../../../../test/harness/rules.ts'
import { openTriggeredRules, returned } from '../../../../test/harness/triggered-rules.ts'
import { Identity } from '../../../identity/contract.ts'
import { addUpChanges } from './store/traces.ts'

const options = { connection: await freshDatabase(), environment: { WAYPOST_MASTER_KEY: 'k'.repeat(40) } }
const one = await openTriggeredRules(options)
const two = await openTriggeredRules(options)
const { sql } = one.waypost.kit.db

test('a rule that is created at one node runs for messages at the other node within a second', async () => {
  const endpoint = await one.aProvisionedEndpoint()
  const sensor = await two.send(endpoint, { sentAt: 0 })
  const script = 'return ctx.trigger.endpointDataSamplesReceived.dataSamples[0].sentAt'
  const rule = await one.aTriggeredRule('endpoint-data-samples-received', { appName: endpoint.app }, script)
  const createdAt = Date.now()
  const sentAt = await eventually(async () => {
    await sensor.publish({ sentAt: Date.now() })
    const { content } = await one.get(`/traces?entityId=${rule.ruleId}`)
    assert.ok(content.length > 0)
    return Number(content.at(-1).metadata.returnedValue)
  })
  await sensor.end()
  assert.ok(
    sentAt - createdAt < 1000,
    `the first message that started the rule was sent after ${sentAt - createdAt} ms`,
  )
})

test('events of an endpoint that moves between nodes run in order', async () => {
  const endpoint = await one.aProvisionedEndpoint()
  const rule = await one.aTriggeredRule(
    'endpoint-data-samples-received',
    { appName: endpoint.app },
    `const { n } = ctx.trigger.endpointDataSamplesReceived.dataSamples[0]
     if (n % 5 === 0) for (let i = 0; i < 400000; i++);
     return n`,
  )
  await eventually(async () => {
    const sensor = await two.send(endpoint, { n: -1 })
    await sensor.end()
    assert.ok((await one.get(`/traces?entityId=${rule.ruleId}`)).content.length > 0)
  })
  const before = (
    await eventually(async () => {
      const [row] = await sql`select count(*)::int as n from rules.events`
      assert.equal(row!.n, 0)
      return await one.get(`/traces?entityId=${rule.ruleId}&size=1000`)
    })
  ).content.length
  for (let n = 0; n < 30; n += 5) {
    const sensor = await (n % 2 === 0 ? one : two).send(endpoint, { n })
    for (let more = n + 1; more < n + 5; more++) await sensor.publish({ n: more })
    await sensor.end()
  }
  const found = returned(await rule.traces(before + 30)).slice(before)
  assert.deepEqual(
    found,
    Array.from({ length: 30 }, (_, n) => n),
  )
})

test('each tick of a schedule runs its rule once, on one of the two nodes', async () => {
  const rule = await one.aTriggeredRule('cron', { cronExpression: '* * * * * *' }, 'return ctx.trigger.cron.firedAt')
  await eventually(async () => assert.ok((await one.get(`/traces?entityId=${rule.ruleId}`)).content.length >= 4), {
    withinMs: 15_000,
  })
  await one.linkTrigger(rule.ruleId, 'cron', [])
  const { content } = await one.get(`/traces?entityId=${rule.ruleId}`)
  const fired = content.map(({ metadata }: { metadata: { returnedValue: string } }) => metadata.returnedValue)
  assert.equal(new Set(fired).size, fired.length)
})

test('the statistics of rules equal the counts of their traces', async () => {
  const ruleId = await one.aRule({ expression: 'return 1' })
  for (const node of [one, two, one])
    for (let n = 0; n < 3; n++) await node.expectStatus(200, `POST ${rulesRoot}/rules/${ruleId}/execute`, {})
  await eventually(async () => {
    await one.waypost.kit.db.tx(async (tx) => void (await addUpChanges(tx)))
    const [sums] = await sql`
      select count(*)::int as count, round(min(duration_ms))::int as min_duration, round(max(duration_ms))::int as max_duration,
        round(avg(duration_ms))::int as avg_duration from rules.traces where entity_id = ${ruleId}`
    const { lastDuration: _, ...statistics } = (await one.get(`/rules/${ruleId}`)).statistics
    assert.equal(statistics.count, 9)
    assert.deepEqual(statistics, { ...sums })
  })
})

test('when a node stops, another node continues its replay at the same position', async () => {
  const three = await openTriggeredRules(options)
  const endpoint = await one.aProvisionedEndpoint()
  const expression = 'for (let i = 0; i < 300000; i++); return ctx.trigger.endpointDataSamplesReceived.dataSamples[0].n'
  const { ruleId } = await one.aTriggeredRule(
    'endpoint-data-samples-received',
    { appName: endpoint.app },
    'return null',
  )
  const sensor = await one.send(endpoint, { n: 0 })
  await Promise.all(Array.from({ length: 249 }, (_, n) => sensor.publish({ n: n + 1 })))
  await sensor.end()
  const body = { from: 'now-1h', to: String(Date.now() + 1000), expression, endpointIds: [endpoint.endpointId] }
  // The node that continues the replay reads the permissions of the caller, so the caller must be a user of the realm.
  const identity = one.waypost.ask(Identity)
  const caller = await one.waypost.kit.db.tx(async (sql) => {
    const { id } = (await identity.createUser(sql, 'default', { username: 'replayer', roles: [] }))!
    const user = { ...aTenantAdmin(), subject: { type: 'user' as const, id } }
    await identity.grantCreator(
      sql,
      { ...one.waypost.kit.system('default'), caller: user },
      `endpoint-${endpoint.endpointId}`,
    )
    return three.waypost.as(user)
  })
  const started = await three.expectStatus(202, `POST ${rulesRoot}/rules/${ruleId}/replays`, body, caller)
  // The node that stops runs the replay to the end of the current page of 200 messages.
  await three.waypost.close()
  const path = `/rules/${ruleId}/replays/${started.body.replayId}`
  const [left] = await sql`select node_id, status, events_count from rules.replays where id = ${started.body.replayId}`
  assert.deepEqual([left!.status, left!.eventsCount], ['RUNNING', 200])
  const { eventsCount, differences } = await eventually(
    async () => {
      const replay = await one.get(path)
      assert.equal(replay.status, 'COMPLETED')
      return replay
    },
    { withinMs: 20_000 },
  )
  assert.equal(eventsCount, 250)
  assert.equal(new Set(differences.map(({ now }: { now: string }) => now)).size, 250)
})

test('when a node stops, the other node runs its waiting events, each once', async () => {
  const endpoints = await Promise.all(Array.from({ length: 3 }, () => one.aProvisionedEndpoint()))
  const rules = await Promise.all(
    endpoints.map(({ app }) =>
      one.aTriggeredRule(
        'endpoint-data-samples-received',
        { appName: app },
        `for (let i = 0; i < 300000; i++); return ctx.trigger.endpointDataSamplesReceived.dataSamples[0].n`,
      ),
    ),
  )
  for (const [index, endpoint] of endpoints.entries()) {
    const sensor = await two.send(endpoint, { n: 0 })
    await eventually(
      async () => {
        await sensor.publish({ n: 0 })
        assert.ok((await one.get(`/traces?entityId=${rules[index]!.ruleId}`)).content.length > 0)
      },
      { everyMs: 200 },
    )
    for (let n = 1; n <= 8; n++) void sensor.publish({ n })
    await eventually(async () => {
      const [row] =
        await sql`select count(*)::int as n from rules.events where content like ${`%${endpoint.endpointId}%`}`
      assert.ok(row!.n > 0)
    })
    await sensor.publish({ n: 9 })
    await sensor.end()
  }
  await two.waypost.close()
  for (const rule of rules)
    await eventually(
      async () => {
        const { content } = await one.get(`/traces?entityId=${rule.ruleId}&size=1000`)
        const values = returned(content.reverse()).filter((n) => n > 0)
        assert.deepEqual(
          values,
          Array.from({ length: 9 }, (_, n) => n + 1),
        )
      },
      { withinMs: 30_000 },
    )
  const [row] = await sql`select count(*)::int as n from rules.events`
  assert.equal(row!.n, 0)
})

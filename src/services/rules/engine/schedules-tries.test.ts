/** Tests schedules, test runs, replays and dead letters over the HTTP API. */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { aCaller } from '../../../../test/harness/builders.ts'
import { eventually } from '../../../../test/harness/eventually.ts'
import { rulesRoot } from '../../../../test/harness/rules.ts'
import { openTriggeredRules, returned } from '../../../../test/harness/triggered-rules.ts'
import { newId } from '../../../kernel/ids.ts'

const at = await openTriggeredRules()
const {
  waypost,
  other,
  expectStatus,
  get,
  aRule,
  anAction,
  aProvisionedEndpoint,
  aTriggeredRule,
  linkTrigger,
  linkAction,
  send,
} = at
const { sql } = waypost.kit.db

suite('a schedule', () => {
  test('a schedule that names no endpoints runs its rule once at each of its times (ticks), without an endpoint', async () => {
    const { ruleId, triggerId } = await aTriggeredRule(
      'cron',
      { cronExpression: '* * * * * *', timezone: 'Europe/Berlin' },
      'return [ctx.trigger.cron.firedAt, ctx.trigger.cron.triggerId, ctx.endpoint === undefined]',
    )
    const found = await eventually(
      async () => {
        const { content } = await get(`/traces?entityId=${ruleId}`)
        assert.ok(content.length >= 3)
        return content.reverse()
      },
      { withinMs: 15_000 },
    )
    await linkTrigger(ruleId, 'cron', [])
    const fired = returned(found).map(([firedAt, id, isAbsent]) => {
      assert.deepEqual([id, isAbsent], [triggerId, true])
      assert.equal(new Date(firedAt).getMilliseconds(), 0)
      return firedAt
    })
    assert.equal(new Set(fired).size, fired.length)
    assert.deepEqual(fired, fired.toSorted())
    assert.deepEqual([found[0].raisedOnEntityType, found[0].raisedOnEntityId], ['ON_DEMAND', triggerId])
  })

  test('a schedule runs for every endpoint that its trigger covers', async () => {
    const { app, version, endpointId } = await aProvisionedEndpoint()
    const second = await at.anEndpoint(version)
    const { ruleId } = await aTriggeredRule(
      'cron',
      { cronExpression: '* * * * * *', appName: app },
      'return ctx.endpoint.appName',
    )
    await eventually(
      async () => {
        const { content } = await get(`/traces?entityId=${ruleId}`)
        const raisedOn = new Set(content.map(({ raisedOnEntityId }: { raisedOnEntityId: string }) => raisedOnEntityId))
        assert.deepEqual(raisedOn, new Set([endpointId, second.endpointId]))
      },
      { withinMs: 15_000 },
    )
    await linkTrigger(ruleId, 'cron', [])
  })
})

suite('a test run', () => {
  const tryRule = async (ruleId: string, body: object) =>
    (await expectStatus(200, `POST ${rulesRoot}/rules/${ruleId}/try`, body)).body

  test('a test run runs the rule on a given event and returns the effects that the actions would have', async () => {
    const { endpointId } = await aProvisionedEndpoint()
    const ruleId = await aRule({ expression: 'return ctx.trigger.endpointDataSamplesReceived.dataSamples[0].t > 30' })
    const actionId = await anAction('metadata-update', {
      metadataExpression: 'return { hot: ctx.endpoint.endpointId }',
    })
    await linkAction(ruleId, 'metadata-update', [actionId])
    const trigger = { endpointDataSamplesReceived: { dataSamples: [{ t: 31 }] } }
    const { returnedValue, traces, effects } = await tryRule(ruleId, { trigger, endpointId })
    assert.deepEqual([returnedValue, traces.length, effects.length], ['true', 2, 1])
    assert.deepEqual([effects[0].actionId, effects[0].type], [actionId, 'metadata-update'])
    assert.match(JSON.stringify(effects[0].wouldDo), new RegExp(endpointId))
    assert.deepEqual(await at.metadataOf(endpointId), {})
    assert.equal((await tryRule(ruleId, { trigger, expression: 'return 5' })).returnedValue, '5')
    assert.deepEqual(await get(`/traces?entityId=${ruleId}`), { totalElements: 0, content: [] })
  })

  test('a test run repeats the event of a trace', async () => {
    const endpoint = await aProvisionedEndpoint()
    const { ruleId, traces } = await aTriggeredRule(
      'endpoint-data-samples-received',
      { appName: endpoint.app },
      'return ctx.trigger.endpointDataSamplesReceived.dataSamples[0].n',
    )
    await (await send(endpoint, { n: 7 })).end()
    const { traceId } = (await traces(1))[0]!
    const expression = 'return [ctx.trigger.endpointDataSamplesReceived.dataSamples[0].n * 2, ctx.endpoint.endpointId]'
    const { returnedValue } = await tryRule(ruleId, { traceId, expression })
    assert.deepEqual(JSON.parse(returnedValue), [14, endpoint.endpointId])
  })

  test('a script in a test run can only send GET requests to the platform, and can read no secrets', async () => {
    const ruleId = await aRule()
    const answer = async (call: string) =>
      JSON.parse((await tryRule(ruleId, { expression: `return ctx.toolbox.httpClient.${call}` })).returnedValue)
    assert.match((await answer("get('https://example.org')")).error, /a test run sends only GET/)
    assert.match((await answer("put('/epr/api/v1/x', { platform: true })")).error, /a test run sends only GET/)
    assert.equal((await answer("get('/epr/api/v1/endpoints/none', { platform: true })")).statusCode, 404)
    const { traces } = await tryRule(ruleId, { expression: "return ctx.toolbox.secrets.get('x')" })
    assert.match(traces[0].reason, /secrets are available only/)
  })

  test('a test run returns no data of endpoints that its caller may not read', async () => {
    const [own, hidden] = [await aProvisionedEndpoint(), await aProvisionedEndpoint()]
    const relation = { type: 'contains', from: own.endpointId, to: hidden.endpointId }
    await expectStatus(204, 'PUT /epr/api/v1/relations/link', [relation])
    const { ruleId, traces } = await aTriggeredRule(
      'endpoint-data-samples-received',
      { endpointIds: [hidden.endpointId] },
      'return true',
    )
    await (await send(hidden, { n: 7 })).end()
    const { traceId } = (await traces(1))[0]!
    const { endpointId } = own
    const reader = waypost.as(
      aCaller({ on: { [`rule-${ruleId}`]: ['rule:execute'], [`endpoint-${endpointId}`]: ['endpoint:read'] } }),
    )
    const path = `POST ${rulesRoot}/rules/${ruleId}/try`
    const expression = 'return ctx.endpoint.getChildren().length'
    assert.equal((await expectStatus(200, path, { endpointId, expression })).body.returnedValue, '1')
    assert.equal((await expectStatus(200, path, { endpointId, expression }, reader)).body.returnedValue, '0')
    await expectStatus(200, path, { traceId, endpointId })
    await expectStatus(400, path, { traceId, endpointId }, reader)
  })

  test('a test run with wrong fields gets 400, and a test run of a rule of another tenant gets 404', async () => {
    const ruleId = await aRule()
    const path = `POST ${rulesRoot}/rules/${ruleId}/try`
    for (const [body, field] of [
      [{ expression: 'return {{' }, 'expression'],
      [{ traceId: newId() }, 'traceId'],
      [{ traceId: 'x' }, 'traceId'],
      [{ endpointId: 'unknown' }, 'endpointId'],
      [{ trigger: 5 }, 'trigger'],
      [{ traceId: newId(), trigger: {} }, 'trigger'],
    ] as const)
      assert.match((await expectStatus(400, path, body)).body.message, new RegExp(`^${field}`), JSON.stringify(body))
    await expectStatus(404, path, {}, other)
  })
})

suite('a replay', () => {
  test('a replay finds the recorded messages for which the changed expression returns a different value', async () => {
    const endpoint = await aProvisionedEndpoint()
    const { ruleId, traces } = await aTriggeredRule(
      'endpoint-data-samples-received',
      { appName: endpoint.app },
      'return ctx.trigger.endpointDataSamplesReceived.dataSamples[0].t > 30',
    )
    const sensor = await send(endpoint, { t: 10 })
    for (const t of [25, 35, 45]) await sensor.publish({ t })
    await sensor.end()
    await traces(4)
    const path = `${rulesRoot}/rules/${ruleId}/replays`
    const expression = 'return ctx.trigger.endpointDataSamplesReceived.dataSamples[0].t > 20'
    const body = { from: 'now-1h', to: Date.now() + 1000, expression }
    const { body: started, headers } = await expectStatus(202, `POST ${path}`, body)
    assert.ok(headers.location?.endsWith(`${path}/${started.replayId}`))
    const replay = await eventually(async () => {
      const view = await get(`/rules/${ruleId}/replays/${started.replayId}`)
      assert.equal(view.status, 'COMPLETED')
      return view
    })
    assert.deepEqual([replay.progress, replay.eventsCount, replay.skippedCount], [1, 4, 0])
    assert.deepEqual(
      replay.differences.map(({ endpointId, before, now }: Record<string, string>) => [endpointId, before, now]),
      [[endpoint.endpointId, 'false', 'true']],
    )
    await expectStatus(404, `GET ${path}/${started.replayId}`, undefined, other)
    await expectStatus(404, `GET ${path}/${newId()}`)
    await traces(4)
    const { totalElements, content } = await get(`/rules/${ruleId}/replays`)
    const { differences, ...summary } = replay
    assert.deepEqual([totalElements, content], [1, [{ ...summary, differencesCount: differences.length }]])
    await expectStatus(404, `GET ${path}`, undefined, other)
    await expectStatus(409, `POST ${path}/${started.replayId}/cancel`)
  })

  test('a replay completes although the rule returns or throws texts that PostgreSQL cannot store', async () => {
    const endpoint = await aProvisionedEndpoint()
    const script = (text: string) => {
      const value = "'a\\u0000b\\ud800" + text + "'"
      return `if (ctx.trigger.endpointDataSamplesReceived.dataSamples[0].t > 30) throw new Error(${value}); return ${value}`
    }
    const selection = { endpointIds: [endpoint.endpointId] }
    const { ruleId, traces } = await aTriggeredRule('endpoint-data-samples-received', selection, script(''))
    const sensor = await send(endpoint, { t: 25 })
    await sensor.publish({ t: 35 })
    await sensor.end()
    await traces(2)
    const differencesWith = async (expression: string) => {
      const path = `${rulesRoot}/rules/${ruleId}/replays`
      const { body } = await expectStatus(202, `POST ${path}`, { from: 'now-1h', to: Date.now() + 1000, expression })
      const replay = await eventually(async () => {
        const view = await get(`/rules/${ruleId}/replays/${body.replayId}`)
        assert.notEqual(view.status, 'RUNNING')
        return view
      })
      assert.deepEqual([replay.status, replay.eventsCount], ['COMPLETED', 2])
      return replay.differences.map(({ now }: { now: string }) => now)
    }
    assert.deepEqual(await differencesWith(script('')), [])
    const [returned, thrown] = await differencesWith(script('c'))
    assert.equal(returned, 'a\ufffdb\ufffdc')
    assert.match(thrown, /^failed: .*a\ufffdb.*c$/)
  })

  test('a replay runs only for messages of endpoints that its caller may read', async () => {
    const [own, hidden] = [await aProvisionedEndpoint(), await aProvisionedEndpoint()]
    for (const endpoint of [own, hidden]) await (await send(endpoint, { n: endpoint.endpointId })).end()
    const ruleId = await aRule()
    const reader = waypost.as(
      aCaller({ on: { [`rule-${ruleId}`]: ['rule:execute'], [`endpoint-${own.endpointId}`]: ['endpoint:read'] } }),
    )
    const path = `${rulesRoot}/rules/${ruleId}/replays`
    const period = { from: 'now-1h', to: String(Date.now() + 1000) }
    await expectStatus(400, `POST ${path}`, { ...period, endpointIds: [hidden.endpointId] }, reader)
    const { body } = await expectStatus(202, `POST ${path}`, period, reader)
    const replay = await eventually(async () => {
      const view = await get(`/rules/${ruleId}/replays/${body.replayId}`, reader)
      assert.equal(view.status, 'COMPLETED')
      return view
    })
    assert.deepEqual(
      replay.differences.map(({ endpointId }: { endpointId: string }) => endpointId),
      [own.endpointId],
    )
  })

  test('a replay that is canceled has the state CANCELED and keeps its progress', async () => {
    const ruleId = await aRule()
    const path = `${rulesRoot}/rules/${ruleId}/replays`
    // The test inserts a replay of a node that does not exist, so that no node changes the replay.
    const id = newId()
    const [fromTime, toTime] = [new Date('2026-01-01T00:00:00Z'), new Date('2026-01-02T00:00:00Z')]
    await sql`insert into rules.replays ${sql({
      ...{
        id,
        tenantId: 'default',
        ruleId,
        nodeId: newId(),
        status: 'RUNNING',
        expression: 'return 1',
        fromTime,
        toTime,
      },
      ...{
        positionMicros: fromTime.getTime() * 1000 + 43_200_000_000,
        eventsCount: 7,
        callerType: 'user',
        callerId: 'u',
      },
      ...{ createdAt: toTime, updatedAt: new Date() },
    })}`
    await expectStatus(404, `POST ${path}/${id}/cancel`, undefined, other)
    await expectStatus(404, `POST ${path}/not-a-uuid/cancel`)
    const { body } = await expectStatus(200, `POST ${path}/${id}/cancel`)
    assert.deepEqual([body.status, body.progress, body.eventsCount, body.differences], ['CANCELED', 0.5, 7, []])
    await expectStatus(409, `POST ${path}/${id}/cancel`)
    assert.equal((await get(`/rules/${ruleId}/replays?size=1`)).content[0].status, 'CANCELED')
  })

  test('a replay with wrong fields is answered with 400', async () => {
    const path = `POST ${rulesRoot}/rules/${await aRule()}/replays`
    for (const [body, field] of [
      [{ to: 'now' }, 'from'],
      [{ from: 'x', to: 'now' }, 'from'],
      [{ from: 'now', to: 'now-1h' }, 'to'],
      [{ from: 'now-1h', to: 'now', endpointIds: ['unknown'] }, 'endpointIds'],
      [{ from: 'now-1h', to: 'now', endpointIds: [] }, 'endpointIds'],
      [{ from: 'now-1h', to: 'now', expression: '{{' }, 'expression'],
    ] as const)
      assert.match((await expectStatus(400, path, body)).body.message, new RegExp(field), JSON.stringify(body))
  })
})

suite('a dead letter', () => {
  async function aDeadLetter() {
    const endpoint = await aProvisionedEndpoint()
    const { ruleId, triggerId, traces } = await aTriggeredRule(
      'endpoint-data-samples-received',
      { appName: endpoint.app },
      'return ctx.trigger.endpointDataSamplesReceived.dataSamples[0].n',
    )
    const id = newId()
    const event = JSON.stringify({
      type: 'endpoint-data-samples-received',
      eventId: 'e-1',
      at: Date.now(),
      endpoint: { endpointId: endpoint.endpointId, applicationName: endpoint.app, versionName: endpoint.version },
      payload: { dataSamples: [{ n: 9 }] },
    })
    await sql`insert into rules.dead_letters ${sql({
      id,
      tenantId: 'default',
      ruleId,
      triggerId,
      endpointId: endpoint.endpointId,
      eventId: 'e-1',
      reason: 'the database is not available',
      event,
      createdAt: new Date(),
    })}`
    return { id, ruleId, triggerId, endpointId: endpoint.endpointId, traces }
  }

  test('a dead letter is listed with its reason, and runs again when it is retried', async () => {
    const { id, ruleId, triggerId, endpointId, traces } = await aDeadLetter()
    const found = async () => (await get('/dead-letters')).content.filter((one: { id: string }) => one.id === id)
    const [{ createdAt, ...letter }] = await found()
    assert.ok(createdAt)
    assert.deepEqual(letter, {
      id,
      ruleId,
      triggerId,
      endpointId,
      eventId: 'e-1',
      reason: 'the database is not available',
    })
    assert.deepEqual((await other(`GET ${rulesRoot}/dead-letters`)).body, { totalElements: 0, content: [] })
    await expectStatus(404, `POST ${rulesRoot}/dead-letters/${id}/retry`, undefined, other)
    await expectStatus(204, `POST ${rulesRoot}/dead-letters/${id}/retry`)
    assert.deepEqual(returned(await traces(1)), [9])
    assert.deepEqual(await found(), [])
    await expectStatus(404, `POST ${rulesRoot}/dead-letters/${id}/retry`)
  })

  test('an event becomes a dead letter if the platform fails to process it repeatedly; a retry runs it after the fault is repaired', async () => {
    const endpoint = await aProvisionedEndpoint()
    const { ruleId, traces } = await aTriggeredRule(
      'endpoint-data-samples-received',
      { appName: endpoint.app },
      'return true',
    )
    const actionId = await anAction('alert-activation')
    const path = `/rules/${ruleId}/action-types/alert-activation/actions`
    await expectStatus(204, `PUT ${rulesRoot}${path}`, { positiveActionIds: [actionId] })
    await sql`alter table rules.alerts add constraint broken check (false) not valid`
    const found = async () =>
      (await get('/dead-letters')).content.filter((one: { ruleId: string }) => one.ruleId === ruleId)
    try {
      const sensor = await send(endpoint, { n: 1 })
      await sensor.end()
      await eventually(async () => assert.equal((await found()).length, 1), { withinMs: 30_000 })
    } finally {
      await sql`alter table rules.alerts drop constraint broken`
    }
    const [{ id, reason }] = await found()
    assert.match(reason, /alerts/)
    await traces(0)
    await expectStatus(204, `POST ${rulesRoot}/dead-letters/${id}/retry`)
    await traces(1)
    assert.deepEqual(await found(), [])
  })

  test('a dead letter can be deleted', async () => {
    const { id, traces } = await aDeadLetter()
    await expectStatus(404, `DELETE ${rulesRoot}/dead-letters/${id}`, undefined, other)
    await expectStatus(204, `DELETE ${rulesRoot}/dead-letters/${id}`)
    await expectStatus(404, `DELETE ${rulesRoot}/dead-letters/${id}`)
    await expectStatus(404, `DELETE ${rulesRoot}/dead-letters/x`)
    await traces(0)
  })
})

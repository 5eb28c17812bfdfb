/** Tests rules that triggers start: which events match, what scripts get, the order of runs, and the end of chains. */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { aTenantAdmin } from '../../../../test/harness/builders.ts'
import { eventually } from '../../../../test/harness/eventually.ts'
import { rulesRoot } from '../../../../test/harness/rules.ts'
import { openTriggeredRules, returned } from '../../../../test/harness/triggered-rules.ts'
import { aReceiver } from '../../../../test/harness/webhook-receiver.ts'
import { Identity } from '../../../identity/contract.ts'
import { Register } from '../../register/contract.ts'

const at = await openTriggeredRules({ environment: { WAYPOST_ALLOW_PRIVATE_ADDRESSES: 'on' } })
const { waypost, expectStatus, anAction, aProvisionedEndpoint, aTriggeredRule, linkTrigger, linkAction, send } = at

suite('samples', () => {
  test('samples start a rule once for each message, with the whole message', async () => {
    const endpoint = await aProvisionedEndpoint()
    const { ruleId, triggerId, traces } = await aTriggeredRule(
      'endpoint-data-samples-received',
      { appName: endpoint.app, metadata: { floor: 2 } },
      'return [ctx.trigger.endpointDataSamplesReceived.dataSamples, ctx.trigger.name, ctx.trigger.type, ctx.trigger.metadata, ctx.trigger.appVersionName, ctx.endpoint.endpointId]',
    )
    const sensor = await send(endpoint, [{ t: 1 }, { t: 2 }])
    await sensor.publish({ t: 3 })
    await sensor.end()
    const found = await traces(2)
    const triggerName = returned(found)[0][1]
    assert.deepEqual(returned(found), [
      [
        [{ t: 1 }, { t: 2 }],
        triggerName,
        'ENDPOINT_DATA_SAMPLES_RECEIVED',
        { floor: 2 },
        endpoint.version,
        endpoint.endpointId,
      ],
      [[{ t: 3 }], triggerName, 'ENDPOINT_DATA_SAMPLES_RECEIVED', { floor: 2 }, endpoint.version, endpoint.endpointId],
    ])
    const { metadata, raisedOnEntityType, raisedOnEntityId } = found[0]!
    assert.deepEqual(
      [raisedOnEntityType, raisedOnEntityId, metadata.triggerId, metadata.triggerType, metadata.ruleVersion],
      ['ENDPOINT', endpoint.endpointId, triggerId, 'ENDPOINT_DATA_SAMPLES_RECEIVED', 1],
    )
    assert.ok(metadata.eventId)
    assert.ok(ruleId)
  })

  test('the runs of a rule for one endpoint have the order of the samples', async () => {
    const endpoint = await aProvisionedEndpoint()
    const { traces } = await aTriggeredRule(
      'endpoint-data-samples-received',
      { endpointIds: [endpoint.endpointId] },
      'return ctx.trigger.endpointDataSamplesReceived.dataSamples[0].n',
    )
    const sensor = await send(endpoint, { n: 0 })
    await Promise.all(Array.from({ length: 60 }, (_, n) => sensor.publish({ n: n + 1 })))
    await sensor.end()
    assert.deepEqual(
      returned(await traces(61)),
      Array.from({ length: 61 }, (_, n) => n),
    )
  })

  test('samples do not start disabled rules, rules of other applications, or rules whose trigger was detached', async () => {
    const [one, two] = [await aProvisionedEndpoint(), await aProvisionedEndpoint()]
    const rule = await aTriggeredRule('endpoint-data-samples-received', { appVersionName: one.version }, 'return 1')
    const other = await aTriggeredRule('endpoint-data-samples-received', { appName: two.app }, 'return 2')
    const sensor = await send(one, { t: 1 })
    await rule.traces(1)
    await expectStatus(204, `PUT ${rulesRoot}/rules/${rule.ruleId}`, {
      name: 'off',
      expression: 'return 1',
      state: 'DISABLED',
    })
    await sensor.publish({ t: 2 })
    await expectStatus(204, `PUT ${rulesRoot}/rules/${rule.ruleId}`, {
      name: 'on',
      expression: 'return 3',
      state: 'ENABLED',
    })
    await sensor.publish({ t: 3 })
    const found = await rule.traces(2)
    assert.deepEqual(returned(found), [1, 3])
    assert.deepEqual(
      found.map(({ metadata }) => metadata.ruleVersion),
      [1, 3],
    )
    await linkTrigger(rule.ruleId, 'endpoint-data-samples-received', [])
    await sensor.publish({ t: 4 })
    await sensor.end()
    await rule.traces(2)
    await other.traces(0)
  })

  test('if the samples of a data-sample action start the same rule again, the chain ends at the depth limit', async () => {
    const endpoint = await aProvisionedEndpoint()
    const rule = await aTriggeredRule('endpoint-data-samples-received', { appName: endpoint.app }, 'return true')
    const action = await anAction('data-sample', { dataSampleExpression: 'return { again: 1 }' })
    await linkAction(rule.ruleId, 'data-sample', [action])
    const sensor = await send(endpoint, { t: 1 })
    await sensor.end()
    const found = await rule.traces(11)
    assert.equal(new Set(found.map(({ traceId }) => traceId)).size, 1)
    assert.equal(found.at(-1)?.stage, 'DEPTH_LIMIT')
  })
})

suite('points', () => {
  test('points start a rule once for each message, with the series that its trigger names', async () => {
    const endpoint = await aProvisionedEndpoint()
    const { traces } = await aTriggeredRule(
      'endpoint-time-series-updated',
      { appName: endpoint.app, timeSeriesNames: ['auto~t'] },
      `const points = ctx.trigger.endpointTimeSeriesUpdated
       return [Object.keys(points), points['auto~t'].map((p) => p.values.value), ctx.endpoint.getTimeSeries('auto~t').last().values.value,
         ctx.endpoint.getTimeSeries('auto~t').last(2).length, ctx.endpoint.getTimeSeries('auto~t').range('now-1h', 'now').map((p) => p.values.value),
         ctx.endpoint.getTimeSeries('auto~none').last()]`,
    )
    const now = Date.now()
    const sensor = await send(endpoint, [
      { timestamp: now - 1000, t: 2, u: 3 },
      { timestamp: now - 2000, t: 1 },
    ])
    await sensor.publish({ u: 5 })
    await sensor.end()
    assert.deepEqual(returned(await traces(1)), [[['auto~t'], [1, 2], 2, 2, [1, 2], null]])
  })

  test('points of series and values with names of built-in members, such as constructor, are stored and start a rule', async () => {
    const endpoint = await aProvisionedEndpoint()
    const { traces } = await aTriggeredRule(
      'endpoint-time-series-updated',
      { appName: endpoint.app, timeSeriesNames: ['constructor', '__proto__'] },
      `return [JSON.stringify(ctx.trigger.endpointTimeSeriesUpdated), ctx.endpoint.getTimeSeries('toString').last(),
         ctx.endpoint.getTimeSeries('__proto__').last().values.value]`,
    )
    const point = '{"timestamp":1000,"values":{"__proto__":1,"value":2}}'
    await expectStatus(
      204,
      `PUT /epts/api/v1/app-versions/${endpoint.version}/time-series/data`,
      JSON.parse(`{"${endpoint.endpointId}":{"constructor":[${point}],"__proto__":[${point}]}}`),
    )
    const [[text, none, value]] = returned(await traces(1)) as [[string, unknown, unknown]]
    const published = point.replace('1000', '"1970-01-01T00:00:01.000Z"')
    assert.deepEqual(
      Object.entries(JSON.parse(text)).sort(),
      Object.entries(JSON.parse(`{"__proto__":[${published}],"constructor":[${published}]}`)),
    )
    assert.deepEqual([none, value], [null, 2])
  })
})

suite('metadata', () => {
  test('a change of metadata starts rules whose trigger names a changed key, and scripts get the values as texts', async () => {
    const endpoint = await aProvisionedEndpoint()
    const script = 'return ctx.trigger.endpointMetadataUpdated'
    const all = await aTriggeredRule('endpoint-metadata-updated', { appName: endpoint.app }, script)
    const some = await aTriggeredRule(
      'endpoint-metadata-updated',
      { endpointIds: [endpoint.endpointId], metadataKeys: ['level'] },
      script,
    )
    const register = waypost.ask(Register)
    await register.updateMetadata(endpoint.endpointId, { merge: { city: 'Kyiv', on: true, list: [1] } })
    await register.updateMetadata(endpoint.endpointId, { merge: { level: 20, city: 'Lviv' } })
    await register.updateMetadata(endpoint.endpointId, { remove: ['level'] })
    const changes = [
      { added: { city: 'Kyiv', on: 'true', list: '[1]' }, updated: {}, removed: {} },
      { added: { level: '20' }, updated: { city: { newValue: 'Lviv', oldValue: 'Kyiv' } }, removed: {} },
      { added: {}, updated: {}, removed: { level: '20' } },
    ]
    assert.deepEqual(returned(await all.traces(3)), changes)
    assert.deepEqual(returned(await some.traces(2)), changes.slice(1))
  })

  test('a rule changes metadata through the API with the permissions of its writer, and the change continues the chain', async () => {
    const endpoint = await aProvisionedEndpoint()
    const identity = waypost.ask(Identity)
    const caller = await waypost.kit.db.tx(async (sql) => {
      const { id } = (await identity.createUser(sql, 'default', { username: 'writer', roles: [] }))!
      const user = { ...aTenantAdmin(), subject: { type: 'user' as const, id } }
      const ctx = { ...waypost.kit.system('default'), caller: user }
      await identity.grantCreator(sql, ctx, `endpoint-${endpoint.endpointId}`)
      return user
    })
    const writer = waypost.as(caller)
    const script = `const path = '/epr/api/v1/endpoints/' + ctx.endpoint.endpointId + '/metadata/n'
      return ctx.toolbox.httpClient.put(path, { platform: true, body: Math.random() })`
    const { ruleId, traces } = await aTriggeredRule('endpoint-metadata-updated', { appName: endpoint.app }, script)
    const update = (n: number) => waypost.ask(Register).updateMetadata(endpoint.endpointId, { merge: { n } })
    await update(0)
    // The writer of this rule is not a user of the realm, so the rule has no permissions.
    assert.match(returned(await traces(1))[0].error, /no permissions any more/)
    const rule = { name: 'again', expression: script }
    await expectStatus(204, `PUT ${rulesRoot}/rules/${ruleId}`, rule, writer)
    await update(1)
    const chain = (await traces(12)).slice(1)
    assert.equal(new Set(chain.map(({ traceId }) => traceId)).size, 1)
    assert.deepEqual(
      chain.map(({ stage, metadata }) => stage ?? JSON.parse(metadata.returnedValue).statusCode),
      [...Array.from({ length: 10 }, () => 204), 'DEPTH_LIMIT'],
    )
    await waypost.kit.db.tx((sql) => identity.deleteUser(sql, 'default', caller.subject.id))
    await update(2)
    assert.match(returned(await traces(13)).at(-1).error, /no permissions any more/)
  })
})

suite('commands and alerts', () => {
  test('rules start when a command is dispatched and when its result arrives', async () => {
    const endpoint = await aProvisionedEndpoint()
    const dispatched = await aTriggeredRule(
      'endpoint-command-dispatched',
      { appVersionName: endpoint.version, commandType: 'blink' },
      'return ctx.trigger.endpointCommandDispatched',
    )
    const result = await aTriggeredRule(
      'endpoint-command-result-received',
      { appName: endpoint.app },
      'return ctx.trigger.endpointCommandResultReceived',
    )
    const sensor = await at.device()
    const topic = `kp1/${endpoint.version}/cex/${endpoint.token}`
    await sensor.publish(`${topic}/result/none`, [])
    await expectStatus(202, `POST /cex/api/v1/endpoints/${endpoint.endpointId}/commands/blink?awaitTimeout=0`, { n: 1 })
    const [command] = (await sensor.receives(`${topic}/command/blink/status`)).json
    await sensor.publish(`${topic}/result/blink`, [{ id: command.id, statusCode: 200, payload: 'ok' }])
    await sensor.end()
    const expected = { commandId: 1, commandType: 'blink', requestPayload: { n: 1 } }
    assert.deepEqual(returned(await dispatched.traces(1)), [expected])
    assert.deepEqual(returned(await result.traces(1)), [{ ...expected, statusCode: 200, responsePayload: 'ok' }])
  })

  test('rules start when an alert opens', async () => {
    const endpoint = await aProvisionedEndpoint()
    const alerts = await aTriggeredRule(
      'alert-lifecycle-event',
      { appName: endpoint.app, eventTypes: ['ACTIVATED'], alertTypes: ['HEAT'] },
      'const { eventType, alert } = ctx.trigger.alertLifecycleEvent; return [eventType, alert.alertType, alert.entityId]',
    )
    const rule = await aTriggeredRule('endpoint-data-samples-received', { appName: endpoint.app }, 'return true')
    await linkAction(rule.ruleId, 'alert-activation', [await anAction('alert-activation', { alertType: 'HEAT' })])
    const sensor = await send(endpoint, { t: 50 })
    await sensor.publish({ t: 51 })
    await sensor.end()
    const [first] = await rule.traces(2)
    const [opened] = await alerts.traces(1)
    assert.deepEqual(returned([opened!]), [['ACTIVATED', 'HEAT', endpoint.endpointId]])
    assert.equal(opened!.traceId, first!.traceId)
  })

  test('rules start when an alert of the tenant opens; these runs have no endpoint', async () => {
    const endpoint = await aProvisionedEndpoint()
    const { traces, triggerId } = await aTriggeredRule(
      'alert-lifecycle-event',
      { appName: endpoint.app, alertTypes: ['BACKUP'] },
      'const { alert } = ctx.trigger.alertLifecycleEvent; return [alert.entityType, alert.entityId, typeof ctx.endpoint]',
    )
    const rule = await aTriggeredRule('endpoint-data-samples-received', { appName: endpoint.app }, 'return true')
    const ofTenant = { alertType: 'BACKUP', entityType: 'TENANT' }
    await linkAction(rule.ruleId, 'alert-activation', [await anAction('alert-activation', ofTenant)])
    await (await send(endpoint, { t: 1 })).end()
    const [opened] = await traces(1)
    assert.deepEqual(returned([opened!]), [['TENANT', 'default', 'undefined']])
    assert.deepEqual([opened!.raisedOnEntityType, opened!.raisedOnEntityId], ['ON_DEMAND', triggerId])
  })

  test('a webhook has a row before it is sent if another run of its scripts may compute another body', async () => {
    const endpoint = await aProvisionedEndpoint()
    const rows: number[] = []
    const receiver = await aReceiver(async (response) => {
      const { sql } = waypost.kit.db
      rows.push((await sql`select 1 from rules.deliveries`).length)
      response.writeHead(204).end()
    })
    const scripts: [expression: string, payload: string, rows: number][] = [
      ['return true', 'return ctx.endpoint.endpointId', 0],
      ['return true', 'return Date.now()', 1],
    ]
    for (const [expression, webhookPayloadExpression, expected] of scripts) {
      const rule = await aTriggeredRule('endpoint-data-samples-received', { appName: endpoint.app }, expression)
      const action = await anAction('webhook', { webhookUrl: receiver.url, webhookPayloadExpression })
      await linkAction(rule.ruleId, 'webhook', [action])
      await (await send(endpoint, { t: 1 })).end()
      await rule.traces(1)
      await eventually(() => assert.deepEqual(rows, [expected], webhookPayloadExpression))
      await linkTrigger(rule.ruleId, 'endpoint-data-samples-received', [])
      rows.length = 0
    }
    const executed = await at.aRule()
    await linkAction(executed, 'webhook', [
      await anAction('webhook', { webhookUrl: receiver.url, webhookPayloadExpression: 'return ctx.data.n' }),
    ])
    const rule = await aTriggeredRule(
      'endpoint-data-samples-received',
      { appName: endpoint.app },
      'ctx.data.n = Math.random(); return true',
    )
    await linkAction(rule.ruleId, 'rule-execution', [await anAction('rule-execution', { ruleId: executed })])
    await (await send(endpoint, { t: 1 })).end()
    await eventually(() => assert.deepEqual(rows, [1], 'a rule that another rule executes'))
  })

  test('the trace of an action names the trigger of its run', async () => {
    const endpoint = await aProvisionedEndpoint()
    const script = 'return ctx.trigger.metadata'
    const rule = await aTriggeredRule('endpoint-data-samples-received', { appName: endpoint.app }, script)
    const actionId = await anAction('metadata-update', { metadataExpression: '{"seen":true}' })
    await linkAction(rule.ruleId, 'metadata-update', [actionId])
    await (await send(endpoint, { t: 1 })).end()
    // A trigger without metadata has an empty object as metadata.
    assert.deepEqual(returned(await rule.traces(1)), [{}])
    const { metadata } = (await at.get(`/traces?entityId=${actionId}`)).content[0]
    assert.deepEqual([metadata.triggerId, metadata.triggerType], [rule.triggerId, 'ENDPOINT_DATA_SAMPLES_RECEIVED'])
  })
})

test('the counters of events add up to the number of received events', async () => {
  const text = await waypost.kit.metrics.text()
  const metric = (name: string) => Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1] ?? 0)
  const ended = ['done', 'failed', 'dead'].map((outcome) =>
    metric(`waypost_rule_events_total\\{outcome="${outcome}"\\}`),
  )
  assert.ok(metric('waypost_rule_events_received_total') > 60)
  assert.equal(
    metric('waypost_rule_events_received_total'),
    ended.reduce((sum, one) => sum + one, 0),
  )
  const [row] = await waypost.kit.db.sql`select count(*)::int as n from rules.events`
  assert.equal(row!.n, 0)
})

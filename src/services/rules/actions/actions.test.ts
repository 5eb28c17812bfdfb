/** Tests the actions on endpoints and alerts. The tests pass the results of expressions, so no script runs. */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { openActions } from '../../../../test/harness/actions.ts'
import { eventually } from '../../../../test/harness/eventually.ts'
import { newId } from '../../../kernel/ids.ts'
import { MetadataUpdated } from '../../register/events.ts'
import { PointsStored, SamplesReceived } from '../../time-series/events.ts'
import type { ActionType } from '../model.ts'

const fixture = await openActions()
const { waypost, admin, other, run, device, metadataOf, anEndpointRef } = fixture
const { bus } = waypost.kit

const causes: string[] = []
bus.subscribe(SamplesReceived, ({ messages }) => causes.push(...messages.map(({ cause }) => `sample ${cause}`)))
bus.subscribe(PointsStored, ({ points }) => causes.push(...points.map(({ cause }) => `point ${cause}`)))
bus.subscribe(MetadataUpdated, ({ cause }) => causes.push(`metadata ${cause}`))

const lastOf = async (endpointId: string, applicationName: string) =>
  (await admin(`GET /epts/api/v1/applications/${applicationName}/time-series/last?endpointId=${endpointId}`)).body

/** Values that a script can make, but that PostgreSQL cannot store or a request cannot send. */
const unstorable = {
  NUL: 'a\0b',
  'a lone surrogate': 'a\ud800b',
  'a name with a lone surrogate': { 'a\ud800': 1 },
  'deep nesting': Array.from({ length: 100 }).reduce<object>((inner) => [inner], {}),
}

suite('metadata-update', () => {
  test('a metadata-update replaces the given keys, deletes keys whose value is null, and continues the chain of its rule', async () => {
    const endpoint = await anEndpointRef({ a: 1, b: { c: 2 }, gone: true })
    const outcome = await run('metadata-update', {
      endpoint,
      traceId: 'chain-1',
      depth: 4,
      results: { metadataExpression: { b: { d: 3 }, gone: null, n: 'x' } },
    })
    assert.deepEqual(outcome, { outcome: 'SUCCESS' })
    assert.deepEqual(await metadataOf(endpoint.endpointId), { a: 1, b: { d: 3 }, n: 'x' })
    await eventually(() => assert.ok(causes.includes('metadata chain-1/5')))
  })

  test('a metadata-update of several endpoints changes all existing endpoints, and its failure names the other endpoints', async () => {
    const [one, two] = [await anEndpointRef(), await anEndpointRef()]
    const foreign = await anEndpointRef({}, other)
    const unknown = newId()
    const outcome = await run('metadata-update', {
      results: {
        metadataExpression: { seen: true },
        endpointIdsExpression: [
          one.endpointId,
          { endpointId: two.endpointId },
          foreign.endpointId,
          unknown,
          one.endpointId,
        ],
      },
    })
    assert.ok(outcome.outcome === 'FAILURE' && outcome.stage === 'ACTION_EXECUTION')
    assert.deepEqual(outcome.metadata, {
      failed: [foreign.endpointId, unknown].map((endpointId) => ({ endpointId, reason: 'there is no such endpoint' })),
    })
    for (const { endpointId } of [one, two]) assert.deepEqual(await metadataOf(endpointId), { seen: true })
    assert.deepEqual(await metadataOf(foreign.endpointId, other), {})
  })

  test('a literal endpoint id that consists of digits is used as text, not as a number', async () => {
    const { versionName } = await anEndpointRef()
    const endpointId = String(Date.now())
    await admin('POST /epr/api/v1/endpoints', { appVersion: { name: versionName }, endpointId })
    const fields = { metadataExpression: '{"seen":true}', endpointIdsExpression: endpointId }
    assert.deepEqual(await run('metadata-update', { fields }), { outcome: 'SUCCESS' })
    assert.deepEqual(await metadataOf(endpointId), { seen: true })
  })

  test('a metadata-update with metadata that cannot be stored fails and names the endpoint', async () => {
    const endpoint = await anEndpointRef()
    const outcome = await run('metadata-update', { endpoint, results: { metadataExpression: { 'bad key!': 1 } } })
    assert.ok(outcome.outcome === 'FAILURE')
    assert.match(outcome.reason, /bad key!/)
    assert.equal((outcome.metadata!.failed as { endpointId: string }[])[0]!.endpointId, endpoint.endpointId)
  })

  for (const [name, value] of Object.entries(unstorable))
    test(`a metadata-update with ${name} fails with a reason and changes nothing`, async () => {
      const endpoint = await anEndpointRef({ a: 1 })
      const outcome = await run('metadata-update', { endpoint, results: { metadataExpression: { a: value } } })
      assert.ok(outcome.outcome === 'FAILURE' && outcome.stage === 'ACTION_EXECUTION')
      assert.match(outcome.reason, /^metadataExpression/)
      assert.deepEqual(await metadataOf(endpoint.endpointId), { a: 1 })
    })
})

suite('data-sample', () => {
  test('a data-sample action stores samples as if the device had sent them, and continues the chain of its rule', async () => {
    const endpoint = await anEndpointRef()
    const { endpointId, applicationName } = endpoint
    const outcome = await run('data-sample', {
      endpoint,
      traceId: 'chain-2',
      results: { dataSampleExpression: { tempF: 77, room: 'north' } },
    })
    assert.deepEqual(outcome, { outcome: 'SUCCESS' })
    const text = JSON.stringify(await lastOf(endpointId, applicationName))
    assert.ok(text.includes('auto~tempF') && text.includes('77'), text)
    await eventually(() => assert.ok(causes.includes('sample chain-2/2') && causes.includes('point chain-2/2')))
  })

  test('a data-sample action takes samples from a script or a literal, and does not store them again if its event is processed again', async () => {
    const endpoint = await anEndpointRef()
    const received: unknown[][] = []
    bus.subscribe(SamplesReceived, ({ messages }) => {
      for (const { endpointId, samples } of messages) if (endpointId === endpoint.endpointId) received.push(samples)
    })
    const runInput = { endpoint, fields: { dataSampleExpression: '[{"a":1},{"a":2}]' }, id: newId() }
    for (let n = 0; n < 2; n++) assert.equal((await run('data-sample', runInput)).outcome, 'SUCCESS')
    await run('data-sample', { endpoint, results: { dataSampleExpression: 5 } })
    await eventually(() => assert.deepEqual(received, [[{ a: 1 }, { a: 2 }], [5]]))
  })
})

suite('time-series', () => {
  test('a time-series action stores a point at the given time, by default now', async () => {
    const endpoint = await anEndpointRef()
    const { endpointId, applicationName } = endpoint
    const runInput = { endpoint, fields: { timeSeriesName: 'comfort' }, traceId: 'chain-3' }
    for (const [valuesExpression, timestampExpression] of [
      [{ level: 3 }, '2026-03-01T12:00:00Z'],
      [4, new Date('2026-03-01T12:00:01Z')],
      ['good', Date.parse('2026-03-01T12:00:02Z')],
      [{ level: 9 }, undefined],
    ])
      assert.deepEqual(await run('time-series', { ...runInput, results: { valuesExpression, timestampExpression } }), {
        outcome: 'SUCCESS',
      })
    const { body } = await admin(
      `GET /epts/api/v1/applications/${applicationName}/time-series/data?timeSeriesName=comfort&endpointId=${endpointId}` +
        '&fromDate=2026-03-01T00:00:00Z&toDate=2026-03-02T00:00:00Z',
    )
    const points = body[0][endpointId].comfort as { timestamp: string; values: unknown }[]
    assert.deepEqual(
      points.map(({ timestamp, values }) => [Date.parse(timestamp) % 60_000, values]),
      [
        [0, { level: 3 }],
        [1000, { value: 4 }],
        [2000, { value: 'good' }],
      ],
    )
    await eventually(() => assert.ok(causes.includes('point chain-3/2')))
  })

  test('a time without a zone is in UTC, and milliseconds may be a text', async () => {
    const endpoint = await anEndpointRef()
    const fields = { timeSeriesName: 'comfort', valuesExpression: '"5"' }
    const timeOf = async (timestampExpression: string) => {
      const outcome = await run('time-series', { endpoint, isTry: true, fields: { ...fields, timestampExpression } })
      return outcome.outcome === 'SUCCESS' ? outcome.wouldDo : outcome.reason
    }
    const expected = {
      ...{ endpointIds: [endpoint.endpointId], timeSeriesName: 'comfort' },
      ...{ timestamp: Date.UTC(2026, 2, 1, 12), values: { value: '5' } },
    }
    const zone = process.env.TZ
    process.env.TZ = 'America/New_York'
    try {
      for (const time of ['2026-03-01T12:00:00', '2026-03-01T12:00:00Z', String(expected.timestamp)])
        assert.deepEqual(await timeOf(time), expected, time)
    } finally {
      if (zone === undefined) delete process.env.TZ
      else process.env.TZ = zone
    }
  })
})

suite('command-invocation', () => {
  const connected = async () => {
    const endpoint = await anEndpointRef()
    const sensor = await device()
    const topic = `kp1/${endpoint.versionName}/cex/${endpoint.token}`
    await sensor.publish(`${topic}/result/none/1`, [])
    await sensor.receives(`${topic}/result/none/1/status`)
    return { endpoint, sensor, topic }
  }

  test('a command-invocation succeeds when its command is stored, and sends no second command if its event is processed again', async () => {
    const { endpoint, sensor, topic } = await connected()
    const runInput = { endpoint, fields: { commandType: 'fan', commandPayloadExpression: '{"speed":2}' }, id: newId() }
    const outcome = await run('command-invocation', runInput)
    assert.deepEqual(outcome, {
      outcome: 'SUCCESS',
      metadata: { results: [{ endpointId: endpoint.endpointId, commandId: 1 }] },
    })
    assert.deepEqual((await sensor.receives(`${topic}/command/fan/status`)).json, [{ id: 1, payload: { speed: 2 } }])
    assert.deepEqual(await run('command-invocation', runInput), { outcome: 'SUCCESS' })
    await sensor.receivesNothing(100)
    await run('command-invocation', { endpoint, fields: { commandType: 'fan', commandPayloadExpression: '"5"' } })
    assert.deepEqual((await sensor.receives(`${topic}/command/fan/status`)).json, [{ id: 2, payload: '5' }])
  })

  test('a command-invocation with awaitTimeout succeeds only if a 2xx result arrives in time', async () => {
    const { endpoint, sensor, topic } = await connected()
    const outcomeFor = async (statusCode: number) => {
      const running = run('command-invocation', { endpoint, fields: { commandType: 'fan', awaitTimeout: 5 } })
      const [{ id }] = (await sensor.receives(`${topic}/command/fan/status`)).json
      await sensor.publish(`${topic}/result/fan`, [{ id, statusCode }])
      return await running
    }
    assert.equal((await outcomeFor(204)).outcome, 'SUCCESS')
    const refused = await outcomeFor(503)
    assert.match(refused.outcome === 'FAILURE' ? refused.reason : '', /answered command 2 with 503/)
    const silent = await run('command-invocation', { endpoint, fields: { commandType: 'fan', awaitTimeout: 1 } })
    assert.match(silent.outcome === 'FAILURE' ? silent.reason : '', /command 3 had no result within 1 s/)
  })
})

suite('alert actions', () => {
  const alertsOf = async (entityId: string) =>
    (await admin(`GET /re/api/v1/alerts?entityIds=${entityId}&sortOrder=asc`)).body.content

  test('alert actions open and resolve the alert of the endpoint', async () => {
    const endpoint = await anEndpointRef({ room: 'n' })
    const outcome = await run('alert-activation', {
      endpoint,
      fields: { alertType: 'HOT', severityLevel: 'HIGH' },
      results: { messageExpression: { t: 31 }, metadataExpression: { t: 31 } },
    })
    const [alert] = await alertsOf(endpoint.endpointId)
    assert.deepEqual(outcome, { outcome: 'SUCCESS', metadata: { alertId: alert.id, change: 'ACTIVATED' } })
    assert.deepEqual(
      [alert.severityLevel, alert.message, alert.metadata, alert.entityMetadata],
      ['HIGH', '{"t":31}', { t: 31 }, { room: 'n' }],
    )
    const resolved = await run('alert-resolution', {
      endpoint,
      results: { alertTypeExpression: 'HOT' },
      fields: { message: 'cold' },
    })
    assert.equal(resolved.outcome, 'SUCCESS')
    assert.deepEqual(await run('alert-resolution', { endpoint, fields: { alertType: 'HOT' } }), { outcome: 'SUCCESS' })
    const [after] = await alertsOf(endpoint.endpointId)
    assert.deepEqual([after.state, after.resolveReason], ['RESOLVED', 'cold'])
  })

  for (const [name, value] of Object.entries(unstorable))
    test(`an alert-activation with ${name} in its metadata fails with a reason`, async () => {
      const endpoint = await anEndpointRef()
      const fields = { alertType: 'HOT' }
      const outcome = await run('alert-activation', { endpoint, fields, results: { metadataExpression: { a: value } } })
      assert.ok(outcome.outcome === 'FAILURE' && outcome.stage === 'ACTION_EXECUTION')
      assert.match(outcome.reason, /^metadataExpression/)
      assert.deepEqual(await alertsOf(endpoint.endpointId), [])
    })

  test('in messages of alert actions, NUL and lone surrogates are replaced', async () => {
    const endpoint = await anEndpointRef()
    const [fields, results] = [{ alertType: 'HOT' }, { messageExpression: 'a\0b\ud800' }]
    for (const type of ['alert-activation', 'alert-resolution'] as const)
      assert.equal((await run(type, { endpoint, fields, results })).outcome, 'SUCCESS')
    const [alert] = await alertsOf(endpoint.endpointId)
    assert.deepEqual([alert.message, alert.resolveReason], ['a b\ufffd', 'a b\ufffd'])
  })

  test('alert actions of the tenant need no endpoint; the severity defaults to MEDIUM', async () => {
    const fields = { alertType: 'BACKUP', entityType: 'TENANT' }
    assert.equal((await run('alert-activation', { fields })).outcome, 'SUCCESS')
    const [alert] = await alertsOf('default')
    assert.deepEqual([alert.entityType, alert.severityLevel, 'message' in alert], ['TENANT', 'MEDIUM', false])
  })
})

test('a rule-execution passes the id of the rule and its own run to the engine', async () => {
  const outcome = await run('rule-execution', { fields: { ruleId: 'r-1' }, depth: 3 })
  assert.deepEqual(outcome, { outcome: 'SUCCESS', metadata: { ruleId: 'r-1', depth: 3 } })
})

type Case = [ActionType, Record<string, unknown>, Record<string, unknown>]
const untouched = await anEndpointRef({ untouched: true })

suite('a wrong result fails the action, and nothing changes', () => {
  const ids = 'endpointIdsExpression'
  const wrongIds: unknown[] = [
    5,
    null,
    [5],
    [''],
    [{}],
    [{ endpointId: 5 }],
    ['x'.repeat(256)],
    Array.from({ length: 1001 }, (_, n) => `e${n}`),
  ]
  const onEndpoints: Case[] = [
    ['metadata-update', { metadataExpression: { a: 1 } }, {}],
    ['data-sample', { dataSampleExpression: { a: 1 } }, {}],
    ['time-series', { valuesExpression: 1 }, { timeSeriesName: 's' }],
    ['command-invocation', {}, { commandType: 'c' }],
  ]
  const cases: Case[] = [
    ...onEndpoints.flatMap(([type, results, fields]) =>
      wrongIds.map((value): Case => [type, { ...results, [ids]: value }, fields]),
    ),
    ...[5, null, undefined, 'text', [], true].map(
      (value): Case => ['metadata-update', { metadataExpression: value }, {}],
    ),
    ...[null, undefined].map((value): Case => ['data-sample', { dataSampleExpression: value }, {}]),
    ...[null, undefined, [1]].map(
      (value): Case => ['time-series', { valuesExpression: value }, { timeSeriesName: 's' }],
    ),
    ...['yesterday', true, {}, [], '12:00'].map(
      (value): Case => ['time-series', { valuesExpression: 1, timestampExpression: value }, { timeSeriesName: 's' }],
    ),
    ...['', 5, null, 'a b', 'x'.repeat(101)].map(
      (value): Case => ['alert-activation', { alertTypeExpression: value }, {}],
    ),
    ...[{ large: 'x'.repeat(65_536) }, { ['k'.repeat(129)]: 1 }].map(
      (value): Case => ['alert-activation', { metadataExpression: value }, { alertType: 'T' }],
    ),
    ...['WORST', 5, {}].map(
      (value): Case => ['alert-activation', { severityLevelExpression: value }, { alertType: 'A' }],
    ),
    ...[5, [], 'text'].map((value): Case => ['alert-activation', { metadataExpression: value }, { alertType: 'A' }]),
    ['alert-activation', { messageExpression: 'x'.repeat(4001) }, { alertType: 'A' }],
    ['alert-resolution', { alertTypeExpression: {} }, {}],
  ]
  for (const [type, results, fields] of cases)
    test(`${type} fails with ${JSON.stringify(results).slice(0, 80)}`, async () => {
      const outcome = await run(type, { endpoint: untouched, results, fields })
      assert.ok(outcome.outcome === 'FAILURE' && outcome.stage === 'ACTION_EXECUTION', JSON.stringify(outcome))
      assert.match(outcome.reason, /expected/)
    })

  for (const [type, results, fields] of [
    ...onEndpoints,
    ['alert-activation', {}, { alertType: 'A' }],
    ['alert-resolution', {}, { alertType: 'A' }],
  ] as Case[])
    test(`${type} fails without an endpoint`, async () => {
      const outcome = await run(type, { results, fields })
      assert.ok(outcome.outcome === 'FAILURE' && outcome.stage === 'ACTION_EXECUTION')
      assert.match(outcome.reason, /has no endpoint/)
    })

  test('an action with a wrong result changes nothing', async () => {
    const { endpointId, applicationName } = untouched
    assert.deepEqual(await metadataOf(endpointId), { untouched: true })
    assert.deepEqual((await admin(`GET /re/api/v1/alerts?entityIds=${endpointId}`)).body.totalElements, 0)
    assert.ok(!JSON.stringify(await lastOf(endpointId, applicationName)).includes(endpointId))
  })
})

test('a test run describes the effect of each action, and executes no action', async () => {
  const endpoint = await anEndpointRef({ a: 1 })
  const { endpointId, applicationName } = endpoint
  const endpointIds = [endpointId]
  const alert = { alertType: 'A', entityType: 'ENDPOINT', entityId: endpointId }
  for (const [type, results, fields, wouldDo] of [
    ['metadata-update', { metadataExpression: { b: null } }, {}, { endpointIds, metadata: { b: null } }],
    ['data-sample', { dataSampleExpression: 5 }, {}, { endpointIds, samples: [5] }],
    [
      'time-series',
      { valuesExpression: 1, timestampExpression: 1000 },
      { timeSeriesName: 's' },
      { endpointIds, timeSeriesName: 's', timestamp: 1000, values: { value: 1 } },
    ],
    [
      'command-invocation',
      {},
      { commandType: 'c', awaitTimeout: 5 },
      { endpointIds, commandType: 'c', awaitTimeout: 5 },
    ],
    ['alert-activation', {}, { alertType: 'A' }, { ...alert, severityLevel: 'MEDIUM' }],
    ['alert-resolution', {}, { alertType: 'A' }, alert],
    ['rule-execution', {}, { ruleId: 'r' }, { ruleId: 'r' }],
  ] as const) {
    const outcome = await run(type, { endpoint, results, fields, isTry: true })
    assert.deepEqual(JSON.parse(JSON.stringify(outcome)), { outcome: 'SUCCESS', wouldDo }, type)
  }
  assert.deepEqual(await metadataOf(endpointId), { a: 1 })
  assert.equal((await admin(`GET /re/api/v1/alerts?entityIds=${endpointId}`)).body.totalElements, 0)
  assert.ok(!JSON.stringify(await lastOf(endpointId, applicationName)).includes(endpointId))
})

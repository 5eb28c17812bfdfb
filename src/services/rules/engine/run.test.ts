/** Tests evaluations of expressions, runs of rules on demand, the context of scripts, and traces over the HTTP API. */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { aPlatformAdmin } from '../../../../test/harness/builders.ts'
import { eventually } from '../../../../test/harness/eventually.ts'
import { openRules, rulesRoot } from '../../../../test/harness/rules.ts'
import { TimeSeries } from '../../time-series/contract.ts'
import { contextMembers } from './context/members.ts'

const { waypost, admin, other, expectStatus, get, make, aRule, anAction, anApplication } = await openRules()

async function anEndpoint(version: string, fields: object): Promise<string> {
  const { body } = await expectStatus(201, 'POST /epr/api/v1/endpoints', { appVersion: { name: version }, ...fields })
  return body.endpointId
}

const execute = async (ruleId: string, body?: unknown) =>
  (await expectStatus(200, `POST ${rulesRoot}/rules/${ruleId}/execute`, body)).body
const evaluate = (expression: string, fields: object = {}) =>
  admin(`POST ${rulesRoot}/expressions/evaluation`, { expression, ...fields })
const value = async (expression: string, fields: object = {}) => {
  const answer = await evaluate(expression, fields)
  assert.equal(answer.status, 200, answer.text)
  return answer.body
}
const problem = async (expression: string, fields: object = {}) => {
  const answer = await evaluate(expression, fields)
  assert.equal(answer.status, 400, answer.text)
  return answer.body.message as string
}
const attach = (ruleId: string, type: string, positiveActionIds: string[], negativeActionIds: string[] = []) =>
  expectStatus(204, `PUT ${rulesRoot}/rules/${ruleId}/action-types/${type}/actions`, {
    positiveActionIds,
    negativeActionIds,
  })

suite('an evaluation', () => {
  test('an evaluation returns the value of the expression', async () => {
    assert.deepEqual(await value('return { a: [1, null, "x"] }'), { a: [1, null, 'x'] })
    assert.equal(await value('return undefined'), null)
    assert.equal(await value('return "text"'), 'text')
    assert.equal(await value('return ctx.tenantId'), 'default')
  })

  test('a script in an evaluation gets the metadata and children of the request', async () => {
    const { version } = await anApplication()
    const endpointId = await anEndpoint(version, { metadata: { level: 7 } })
    const input = { endpointMetadata: { level: 10 }, childrenEndpoints: [endpointId, 'unknown'] }
    assert.deepEqual(
      await value(
        `return [ctx.endpointMetadata.level, ctx.endpoint.getMetadata('level'), ctx.childrenEndpoints.length,
          ctx.endpoint.getChildren().map((one) => one.getMetadata('level'))]`,
        input,
      ),
      [10, 10, 2, [7]],
    )
  })

  test('the metadata of an evaluation must be an object', async () => {
    for (const endpointMetadata of [5, 'text', [1], null]) {
      const body = { expression: 'return 1', endpointMetadata }
      const answer = await admin(`POST ${rulesRoot}/expressions/evaluation`, body)
      assert.equal(answer.status, 400)
      assert.match(answer.body.message, /^endpointMetadata: /)
    }
  })

  test('an evaluation rejects a text that closes the body of its function, as rules do', async () => {
    for (const expression of ['return 1}); (function () {', 'return 1 }, function () { return 2', '}, () => {']) {
      const { status, body } = await evaluate(expression)
      assert.equal(status, 400, expression)
      assert.match(body.message, /^expression: line 1, column \d+: /)
      assert.equal((await admin(`POST ${rulesRoot}/rules`, { name: 'r', expression })).status, 400)
    }
  })

  test('an evaluation that fails gets 400 with a reason', async () => {
    assert.equal(
      await problem('const a = 1\nreturn   ctx.endpoint.getMetadata()'),
      'expression: line 2, column 10: ctx.endpoint is absent in an evaluation without endpointMetadata',
    )
    assert.match(await problem('return {{'), /line 1, column \d+/)
    assert.match(await problem('const a = {}; a.a = a; return a'), /contains itself/)
    assert.match(await problem('return 10n'), /BigInt/)
    assert.match(await problem("return ctx.toolbox.secrets.get('x')"), /secrets are available only in runs of rules/)
    assert.equal((await admin(`POST ${rulesRoot}/expressions/evaluation`, {})).status, 400)
    assert.equal((await admin(`POST ${rulesRoot}/expressions/evaluation`, { expression: 5 })).status, 400)
  })

  test('an evaluation encodes and decodes base64', async () => {
    for (const text of ['', 'a', 'ab', 'abc', 'Zürich ☂ 😀'])
      assert.deepEqual(
        await value(
          `const t = ${JSON.stringify(text)}, e = ctx.toolbox.base64.encode(t); return [e, ctx.toolbox.base64.decode(e)]`,
        ),
        [Buffer.from(text).toString('base64'), text],
      )
    assert.match(await problem("return ctx.toolbox.base64.decode('%')"), /base64/)
  })

  test('an evaluation calls no private addresses', async () => {
    for (const url of [
      'http://127.0.0.1:1/',
      'http://localhost/',
      'http://169.254.169.254/',
      'file:///etc/passwd',
      'x',
    ])
      assert.ok((await value(`return ctx.toolbox.httpClient.get(${JSON.stringify(url)})`)).error, url)
    assert.match(await problem("return ctx.toolbox.httpClient.get('http://x', { headers: { host: 'y' } })"), /host/)
  })

  test('an evaluation calls the platform with the permissions of the caller', async () => {
    const { version } = await anApplication()
    const endpointId = await anEndpoint(version, { metadata: { city: 'Kyiv' } })
    const call = `return ctx.toolbox.httpClient.get('/epr/api/v1/endpoints/${endpointId}/metadata', { platform: true })`
    const { statusCode, body } = await value(call)
    assert.deepEqual([statusCode, body], [200, { city: 'Kyiv' }])
    const foreign = await other(`POST ${rulesRoot}/expressions/evaluation`, { expression: call })
    assert.equal(foreign.body.statusCode, 404)
    // Even a script of a platform administrator cannot read data of other tenants.
    const ofPlatform = waypost.as(aPlatformAdmin())
    assert.equal((await ofPlatform(`GET /epr/api/v1/endpoints/${endpointId}/metadata`)).status, 200)
    const script = { expression: call }
    assert.equal(
      (await expectStatus(200, `POST ${rulesRoot}/expressions/evaluation`, script, ofPlatform)).body.statusCode,
      404,
    )
    assert.match(
      (await value("return ctx.toolbox.httpClient.get('https://x/', { platform: true })")).error,
      /address must be a path/,
    )
  })
})

test('scripts that wait for nested scripts of their tenant do not block each other, and fail at the depth limit', async () => {
  const source = `const { n, source } = ctx.endpointMetadata
    if (n === 0) return 'last'
    const body = { expression: source, endpointMetadata: { n: n - 1, source } }
    const answer = ctx.toolbox.httpClient.post('/re/api/v1/expressions/evaluation', { platform: true, body })
    return answer.statusCode === 200 ? answer.body : answer.body.message`
  const nested = (n: number) => value(source, { endpointMetadata: { n, source } })
  // The depth grows step by step. Each step needs two more threads, and starting all threads at once could exceed the time limit of the
  // scripts.
  for (const depth of [1, 3, 5, 7, 9]) assert.equal(await nested(depth), 'last')
  assert.equal(await nested(10), 'expression: the chain of rules is more than 10 deep')
  assert.deepEqual(await Promise.all(Array.from({ length: 6 }, () => nested(1))), Array(6).fill('last'))
})

suite('the context', () => {
  test('the context has exactly the members that its documentation lists', async () => {
    const { version } = await anApplication()
    const endpointId = await anEndpoint(version, { metadata: {} })
    const ruleId = await aRule({
      expression: `const names = []
        const walk = (value, path) => {
          const prototype = path === 'ctx.endpoint' ? Object.getOwnPropertyNames(Object.getPrototypeOf(value)) : []
          for (const key of [...Object.getOwnPropertyNames(value), ...prototype]) {
            const one = value[key]
            if (typeof one === 'object' && one !== null && !['data', 'body'].includes(key)) walk(one, path + '.' + key)
            else if (key !== 'endpointId' || path.length > 3) names.push(path + '.' + key)
          }
        }
        walk(ctx, 'ctx')
        return names`,
    })
    const found: string[] = JSON.parse((await execute(ruleId, { endpointId })).returnedValue)
    const documented = contextMembers.map(({ name }) => name.replace(/\(.*$/, ''))
    const groups = ['ctx.endpoint', 'ctx.trigger', 'ctx.endpointMetadata', 'ctx.childrenEndpoints', 'console.log']
    const expected = documented.filter((name) => !groups.includes(name) && !name.startsWith('ctx.trigger.'))
    assert.deepEqual(new Set(found), new Set(expected))
  })

  test('a script that reads a name with NUL gets an error of its own, not one of the platform', async () => {
    const { version } = await anApplication()
    const endpointId = await anEndpoint(version, {})
    const read = (call: string) => `() => ctx.endpoint.${call}`
    const reads = ["getTimeSeries('a\\0').last()", "getTimeSeries('\\0').range()", "getConfiguration('\\0')"].map(read)
    const expression = `const outcomeOf = (read) => { try { return read() } catch (error) { return error.message } }
      return [${reads}].map(outcomeOf)`
    const { returnedValue, traces } = await execute(await aRule({ expression }), { endpointId })
    assert.equal(traces[0].outcome, 'SUCCESS', traces[0].reason)
    const series = 'the name of a time series must not contain NUL'
    assert.deepEqual(JSON.parse(returnedValue), [series, series, 'the name of a configuration must not contain NUL'])
  })

  test('a script that reads too many points gets the limit that the points exceed', async () => {
    const { app, version } = await anApplication()
    const endpointId = await anEndpoint(version, {})
    const now = Date.now()
    const put = (seriesName: string, count: number, value: string | number) =>
      waypost.ask(TimeSeries).putPoints(
        { tenantId: 'default', applicationName: app, versionName: version },
        Array.from({ length: count }, (_, n) => ({ endpointId, seriesName, timestamp: now - n, values: { value } })),
      )
    await put('many', 10_001, 1)
    // JSON has six bytes for each of these characters, so that each point has 384 KiB.
    await put('long', 12, '\u0001'.repeat(65_536))
    const ruleId = await aRule({
      expression: `const outcomeOf = (read) => { try { return read().length } catch (error) { return error.message } }
        const [many, long] = ['many', 'long'].map((name) => ctx.endpoint.getTimeSeries(name))
        return [() => many.range('now-1h'), () => long.range('now-1h'), () => long.last(11), () => long.last(10)].map(outcomeOf)`,
    })
    const { returnedValue, traces } = await execute(ruleId, { endpointId })
    assert.equal(traces[0].outcome, 'SUCCESS', traces[0].reason)
    assert.deepEqual(JSON.parse(returnedValue), [
      'range() found more than 10000 points; choose a shorter time',
      'range() found points of more than 4 MiB; choose a shorter time',
      'last() found points of more than 4 MiB; choose a smaller number',
      10,
    ])
  })
})

suite('a rule on demand', () => {
  test('a rule on demand returns its value as text, with a trace', async () => {
    const cases: [expression: string, text: string][] = [
      ['return "plain"', 'plain'],
      ['return { a: 1 }', '{"a":1}'],
      ['return null', 'null'],
      ['', 'null'],
      ['return false', 'false'],
    ]
    for (const [expression, text] of cases) {
      const ruleId = await aRule({ expression: expression || ';' })
      const { returnedValue, traces } = await execute(ruleId)
      assert.equal(returnedValue, text)
      const [trace] = traces
      assert.deepEqual(
        [trace.entityType, trace.entityId, trace.raisedOnEntityType, trace.raisedOnEntityId, trace.outcome],
        ['RULE', ruleId, 'ON_DEMAND', ruleId, 'SUCCESS'],
      )
      assert.equal(trace.metadata.ruleVersion, 1)
    }
  })

  test('a rule on demand sees the fields of the body, which cannot replace members of the platform', async () => {
    const ruleId = await aRule({
      expression: 'console.log("n", ctx.n); return [ctx.n, ctx.tenantId, ctx.body, ctx.trigger]',
    })
    const { returnedValue, traces } = await execute(ruleId, { n: 5, tenantId: 'x', trigger: 1 })
    assert.deepEqual(JSON.parse(returnedValue), [5, 'default', { n: 5, tenantId: 'x', trigger: 1 }, null])
    assert.deepEqual(traces[0].metadata.log, ['n 5'])
    const list = await aRule({ expression: 'return ctx.body' })
    assert.equal((await execute(list, [1, 2])).returnedValue, '[1,2]')
  })

  test('a rule on demand gets the endpoint that the body names, or no endpoint if this endpoint does not exist', async () => {
    const { app, version } = await anApplication()
    const endpointId = await anEndpoint(version, { metadata: { battery: { level: 3 } } })
    const ruleId = await aRule({ expression: 'return [ctx.endpoint, ctx.endpoint.getMetadata().battery.level]' })
    const { returnedValue, traces } = await execute(ruleId, { endpointId })
    assert.deepEqual(JSON.parse(returnedValue), [{ endpointId, appName: app, appVersionName: version }, 3])
    assert.deepEqual([traces[0].raisedOnEntityType, traces[0].raisedOnEntityId], ['ON_DEMAND', endpointId])
    const failed = await execute(ruleId, { endpointId: 'unknown' })
    assert.deepEqual(
      [failed.returnedValue, failed.traces[0].outcome, failed.traces[0].stage, failed.traces[0].reason],
      ['', 'FAILURE', 'EXPRESSION_EVALUATION', 'line 1, column 23: ctx.endpoint is absent in a run without endpoint'],
    )
  })

  test('a rule on demand runs its positive actions for true, its negative actions for false, and no actions for null', async () => {
    const { version } = await anApplication()
    const endpointId = await anEndpoint(version, { metadata: {} })
    const ruleId = await aRule({ expression: 'ctx.data.seen = 42; return ctx.result' })
    const yes = await anAction('metadata-update', { metadataExpression: 'return { yes: ctx.data.seen }' })
    const no = await anAction('metadata-update', { metadataExpression: 'return { no: ctx.data.seen }' })
    await attach(ruleId, 'metadata-update', [yes], [no])
    const ran = async (result: unknown) => (await execute(ruleId, { result, endpointId })).traces.slice(1)
    assert.deepEqual((await ran(null)).length, 0)
    const [positive, ...rest] = await ran(true)
    assert.deepEqual([positive.entityId, positive.outcome, rest.length], [yes, 'SUCCESS', 0], positive.reason)
    assert.equal((await ran(false))[0].entityId, no)
    const { body } = await expectStatus(200, `GET /epr/api/v1/endpoints/${endpointId}/metadata`)
    assert.deepEqual(body, { yes: 42, no: 42 })
  })

  test('a rule on demand that is unknown or of another tenant is answered with 404', async () => {
    const ruleId = await aRule()
    await expectStatus(404, `POST ${rulesRoot}/rules/${ruleId}/execute`, {}, other)
    await expectStatus(404, `POST ${rulesRoot}/rules/unknown/execute`, {})
  })

  test('a rule on demand that is disabled leaves a trace that says so', async () => {
    const ruleId = await aRule({ state: 'DISABLED' })
    const { traces } = await execute(ruleId)
    assert.equal(traces[0].stage, 'RULE_DISABLED')
  })

  test('a rule on demand answers with the traces of the whole chain, in the order in which they ended', async () => {
    const [outer, inner] = [await aRule({ name: 'outer' }), await aRule({ name: 'inner' })]
    const { version } = await anApplication()
    const endpointId = await anEndpoint(version, {})
    const [executing, updating, last] = [
      await anAction('rule-execution', { ruleId: inner }),
      await anAction('metadata-update'),
      await anAction('metadata-update'),
    ]
    await attach(inner, 'metadata-update', [updating])
    await attach(outer, 'rule-execution', [executing])
    await attach(outer, 'metadata-update', [last])
    const { traces } = await execute(outer, { endpointId })
    const ids = traces.map(({ entityId }: { entityId: string }) => entityId)
    assert.deepEqual(ids, [outer, inner, updating, executing, last])
    assert.equal(new Set(traces.map(({ traceId }: { traceId: string }) => traceId)).size, 1)
    const { content } = await get(`/traces?traceId=${traces[0].traceId}`)
    assert.deepEqual(content.toReversed(), traces, 'the traces must be stored before the response')
    // `toCreatedAt` includes the whole millisecond that it shows.
    const { createdAt, traceId } = traces[4]
    const until = await get(`/traces?traceId=${traceId}&fromCreatedAt=${createdAt}&toCreatedAt=${createdAt}`)
    assert.ok(until.content.some(({ id }: { id: string }) => id === traces[4].id))
  })

  test('a rule on demand that executes itself ends at the depth limit', async () => {
    const ruleId = await aRule({ expression: 'return true' })
    const actionId = await make('/action-types/rule-execution/actions', { name: 'again', ruleId })
    await attach(ruleId, 'rule-execution', [actionId])
    const { traces } = await execute(ruleId)
    const chain = await eventually(async () => {
      const { content } = await get(`/traces?traceId=${traces[0].traceId}`)
      assert.equal(content.length, 21)
      return content
    })
    const limited = chain.filter(({ stage }: { stage?: string }) => stage === 'DEPTH_LIMIT')
    assert.ok(limited.length >= 1)
    assert.match(limited[0].reason, /more than 10 deep/)
    assert.deepEqual(chain.reverse(), traces)
  })
})

suite('traces', () => {
  test('traces are listed newest first, and can be filtered by every field', async () => {
    const ruleId = await aRule({ expression: 'if (ctx.bad) throw new Error("no"); return 1' })
    const ran = [await execute(ruleId), await execute(ruleId, { bad: true })]
    const traces = (query: string) => get(`/traces?entityId=${ruleId}${query}`)
    await eventually(async () => assert.equal((await traces('')).totalElements, 2))
    const ids = ({ content }: { content: { id: string }[] }) => content.map(({ id }) => id)
    const [first, second] = ran.map(({ traces }) => traces[0])
    assert.deepEqual(ids(await traces('')), [second.id, first.id])
    assert.deepEqual(ids(await traces('&outcome=FAILURE')), [second.id])
    assert.deepEqual(ids(await traces(`&traceId=${first.traceId}`)), [first.id])
    assert.deepEqual(ids(await traces('&entityType=RULE&raisedOnEntityType=ON_DEMAND')), [second.id, first.id])
    assert.deepEqual(ids(await traces('&entityType=RULE_ACTION')), [])
    assert.deepEqual(ids(await traces(`&raisedOnEntityId=${ruleId}`)), [second.id, first.id])
    assert.deepEqual(ids(await traces('&raisedOnEntityType=ENDPOINT')), [])
    assert.deepEqual(ids(await traces('&fromCreatedAt=now-1h&toCreatedAt=now')), [second.id, first.id])
    assert.deepEqual(ids(await traces('&toCreatedAt=2020-01-01T00:00:00Z')), [])
    assert.deepEqual(ids(await traces('&size=1&page=1')), [first.id])
    const { content } = await traces('&outcome=FAILURE')
    assert.deepEqual([content[0].stage, content[0].reason], ['EXPRESSION_EVALUATION', 'line 1, column 24: no'])
    for (const query of ['outcome=x', 'entityType=x', 'fromCreatedAt=x', 'size=0', 'size=10001', 'page=-1'])
      await expectStatus(400, `GET ${rulesRoot}/traces?${query}`)
  })

  test('a tenant sees and deletes only its own traces', async () => {
    const ruleId = await aRule()
    await execute(ruleId)
    await eventually(async () => assert.equal((await get(`/traces?entityId=${ruleId}`)).totalElements, 1))
    const foreign = await other(`GET ${rulesRoot}/traces?entityId=${ruleId}`)
    assert.deepEqual(foreign.body, { totalElements: 0, content: [] })
    assert.equal((await other(`DELETE ${rulesRoot}/traces`)).status, 204)
    assert.equal((await get(`/traces?entityId=${ruleId}`)).totalElements, 1)
    await expectStatus(204, `DELETE ${rulesRoot}/traces?beforeDate=2020-01-01T00:00:00Z`)
    assert.equal((await get(`/traces?entityId=${ruleId}`)).totalElements, 1)
    await expectStatus(400, `DELETE ${rulesRoot}/traces?beforeDate=x`)
    await expectStatus(204, `DELETE ${rulesRoot}/traces`)
    assert.deepEqual(await get(`/traces?entityId=${ruleId}`), { totalElements: 0, content: [] })
  })
})

/** Tests actions over the HTTP API: the nine types, scripts and literals, and permissions. */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { aCaller } from '../../../../test/harness/builders.ts'
import { openRules, rulesRoot } from '../../../../test/harness/rules.ts'
import { sampleActions } from '../../../../test/harness/sample-actions.ts'
import { actionTypes } from '../model.ts'
import { valueOfLiteral } from './action-types.ts'

const { waypost, admin, other, expectStatus, make, get, aRule, anAction } = await openRules()

const pathOf = (type: string, id = '') => `${rulesRoot}/action-types/${type}/actions${id === '' ? '' : `/${id}`}`
const bodyOf = async (type: string) =>
  type === 'rule-execution' ? { name: 'n', ruleId: await aRule() } : { name: 'n', ...sampleActions[type] }

suite('an action', () => {
  for (const type of actionTypes)
    test(`an action of type ${type} is created, read, listed, changed and deleted`, async () => {
      const body = await bodyOf(type)
      const { headers } = await expectStatus(201, `POST ${pathOf(type)}`, body)
      const id = String(headers.location).split('/').at(-1)!
      assert.equal(headers.location, `${waypost.baseUrl}${pathOf(type, id)}`)
      const read = await admin(`GET ${pathOf(type, id)}`)
      const { createdAt, updatedAt, statistics, valueTypes, ...rest } = read.body
      assert.equal(statistics.count, 0)
      assert.ok(createdAt && updatedAt && valueTypes)
      for (const [name, value] of Object.entries({ ...body, id })) assert.deepEqual(rest[name], value, name)
      const { etag } = read.headers as { etag: string }
      assert.equal((await admin(`GET ${pathOf(type, id)}`, undefined, { 'if-none-match': etag })).status, 304)
      const change = { ...body, name: 'changed', description: 'now' }
      assert.equal((await admin(`PUT ${pathOf(type, id)}`, change, { 'if-match': '"x"' })).status, 412)
      assert.equal((await admin(`PUT ${pathOf(type, id)}`, change, { 'if-match': etag })).status, 204)
      const { content } = await get(`/action-types/${type}/actions?name=CHANG&description=NOW`)
      assert.deepEqual(
        content.map(({ id }: { id: string }) => id),
        [id],
      )
      for (const wrong of actionTypes.filter((one) => one !== type)) await expectStatus(404, `GET ${pathOf(wrong, id)}`)
      for (const operation of ['GET', 'DELETE'])
        assert.equal((await other(`${operation} ${pathOf(type, id)}`)).status, 404)
      assert.equal((await other(`PUT ${pathOf(type, id)}`, { ...sampleActions[type], ...body })).status, 404)
      assert.equal((await other(`GET ${pathOf(type)}`)).body.totalElements, 0)
      await expectStatus(204, `DELETE ${pathOf(type, id)}`)
      await expectStatus(404, `GET ${pathOf(type, id)}`)
    })

  test('an action has the defaults of the specification', async () => {
    const email = await get(`/action-types/send-email/actions/${await anAction('send-email')}`)
    assert.equal(email.contentType, 'TEXT')
    const hook = await get(`/action-types/webhook/actions/${await anAction('webhook', { retryConfig: {} })}`)
    assert.deepEqual(hook.retryConfig, { maxAttempts: 1, timeoutMs: 1000, backoffMultiplier: 2 })
    const alert = await get(`/action-types/alert-activation/actions/${await anAction('alert-activation')}`)
    assert.deepEqual([alert.severityLevel, alert.entityType], ['MEDIUM', 'ENDPOINT'])
  })
})

suite('an attribute', () => {
  const valueTypesOf = async (type: string, fields: object) =>
    (await get(`/action-types/${type}/actions/${await anAction(type, fields)}`)).valueTypes

  test('an attribute is a script if it parses as a function body with a `return` outside of inner functions, and otherwise a literal', async () => {
    const cases: [string, string][] = [
      ['https://example.org/return/here', 'LITERAL'],
      ["return 'https://example.org'", 'SCRIPT'],
      ["const f = () => { return 1 }; return 'https://x.org/' + f()", 'SCRIPT'],
    ]
    for (const [webhookUrl, type] of cases)
      assert.deepEqual(await valueTypesOf('webhook', { webhookUrl }), { webhookUrl: type }, webhookUrl)
    const sentence = 'Please return the device to its place.'
    assert.equal((await valueTypesOf('send-email', { textExpression: sentence })).textExpression, 'LITERAL')
    const inner = 'const f = () => { return 1 }'
    assert.equal((await valueTypesOf('send-email', { textExpression: inner })).textExpression, 'LITERAL')
  })

  test('valueTypes decides whether an attribute is a script or a literal', async () => {
    const fields = { textExpression: 'return 1', valueTypes: { textExpression: 'LITERAL' } }
    assert.equal((await valueTypesOf('send-email', fields)).textExpression, 'LITERAL')
    const script = { textExpression: 'throw 1', valueTypes: { textExpression: 'SCRIPT' } }
    assert.equal((await valueTypesOf('send-email', script)).textExpression, 'SCRIPT')
  })

  test('a wrong attribute gets 400 with the name of the attribute, and with line and column for a script', async () => {
    const cases: [string, object, RegExp][] = [
      ['webhook', { webhookUrl: 'ftp://example.org' }, /^webhookUrl: expected an http or https URL/],
      ['webhook', { webhookUrl: 'https://ada:pass@example.org' }, /^webhookUrl: must not contain a user name/],
      ['webhook', { headersExpression: '[1]' }, /^headersExpression: expected the JSON of an object/],
      ['webhook', { headersExpression: 'return {a:' }, /^headersExpression: .*line 1, column \d+: /],
      ['webhook', { retryConfig: { maxAttempts: 6 } }, /maxAttempts/],
      ['webhook', { signingSecretName: 'nothing' }, /^signingSecretName: there is no secret nothing/],
      ['metadata-update', { metadataExpression: 'hot' }, /^metadataExpression: expected the JSON of an object/],
      [
        'send-email',
        { textExpression: 'a b', valueTypes: { textExpression: 'SCRIPT' } },
        /^textExpression: line 1, column 3/,
      ],
      ['send-email', { valueTypes: { name: 'SCRIPT' } }, /^valueTypes: name is not a constant or expression/],
      ['alert-activation', { alertType: 'no spaces' }, /alertType/],
      ['alert-activation', { alertTypeExpression: 'return 1' }, /^alertType: expected exactly one/],
      [
        'alert-activation',
        { severityLevel: 'HIGH', severityLevelExpression: 'LOW' },
        /^severityLevel: expected at most one/,
      ],
      ['alert-activation', { severityLevelExpression: 'GREAT' }, /^severityLevelExpression: expected one of CRITICAL/],
      ['alert-resolution', { message: 'a', messageExpression: 'b' }, /^message: expected at most one/],
      ['time-series', { timestampExpression: 'yesterday' }, /^timestampExpression: expected ISO 8601/],
      ['time-series', { timestampExpression: '1 March 2026' }, /^timestampExpression: expected ISO 8601/],
    ]
    for (const [type, fields, message] of cases) {
      const answer = await expectStatus(400, `POST ${pathOf(type)}`, { name: 'n', ...sampleActions[type], ...fields })
      assert.match(answer.body.message, message)
    }
  })

  test('the attribute decides whether a literal is parsed as JSON', () => {
    assert.equal(valueOfLiteral('webhook', 'webhookPayloadExpression', '{"a":1}'), '{"a":1}')
    assert.deepEqual(valueOfLiteral('metadata-update', 'metadataExpression', '{"a":1}'), { a: 1 })
    assert.deepEqual(valueOfLiteral('data-sample', 'dataSampleExpression', '[{"a":1}]'), [{ a: 1 }])
    assert.equal(valueOfLiteral('time-series', 'valuesExpression', '21.5'), 21.5)
    assert.equal(valueOfLiteral('time-series', 'valuesExpression', 'warm'), 'warm')
    assert.equal(valueOfLiteral('data-sample', 'endpointIdsExpression', '123'), '123')
    assert.deepEqual(valueOfLiteral('data-sample', 'endpointIdsExpression', '["1","2"]'), ['1', '2'])
  })
})

suite('writing an action', () => {
  const writer = (type: string, ...scopes: string[]) =>
    waypost.as(aCaller({ on: { 'tenant-system': [`tenant:${type}-action:create`, ...scopes] } }))
  const needs: [string, ...string[]][] = [
    ['command-invocation', 'endpoint:update'],
    ['metadata-update', 'endpoint:update'],
    ['data-sample', 'endpoint:update'],
    ['time-series', 'endpoint:update', 'time-series:update'],
    ['alert-activation', 'alert:update'],
    ['alert-resolution', 'alert:update'],
  ]
  for (const [type, ...scopes] of needs)
    test(`writing an action of type ${type} needs ${scopes.join(' and ')}`, async () => {
      const body = await bodyOf(type)
      for (const missing of scopes) {
        const rest = scopes.filter((scope) => scope !== missing)
        await expectStatus(403, `POST ${pathOf(type)}`, body, writer(type, ...rest))
      }
      await expectStatus(201, `POST ${pathOf(type)}`, body, writer(type, ...scopes))
      const id = await make(`/action-types/${type}/actions`, body)
      const updater = { 'tenant-system': [`${type}-action:read`, `${type}-action:update`] }
      await expectStatus(403, `PUT ${pathOf(type, id)}`, body, waypost.as(aCaller({ on: updater })))
    })

  test('writing an action that executes a rule requires rule:execute on the rule, which the caller must be able to read', async () => {
    const ruleId = await aRule()
    const body = { name: 'n', ruleId }
    const withoutReadScope = await expectStatus(400, `POST ${pathOf('rule-execution')}`, body, writer('rule-execution'))
    assert.match(withoutReadScope.body.message, /^ruleId: there is no rule/)
    await expectStatus(403, `POST ${pathOf('rule-execution')}`, body, writer('rule-execution', 'rule:read'))
    const on = { 'tenant-system': ['tenant:rule-execution-action:create'], [`rule-${ruleId}`]: ['rule:execute'] }
    await expectStatus(201, `POST ${pathOf('rule-execution')}`, body, waypost.as(aCaller({ on })))
    await expectStatus(400, `POST ${pathOf('rule-execution')}`, body, other)
    await expectStatus(400, `POST ${pathOf('rule-execution')}`, { name: 'n', ruleId: 'nothing' })
  })

  test('writing an action without the scope is answered with 403; a caller with a grant on one action lists only that action', async () => {
    await expectStatus(403, `POST ${pathOf('webhook')}`, {}, waypost.as(aCaller()))
    const reader = waypost.as(aCaller({ on: { [`action-${await anAction('webhook')}`]: ['webhook-action:read'] } }))
    assert.equal((await reader(`GET ${pathOf('webhook')}`)).body.totalElements, 1)
  })
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aCaller } from '../../../../test/harness/builders.ts'
import { openRealms } from '../../../../test/harness/iam.ts'
import { levelOf, sentenceOf } from './texts.ts'

test('the description of a scope is a sentence that is generated from its name', () => {
  const nouns = new Map([['vpnclient', 'VPN clients']])
  for (const [scope, sentence] of [
    ['endpoint:read', 'Read endpoints.'],
    ['application:endpoint:create', 'Create endpoints of applications.'],
    ['tenant:application:create', 'Create applications.'],
    ['tenant:js-policy:update', 'Change js policies.'],
    ['vpnclient:delete', 'Delete VPN clients.'],
    ['platform:tenant:read', 'Read tenants on the whole platform.'],
    ['platform:application:read', 'Read applications on the whole platform.'],
    ['rule:execute', 'Run rules.'],
    ['rule:constructor', 'constructor rules.'],
  ] as const)
    assert.equal(sentenceOf(scope, nouns), sentence)
  assert.deepEqual(['platform:tenant:read', 'tenant:rule:create', 'identity:user:read', 'rule:read'].map(levelOf), [
    'platform',
    'tenant',
    'tenant',
    'resource',
  ])
})

test('the list of scopes contains every scope with its sentence, its roles and its operations', async () => {
  const waypost = await openRealms()
  const ask = waypost.as(aCaller({ tenantId: 'acme' }))
  const { status, body } = await ask('GET /iam/api/v1/scopes')
  assert.equal(status, 200)
  const byScope = new Map<string, Record<string, unknown>>(
    body.content.map((one: { scope: string }) => [one.scope, one]),
  )
  assert.deepEqual([...byScope.keys()], [...waypost.kit.scopes.keys()])
  for (const { sentence } of body.content)
    assert.match(sentence, /^(Create|Read|Change|Delete|Run|Cancel) [^-]+\.$|X\.509/)
  const read = byScope.get('identity:role:read')!
  assert.deepEqual(read.builtInRoles, ['tenant-admin', 'service'])
  assert.deepEqual(
    (read.operations as { name: string }[]).map(({ name }) => name),
    ['access.list', 'roles.get', 'roles.list', 'users.access.get'],
  )
  assert.equal((await waypost.as(undefined)('GET /iam/api/v1/scopes')).status, 401)
})

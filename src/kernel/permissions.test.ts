import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  everyScope,
  type Holder,
  holds,
  holdsSomewhere,
  onPlatform,
  onResource,
  onTenant,
  type Resource,
  visibleResources,
} from './permissions.ts'

const holder = (tenantId: string, on: Record<string, string[]>): Holder => ({
  tenantId,
  permissions: Object.entries(on).map(([resource, scopes]) => ({ resource, scopes: new Set(scopes) })),
})

const application = onResource('a', 'application-one')
const endpoint = onResource('a', 'application-one', 'endpoint-1')
const rule = onResource('a', 'rule-1')
const none = holder('a', {})
const reader = (resource: string, scopes = ['endpoint:read']) => holder('a', { [resource]: scopes })

const cases: [what: string, who: Holder, scope: string, where: Resource, may: boolean][] = [
  ['no permissions', none, 'endpoint:read', endpoint, false],
  ['a permission on the resource itself', reader('endpoint-1'), 'endpoint:read', endpoint, true],
  ['another scope on the resource', reader('endpoint-1'), 'endpoint:update', endpoint, false],
  [
    'a scope whose name is a prefix of the required scope',
    reader('endpoint-1', ['endpoint']),
    'endpoint:read',
    endpoint,
    false,
  ],
  ['the same scope on a sibling', reader('endpoint-2'), 'endpoint:read', endpoint, false],
  ['a resource whose name is a prefix of the required resource', reader('endpoint-'), 'endpoint:read', endpoint, false],
  ['a permission one level above covers the levels below', reader('application-one'), 'endpoint:read', endpoint, true],
  ['a permission on another application', reader('application-two'), 'endpoint:read', endpoint, false],
  ['a permission two levels above', reader('tenant-system'), 'endpoint:read', endpoint, true],
  ['a permission on the root', reader('platform-system'), 'endpoint:read', endpoint, true],
  ['a permission below does not cover the level above', reader('endpoint-1'), 'endpoint:read', application, false],
  ['an application does not cover the tenant', reader('application-one'), 'endpoint:read', onTenant('a'), false],
  ['a permission on tenant-system covers the tenant', reader('tenant-system'), 'endpoint:read', onTenant('a'), true],
  [
    'a permission on platform-system covers the tenant',
    reader('platform-system'),
    'endpoint:read',
    onTenant('a'),
    true,
  ],
  ['a tenant does not cover the platform', reader('tenant-system'), 'endpoint:read', onPlatform, false],
  ['a permission on platform-system covers the platform', reader('platform-system'), 'endpoint:read', onPlatform, true],
  ['a resource does not cover the platform', reader('endpoint-1'), 'endpoint:read', onPlatform, false],
  ['rules are below the tenant', reader('tenant-system', ['rule:read']), 'rule:read', rule, true],
  ['rules are not below an application', reader('application-one', ['rule:read']), 'rule:read', rule, false],
  ['every scope on the resource', reader('endpoint-1', [everyScope]), 'endpoint:delete', endpoint, true],
  [
    'every scope on one resource gives no scope on another',
    reader('endpoint-1', [everyScope]),
    'rule:read',
    rule,
    false,
  ],
  ['every scope on the tenant', reader('tenant-system', [everyScope]), 'rule:delete', rule, true],
  [
    'every scope on the tenant gives no scope on the platform',
    reader('tenant-system', [everyScope]),
    'tenant:read',
    onPlatform,
    false,
  ],
  ['another tenant', reader('tenant-system'), 'endpoint:read', onTenant('b'), false],
  ['another tenant with the same names', reader('endpoint-1'), 'endpoint:read', onResource('b', 'endpoint-1'), false],
  ['every scope in another tenant', reader('tenant-system', [everyScope]), 'endpoint:read', onTenant('b'), false],
  ['the platform covers other tenants', reader('platform-system'), 'endpoint:read', onTenant('b'), true],
  [
    'the scope from one permission and the resource from another',
    holder('a', { 'endpoint-1': ['endpoint:update'], 'endpoint-2': ['endpoint:read'] }),
    'endpoint:read',
    endpoint,
    false,
  ],
  [
    'either of two permissions',
    holder('a', { 'endpoint-1': ['endpoint:update'], 'application-one': ['endpoint:read'] }),
    'endpoint:read',
    endpoint,
    true,
  ],
]

for (const [what, who, scope, where, may] of cases)
  test(`${what}: ${may ? 'allowed' : 'denied'}`, () => assert.equal(holds(who, scope, where), may))

const withManyPermissions = (extra: Record<string, string[]>) =>
  holder('a', {
    ...Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`endpoint-x${i}`, ['endpoint:read']])),
    ...extra,
  })

test('a caller with many permissions gets the same decisions as a caller with few permissions', () => {
  for (const [what, who, scope, where, may] of cases) {
    const many = withManyPermissions(
      Object.fromEntries(who.permissions.map(({ resource, scopes }) => [resource, [...scopes]])),
    )
    assert.equal(holds(many, scope, where), may, what)
  }
})

test('a permission that is added later takes effect immediately', () => {
  const many = withManyPermissions({})
  assert.equal(holds(many, 'endpoint:read', endpoint), false)
  ;(many.permissions as { resource: string; scopes: Set<string> }[]).push({
    resource: 'endpoint-1',
    scopes: new Set([everyScope]),
  })
  assert.equal(holds(many, 'endpoint:read', endpoint), true)
})

test('a list shows everything to a caller with the scope on the tenant or above', () => {
  assert.equal(visibleResources(reader('tenant-system'), 'endpoint:read', 'a', 'endpoint-'), 'all')
  assert.equal(visibleResources(reader('platform-system'), 'endpoint:read', 'b', 'endpoint-'), 'all')
})

test('without a permission on the tenant, a list shows only the resources with a permission', () => {
  const some = holder('a', {
    'endpoint-1': ['endpoint:read'],
    'endpoint-2': ['endpoint:update'],
    'endpoint-3': [everyScope],
    'application-one': ['endpoint:read'],
  })
  assert.deepEqual(visibleResources(some, 'endpoint:read', 'a', 'endpoint-'), ['1', '3'])
  assert.deepEqual(visibleResources(some, 'endpoint:read', 'a', 'application-'), ['one'])
})

test('a list shows nothing of another tenant', () => {
  assert.deepEqual(visibleResources(reader('endpoint-1'), 'endpoint:read', 'b', 'endpoint-'), [])
  assert.deepEqual(visibleResources(reader('tenant-system'), 'endpoint:read', 'b', 'endpoint-'), [])
})

test('holdsSomewhere is true for a scope that is held on any resource', () => {
  assert.equal(holdsSomewhere(reader('endpoint-1'), 'endpoint:read'), true)
  assert.equal(holdsSomewhere(reader('endpoint-1', [everyScope]), 'rule:read'), true)
  assert.equal(holdsSomewhere(reader('endpoint-1'), 'endpoint:update'), false)
})

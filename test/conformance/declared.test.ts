import assert from 'node:assert/strict'
import { test } from 'node:test'
import { offlineApis } from '../../src/assembly/offline.ts'
import { operations, shapeOf } from './operations.ts'

interface DeclaredOperation {
  responses: Record<string, unknown>
  security: Record<string, string[]>[]
}

const { apis, document } = await offlineApis('http://waypost.test')
const operationsByShape = new Map<string, DeclaredOperation>()
for (const [path, item] of Object.entries(document.paths))
  for (const [method, operation] of Object.entries(item))
    operationsByShape.set(`${method.toUpperCase()} ${shapeOf(path)}`, operation as DeclaredOperation)

for (const { service, method, path, scopes, statuses } of operations)
  test(`${service}: ${method} ${path} is declared with its scopes and statuses`, () => {
    const operation = operationsByShape.get(`${method} ${shapeOf(path)}`)
    assert.ok(operation, 'the OpenAPI document must have the operation')
    for (const status of statuses) assert.ok(operation.responses[status], `status ${status}`)
    const declaredScopes = new Set(operation.security.flatMap((entry) => Object.values(entry).flat()))
    for (const scope of scopes)
      if (scope === 'X-Auth-Token')
        assert.ok(
          operation.security.some((entry) => scope in entry),
          scope,
        )
      else if (!['authenticated', 'none'].includes(scope))
        assert.ok(declaredScopes.has(scope), `the operation does not declare scope ${scope}`)
  })

test('four services require authentication, whatever the value of WAYPOST_AUTH (document 1, section 5)', () => {
  const names = apis.filter(({ alwaysAuthenticated }) => alwaysAuthenticated).map(({ name }) => name)
  assert.deepEqual(names.toSorted(), ['command', 'lorawan', 'software', 'token'])
})

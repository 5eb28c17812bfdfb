import assert from 'node:assert/strict'
import { test } from 'node:test'
import { offlineApiDocument } from '../../src/assembly/offline.ts'
import { operations, shapeOf } from './operations.ts'

interface Declared {
  responses: Record<string, unknown>
  security: Record<string, string[]>[]
}

const document = await offlineApiDocument('http://waypost.test')
const declared = new Map<string, Declared>()
for (const [path, item] of Object.entries(document.paths))
  for (const [method, operation] of Object.entries(item))
    declared.set(`${method.toUpperCase()} ${shapeOf(path)}`, operation as Declared)

for (const { service, method, path, scopes, statuses } of operations)
  test(`${service}: ${method} ${path} is declared with its scopes and statuses`, () => {
    const operation = declared.get(`${method} ${shapeOf(path)}`)
    assert.ok(operation, 'missing')
    for (const status of statuses) assert.ok(operation.responses[status], `status ${status}`)
    const named = new Set(operation.security.flatMap((entry) => Object.values(entry).flat()))
    for (const scope of scopes)
      if (scope === 'X-Auth-Token')
        assert.ok(
          operation.security.some((entry) => scope in entry),
          scope,
        )
      else if (!['authenticated', 'none'].includes(scope)) assert.ok(named.has(scope), `scope ${scope}`)
  })

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Condition, EndpointQuery, Operator } from './query.ts'
import { scanningField } from './scanning.ts'

const fields = { conditions: 'and', sort: 'sort', filters: 'filterIds' }
const key = { path: ['city'] }
const condition = (operator: Operator): Condition => ({ key, operator, values: ['x'] })
const fieldOf = (query: Partial<EndpointQuery>) =>
  scanningField({ tenantId: 't', visibility: 'all', conditions: [], ...query }, fields)

test('scanningField returns the field that forces a scan of all endpoints', () => {
  assert.equal(fieldOf({}), undefined)
  assert.equal(fieldOf({ conditions: [condition('IN')] }), undefined)
  for (const operator of ['NOT_IN', 'IN_REGEX', 'NOT_IN_REGEX'] as const)
    assert.equal(fieldOf({ conditions: [{ all: [{ any: [condition('IN'), condition(operator)] }] }] }), 'and')
  assert.equal(fieldOf({ sort: { key, descending: false } }), 'sort')
  assert.equal(fieldOf({ regex: 'x', sort: { key, descending: false } }), 'regex')
})

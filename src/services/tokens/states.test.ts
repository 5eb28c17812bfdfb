import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isValid, type Mover, mayMove, type TokenStatus, targetStatuses, tokenStatuses } from './states.ts'

const allowed: [Mover, TokenStatus, TokenStatus][] = [
  ['use', 'Inactive', 'Active'],
  ['people', 'Inactive', 'Revoked'],
  ['people', 'Active', 'Suspended'],
  ['people', 'Active', 'Revoked'],
  ['people', 'Suspended', 'Active'],
  ['people', 'Suspended', 'Revoked'],
]

test('tokens move only as the table says', () => {
  for (const by of ['use', 'people'] as const)
    for (const from of tokenStatuses)
      for (const to of tokenStatuses) {
        const expected = allowed.some(([mover, a, b]) => mover === by && a === from && b === to)
        assert.equal(mayMove(from, to, by), expected, `${from} → ${to} by ${by}`)
      }
})

test('nobody can ask for Inactive, and only Active and Inactive tokens let an endpoint in', () => {
  assert.ok(!(targetStatuses as readonly string[]).includes('Inactive'))
  assert.deepEqual(tokenStatuses.filter(isValid), ['Active', 'Inactive'])
})

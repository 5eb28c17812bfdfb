import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertTransitions } from '../../../test/harness/transitions.ts'
import { isAllowed, isValid, type Mover, type TokenStatus, targetStatuses, tokenStatuses } from './states.ts'

const allowed: [Mover, TokenStatus, TokenStatus][] = [
  ['use', 'Inactive', 'Active'],
  ['people', 'Inactive', 'Revoked'],
  ['people', 'Active', 'Suspended'],
  ['people', 'Active', 'Revoked'],
  ['people', 'Suspended', 'Active'],
  ['people', 'Suspended', 'Revoked'],
]

test('a token changes its status only by the transitions of the specification', () => {
  assertTransitions(isAllowed, { states: tokenStatuses, movers: ['use', 'people'], allowed })
})

test('callers cannot set Inactive, and only Active and Inactive tokens authenticate', () => {
  assert.ok(!(targetStatuses as readonly string[]).includes('Inactive'))
  assert.deepEqual(tokenStatuses.filter(isValid), ['Active', 'Inactive'])
})

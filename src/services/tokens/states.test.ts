import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertTransitions } from '../../../test/harness/transitions.ts'
import { isAllowed, isValid, type TokenStatus, type TransitionCause, targetStatuses, tokenStatuses } from './states.ts'

const allowed: [TransitionCause, TokenStatus, TokenStatus][] = [
  ['use', 'Inactive', 'Active'],
  ['caller', 'Inactive', 'Revoked'],
  ['caller', 'Active', 'Suspended'],
  ['caller', 'Active', 'Revoked'],
  ['caller', 'Suspended', 'Active'],
  ['caller', 'Suspended', 'Revoked'],
]

test('a token changes its status only by the transitions of the specification', () => {
  assertTransitions(isAllowed, { states: tokenStatuses, causes: ['use', 'caller'], allowed })
})

test('callers cannot set Inactive, and only Active and Inactive tokens authenticate', () => {
  assert.ok(!(targetStatuses as readonly string[]).includes('Inactive'))
  assert.deepEqual(tokenStatuses.filter(isValid), ['Active', 'Inactive'])
})

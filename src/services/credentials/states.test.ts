import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertTransitions } from '../../../test/harness/transitions.ts'
import {
  type CredentialState,
  credentialStates,
  isAllowed,
  mayAuthenticate,
  type TransitionCause,
  targetStates,
} from './states.ts'

const allowed: [TransitionCause, CredentialState, CredentialState][] = [
  ['use', 'Inactive', 'Active'],
  ['caller', 'Inactive', 'Revoked'],
  ['caller', 'Active', 'Suspended'],
  ['caller', 'Active', 'Revoked'],
  ['caller', 'Suspended', 'Active'],
  ['caller', 'Suspended', 'Revoked'],
]

test('credentials change their state only by the transitions of the specification', () => {
  assertTransitions(isAllowed, { states: credentialStates, causes: ['use', 'caller'], allowed })
})

test('Revoked is final, and callers cannot set Inactive', () => {
  for (const to of credentialStates)
    for (const by of ['use', 'caller'] as const) assert.equal(isAllowed('Revoked', to, by), false)
  assert.ok(!(targetStates as readonly string[]).includes('Inactive'))
})

test('only Active and Inactive credentials authenticate a client', () => {
  assert.deepEqual(credentialStates.filter(mayAuthenticate), ['Active', 'Inactive'])
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertTransitions } from '../../../test/harness/transitions.ts'
import {
  type CredentialState,
  credentialStates,
  isAllowed,
  type Mover,
  mayAuthenticate,
  targetStates,
} from './states.ts'

const allowed: [Mover, CredentialState, CredentialState][] = [
  ['use', 'Inactive', 'Active'],
  ['people', 'Inactive', 'Revoked'],
  ['people', 'Active', 'Suspended'],
  ['people', 'Active', 'Revoked'],
  ['people', 'Suspended', 'Active'],
  ['people', 'Suspended', 'Revoked'],
]

test('credentials change their state only by the transitions of the specification', () => {
  assertTransitions(isAllowed, { states: credentialStates, movers: ['use', 'people'], allowed })
})

test('Revoked is final, and callers cannot set Inactive', () => {
  for (const to of credentialStates)
    for (const by of ['use', 'people'] as const) assert.equal(isAllowed('Revoked', to, by), false)
  assert.ok(!(targetStates as readonly string[]).includes('Inactive'))
})

test('only Active and Inactive credentials authenticate a client', () => {
  assert.deepEqual(credentialStates.filter(mayAuthenticate), ['Active', 'Inactive'])
})

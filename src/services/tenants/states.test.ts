import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertTransitions } from '../../../test/harness/transitions.ts'
import { isAllowed, type TenantStatus, type TransitionCause, tenantStatuses } from './states.ts'

const allowed: [TransitionCause, TenantStatus, TenantStatus][] = [
  ['build', 'CREATING', 'AVAILABLE'],
  ['build', 'CREATING', 'FAILED'],
  ['build', 'UPDATING', 'AVAILABLE'],
  ['build', 'UPDATING', 'FAILED'],
  ['rebuild', 'AVAILABLE', 'UPDATING'],
  ['rebuild', 'FAILED', 'UPDATING'],
  ['status', 'AVAILABLE', 'SUSPENDED'],
  ['status', 'SUSPENDED', 'AVAILABLE'],
  ['status', 'AVAILABLE', 'DISABLED'],
  ['status', 'DISABLED', 'AVAILABLE'],
  ['deletion', 'AVAILABLE', 'DELETED'],
  ['deletion', 'SUSPENDED', 'DELETED'],
  ['deletion', 'CREATING', 'DELETED'],
  ['deletion', 'FAILED', 'DELETED'],
  ['deletion', 'UPDATING', 'DELETED'],
  ['deletion', 'DISABLED', 'DELETED'],
]

test('a tenant changes its status only by the listed transitions', () => {
  assertTransitions(isAllowed, { states: tenantStatuses, causes: ['status', 'rebuild', 'build', 'deletion'], allowed })
})

test('DELETED is final', () => {
  for (const to of tenantStatuses)
    for (const by of ['status', 'rebuild', 'build', 'deletion'] as const)
      assert.equal(isAllowed('DELETED', to, by), false)
})

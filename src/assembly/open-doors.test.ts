import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLog } from '../kernel/log.ts'
import { openDoors } from './open-doors.ts'

const log = await createLog({ level: 'silent', format: 'json' })
const names = ['application', 'rules']

test('authentication is off for the named APIs only, and their caller belongs to tenant default', () => {
  const at = openDoors(['rules'], log, names)
  assert.equal(at('application'), undefined)
  assert.equal(at('rules')?.tenantId, 'default')
  assert.equal(openDoors('none', log, names)('rules'), undefined)
  assert.equal(openDoors('all', log, names)('application')?.tenantId, 'default')
})

test('an unknown API is rejected with the names of the known ones', () => {
  assert.throws(() => openDoors(['rule'], log, names), /WAYPOST_AUTH names rule; there are application, rules/)
})

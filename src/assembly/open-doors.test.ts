import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openDoors } from './open-doors.ts'

const log = { warn: () => {} }
const names = ['application', 'rules']

test('authentication is off at the named doors only, for a caller of tenant default', () => {
  const at = openDoors(['rules'], log, names)
  assert.equal(at('application'), undefined)
  assert.equal(at('rules')?.tenantId, 'default')
  assert.equal(openDoors('none', log, names)('rules'), undefined)
  assert.equal(openDoors('all', log, names)('application')?.tenantId, 'default')
})

test('a door that does not exist is refused with the names of those that do', () => {
  assert.throws(() => openDoors(['rule'], log, names), /WAYPOST_AUTH names rule; there are application, rules/)
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLog } from '../kernel/log.ts'
import { withoutAuthentication } from './authentication-off.ts'

const log = await createLog({ level: 'silent', format: 'json' })
const names = ['application', 'rules']

test('authentication is off for the named APIs only, and their caller belongs to tenant default', () => {
  const at = withoutAuthentication(['rules'], log, names)
  assert.equal(at('application'), undefined)
  assert.equal(at('rules')?.tenantId, 'default')
  assert.equal(withoutAuthentication('none', log, names)('rules'), undefined)
  assert.equal(withoutAuthentication('all', log, names)('application')?.tenantId, 'default')
})

test('an unknown API is rejected with the names of the known ones', () => {
  assert.throws(
    () => withoutAuthentication(['rule'], log, names),
    /WAYPOST_AUTH contains the unknown API "rule"; known APIs: application, rules/,
  )
})

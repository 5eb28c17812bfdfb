import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLog } from '../kernel/log.ts'
import { withoutAuthentication } from './authentication-off.ts'

const log = await createLog({ level: 'silent', format: 'json' })
const apis = [{ name: 'application' }, { name: 'rules' }, { name: 'command', alwaysAuthenticated: true as const }]

test('WAYPOST_AUTH turns authentication off for the named APIs only, and callers of these APIs belong to tenant default', () => {
  const at = withoutAuthentication(['rules'], log, apis)
  assert.equal(at('application'), undefined)
  assert.equal(at('rules')?.tenantId, 'default')
  assert.equal(withoutAuthentication('none', log, apis)('rules'), undefined)
  assert.equal(withoutAuthentication('all', log, apis)('application')?.tenantId, 'default')
})

test('an unknown API is rejected, and the error lists the known APIs', () => {
  assert.throws(
    () => withoutAuthentication(['rule'], log, apis),
    /WAYPOST_AUTH contains the unknown API "rule"; known APIs: application, rules, command/,
  )
})

test('some APIs require authentication even with the setting "all", and a setting that names such an API is rejected', () => {
  const callerOf = withoutAuthentication('all', log, apis)
  assert.deepEqual([callerOf('command'), callerOf('rules')?.tenantId], [undefined, 'default'])
  assert.throws(
    () => withoutAuthentication(['rules', 'command'], log, apis),
    /WAYPOST_AUTH contains the API "command", which always requires authentication; APIs that always require authentication: command/,
  )
})

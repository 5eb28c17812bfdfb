import assert from 'node:assert/strict'
import { test } from 'node:test'
import { WaypostError } from '../../../sdk/src/errors.ts'
import { exitCodeOf, explain, usageError } from './errors.ts'

test('a wrong command is explained with the usage below the message; control characters in the message are escaped', () => {
  const error = usageError('expected a shell, not \u001b[31m', 'usage: waypost completion bash\n\n  bash  source …\n')
  assert.equal(
    explain(error),
    'waypost: expected a shell, not \\u001b[31m\n\nusage: waypost completion bash\n\n  bash  source …\n',
  )
  assert.equal(exitCodeOf(error), 2)
})

test('a 404 of the platform is explained as a missing object, and a 404 of another server as a wrong address', () => {
  const ours = new WaypostError('There is no endpoint e', { status: 404, body: { message: 'There is no endpoint e' } })
  assert.equal(exitCodeOf(ours), 3)
  assert.doesNotMatch(explain(ours), /check the address/)
  const theirs = new WaypostError('failed with status 404: <html>', { status: 404, body: '<html>' })
  assert.equal(exitCodeOf(theirs), 1)
  assert.match(explain(theirs), /next: check the address with waypost context show/)
})

test('the error about a certificate of an unknown issuer names the setting for the root certificate', () => {
  const cause = Object.assign(new Error('self-signed certificate in certificate chain'), {
    code: 'SELF_SIGNED_CERT_IN_CHAIN',
  })
  const error = new WaypostError('https://iot.example.com is not reachable', { code: 'unreachable', cause })
  assert.equal(exitCodeOf(error), 6)
  assert.match(explain(error), /\n {2}next: set NODE_EXTRA_CA_CERTS to a file with the root certificate/)
  const refused = new WaypostError('https://iot.example.com is not reachable', { code: 'unreachable' })
  assert.match(explain(refused), /check the address/)
})

test('a very long message from a server is shortened', () => {
  const error = new WaypostError('x'.repeat(1_000_000), { status: 400 })
  assert.ok(explain(error).length < 5000)
})

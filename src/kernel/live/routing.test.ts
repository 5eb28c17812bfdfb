import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRouting, interestOf, keyOf } from './routing.ts'
import type { Interest } from './types.ts'

const interest = (kind: Interest['kind'], name = '', tenantId = 't'): Interest => ({
  topic: 'traffic',
  tenantId,
  kind,
  name,
})

test('an event finds the targets of its tenant, application and endpoint, each once', () => {
  const routing = createRouting<string>()
  const found = (origin: { tenantId: string; applicationName?: string; endpointId?: string }) => {
    const targets: string[] = []
    routing.visit('traffic', origin, (target) => targets.push(target))
    assert.equal(routing.has('traffic', origin), targets.length > 0)
    return targets.toSorted()
  }
  routing.add(interest('tenant'), 'all')
  routing.add(interest('application', 'a'), 'of a')
  routing.add(interest('endpoint', 'e'), 'of e')
  for (const one of [interest('tenant'), interest('application', 'a'), interest('endpoint', 'e')])
    routing.add(one, 'everything')
  assert.deepEqual(found({ tenantId: 't', applicationName: 'a', endpointId: 'e' }), [
    'all',
    'everything',
    'of a',
    'of e',
  ])
  assert.deepEqual(found({ tenantId: 't', applicationName: 'b', endpointId: 'e' }), ['all', 'everything', 'of e'])
  assert.deepEqual(found({ tenantId: 't' }), ['all', 'everything'])
  assert.deepEqual(found({ tenantId: 'u', applicationName: 'a', endpointId: 'e' }), [])
  assert.equal(routing.has('alerts', { tenantId: 't' }), false)
  routing.remove(interest('tenant'), 'all')
  routing.remove(interest('tenant'), 'everything')
  assert.deepEqual(found({ tenantId: 't' }), [])
  for (const target of ['everything', 'of a']) routing.remove(interest('application', 'a'), target)
  for (const target of ['everything', 'of e']) routing.remove(interest('endpoint', 'e'), target)
  assert.ok(routing.isEmpty('traffic'))
  assert.deepEqual(routing.tenantsOf('traffic'), [])
})

test('an interest that is written as a key and read again is unchanged', () => {
  for (const one of [interest('tenant', '', ''), interest('application', 'a b'), interest('endpoint', 'größe')])
    assert.deepEqual(interestOf(keyOf(one)), one)
})

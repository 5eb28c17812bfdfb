import assert from 'node:assert/strict'
import { test } from 'node:test'
import { idSourceOf, idsOf } from './ids.ts'

const cases: [operation: string, value: unknown, ids: string[]][] = [
  ['applications.list', { name: 'meadow', tenantId: 'default' }, ['meadow']],
  ['applications.versions.list', { name: 'meadow-v1', displayName: 'One' }, ['meadow-v1']],
  ['software.list', { appName: 'meadow', version: '1.2.0' }, ['1.2.0']],
  ['files.list', { name: 'night.log', endpointId: 'tree-1' }, ['night.log']],
  ['rules.versions.list', { version: 3, name: 'too hot' }, ['3']],
  ['dashboards.versions.list', { version: 2, name: 'Greenhouse' }, ['2']],
  ['endpoints.list', { endpointId: 'tree-1', appName: 'meadow' }, ['tree-1']],
  ['commands.last.get', { commandId: 'c-1', commandType: 'blink', endpointId: 'tree-1' }, ['c-1']],
  ['configurations.defaults.list', { configId: 'c-1', name: 'default' }, ['c-1']],
  ['tokens.list', { endpointTokenId: 't-1', status: 'ACTIVE', applicationName: 'meadow' }, ['t-1']],
  ['tenants.list', { id: 7, name: 'Acme', tenant_id: 'acme' }, ['7']],
  ['roles.get', { name: 'constructor', scopes: [] }, ['constructor']],
  ['refusals.list', { createdAt: 'now', tenantId: 'default' }, ['now']],
  ['alerts.types.list', ['HOT', 'COLD'], ['HOT', 'COLD']],
  ['alerts.types.list', [], []],
  ['rules.actions.list', { positiveActions: [{ id: 'a' }], negativeActions: [{ id: 'b' }] }, ['a', 'b']],
  ['rules.triggers.list', { content: [] }, []],
  ['vpnClients.get', { data: { id: 'v-1', name: 'office' } }, ['v-1']],
]
for (const [operation, value, ids] of cases)
  test(`the id of ${JSON.stringify(value)} in the answer to ${operation} is ${ids.join(', ') || 'absent'}`, async () => {
    assert.deepEqual(idsOf(value, await idSourceOf({ name: operation })), ids)
  })

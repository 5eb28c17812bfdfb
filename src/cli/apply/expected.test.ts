/** Tests the comparison of documents with objects: what the platform stores for a document needs no change. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fieldsAfter, isSame } from './expected.ts'
import { type Fields, findKind } from './kinds.ts'

const changesOf = (kindName: string, declared: Fields, present: Fields) => {
  const kind = findKind(kindName)!
  const fields = kind.normalize?.(declared) ?? declared
  const after = fieldsAfter(kind, fields, present)
  return Object.keys(fields).filter((name) => !isSame(kind, name, present[name], after[name]))
}

const unchanged: [kind: string, declared: Fields, present: Fields][] = [
  ['role', { scopes: ['b', 'a', 'b'] }, { scopes: ['a', 'b'] }],
  ['asset-type', { poolIds: null }, { poolIds: [] }],
  ['rule', { name: 'r', state: null }, { name: 'r', state: 'ENABLED' }],
  ['cron-trigger', { timezone: null }, { timezone: 'UTC' }],
  ['alert-setting', { state: null, emailRecipients: null }, { state: 'ENABLED', emailRecipients: [] }],
  ['alert-activation-action', { severityLevel: null }, { severityLevelExpression: 'return 1' }],
  ['webhook-action', { valueTypes: null }, { webhookUrl: 'u', valueTypes: { webhookUrl: 'LITERAL' } }],
  ['webhook-action', { valueTypes: {} }, { webhookUrl: 'u', valueTypes: { webhookUrl: 'LITERAL' } }],
  ['filter', { query: { a: 1 } }, { documentQuery: { a: 1 } }],
]
for (const [kind, declared, present] of unchanged)
  test(`${kind} with ${JSON.stringify(declared)} is unchanged if the platform has ${JSON.stringify(present)}`, () => {
    assert.deepEqual(changesOf(kind, declared, present), [])
  })

test('null plans a change if the field has a value other than its default', () => {
  assert.deepEqual(changesOf('rule', { name: 'r', state: null }, { name: 'r', state: 'DISABLED' }), ['state'])
  assert.deepEqual(changesOf('cron-trigger', { timezone: null }, { timezone: 'Europe/Kyiv' }), ['timezone'])
  assert.deepEqual(changesOf('role', { description: null }, { description: 'a' }), ['description'])
})

test('an object that contains only some fields is compared with the defaults of the others', () => {
  const present = { retryConfig: { timeoutMs: 1000, maxAttempts: 3, backoffMultiplier: 2 } }
  assert.deepEqual(changesOf('webhook-action', { retryConfig: { maxAttempts: 3 } }, present), [])
  assert.deepEqual(changesOf('webhook-action', { retryConfig: { maxAttempts: 2 } }, present), ['retryConfig'])
})

test('if a text of an action becomes a script, the platform decides again whether it is a script', () => {
  const present = {
    webhookUrl: 'u',
    webhookPayloadExpression: 'hello',
    valueTypes: { webhookUrl: 'LITERAL', webhookPayloadExpression: 'LITERAL' },
  }
  const kind = findKind('webhook-action')!
  const after = fieldsAfter(kind, { webhookPayloadExpression: 'return 1' }, present)
  assert.deepEqual(after.valueTypes, { webhookUrl: 'LITERAL' })
  const chosen = { webhookPayloadExpression: 'return 1', valueTypes: { webhookPayloadExpression: 'LITERAL' } }
  assert.deepEqual(fieldsAfter(kind, chosen, present).valueTypes, present.valueTypes)
})

test('a trigger that a rule names twice counts once, and a type that does not exist is rejected', () => {
  const cron = { type: 'cron', name: 'nightly' }
  assert.deepEqual(changesOf('rule', { name: 'r', triggers: [cron, cron] }, { name: 'r', triggers: [cron] }), [])
  for (const type of ['constructor', '__proto__', 'webhook'])
    assert.throws(() => changesOf('rule', { name: 'r', triggers: [{ type, name: 'x' }] }, {}), /there is no type/)
})

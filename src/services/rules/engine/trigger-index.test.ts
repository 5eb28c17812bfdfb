/** Makes random changes of triggers, and compares the results of the trigger index with a scan of all triggers. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { TriggerDefinition } from '../model.ts'
import type { RuleEvent } from './events/rule-event.ts'
import { createTriggerIndex } from './trigger-index.ts'

const few = (prefix: string, count: number) => fc.integer({ min: 0, max: count - 1 }).map((n) => `${prefix}${n}`)
const tenantId = few('tenant', 2)
const types = ['endpoint-data-samples-received', 'endpoint-metadata-updated', 'endpoint-command-dispatched'] as const

const selection = fc.oneof(
  few('app', 4).map((appName) => ({ appName })),
  few('version', 6).map((appVersionName) => ({ appVersionName })),
  fc.array(few('endpoint', 8), { minLength: 1, maxLength: 4 }).map((endpointIds) => ({ endpointIds })),
)
const trigger: fc.Arbitrary<TriggerDefinition> = fc
  .tuple(
    few('trigger', 12),
    tenantId,
    fc.constantFrom(...types),
    selection,
    fc.option(few('key', 3)),
    fc.option(few('command', 2)),
  )
  .map(([id, tenant, type, chosen, key, commandType]) => ({
    id,
    tenantId: tenant,
    type,
    name: id,
    ...chosen,
    fields: {
      ...(type === 'endpoint-metadata-updated' && key !== null && { metadataKeys: [key] }),
      ...(type === 'endpoint-command-dispatched' && commandType !== null && { commandType }),
    },
  }))

type Change = { put: TriggerDefinition; rules: string[] } | { remove: string }
const change: fc.Arbitrary<Change> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ put: trigger, rules: fc.array(few('rule', 3), { maxLength: 2 }) }) },
  { weight: 1, arbitrary: few('trigger', 12).map((remove) => ({ remove })) },
)
const event: fc.Arbitrary<RuleEvent> = fc
  .tuple(
    fc.constantFrom(...types),
    few('app', 4),
    few('version', 6),
    few('endpoint', 8),
    few('key', 3),
    few('command', 2),
  )
  .map(([type, applicationName, versionName, endpointId, key, commandType]) => ({
    type,
    eventId: 'e',
    at: 0,
    endpoint: { applicationName, versionName, endpointId },
    payload:
      type === 'endpoint-metadata-updated'
        ? { added: { [key]: '1' }, updated: {}, removed: {} }
        : type === 'endpoint-command-dispatched'
          ? { commandId: 1, commandType }
          : { dataSamples: [] },
  }))

/** Returns whether an event matches a trigger, by the definition of the trigger only. */
function matches(one: TriggerDefinition, tenant: string, { type, endpoint, payload }: RuleEvent): boolean {
  const { applicationName, versionName, endpointId } = endpoint!
  const isSelected =
    one.appName === applicationName || one.appVersionName === versionName || one.endpointIds?.includes(endpointId)
  const { metadataKeys, commandType } = one.fields as { metadataKeys?: string[]; commandType?: string }
  const { added = {}, commandType: sent } = payload as { added?: object; commandType?: string }
  return (
    one.tenantId === tenant &&
    one.type === type &&
    isSelected === true &&
    (metadataKeys?.some((key) => key in added) ?? true) &&
    (commandType === undefined || commandType === sent)
  )
}

test('after any changes, the index finds the same triggers for an event as a scan of all triggers', () => {
  fc.assert(
    fc.property(
      fc.array(change, { maxLength: 60 }),
      fc.array(fc.tuple(tenantId, event), { maxLength: 30 }),
      (changes, events) => {
        const index = createTriggerIndex()
        const plain = new Map<string, { trigger: TriggerDefinition; rules: string[] }>()
        for (const one of changes)
          if ('remove' in one) {
            index.remove(one.remove)
            plain.delete(one.remove)
          } else {
            index.put(one.put, one.rules)
            if (one.rules.length > 0) plain.set(one.put.id, { trigger: one.put, rules: one.rules })
            else plain.delete(one.put.id)
          }
        assert.equal(index.size, plain.size)
        for (const [tenant, one] of events) {
          const expected = [...plain.values()].filter(({ trigger }) => matches(trigger, tenant, one))
          const found = index.match(tenant, one)
          assert.deepEqual(
            found.map(({ trigger, ruleIds }) => [trigger.id, ruleIds]).sort(),
            expected.map(({ trigger, rules }) => [trigger.id, rules]).sort(),
          )
          // `wants` must return true for a matching event, even if the publisher does not know the version or the application.
          const { versionName: _, ...withoutVersion } = one.endpoint!
          for (const origin of [one.endpoint!, withoutVersion, {}])
            if (found.length > 0) assert.ok(index.wants(one.type, { tenantId: tenant, ...origin }))
        }
      },
    ),
  )
})

test('`wants` returns true only for events of types for which the index has a trigger', () => {
  const index = createTriggerIndex()
  const endpoint = { tenantId: 't', applicationName: 'a', versionName: 'v', endpointId: 'e' }
  index.put({ id: 'x', tenantId: 't', type: 'cron', name: 'x', appName: 'a', fields: {} }, ['r'])
  assert.equal(index.wants('endpoint-data-samples-received', endpoint), false)
  assert.equal(index.wants('cron', endpoint), true)
  index.remove('x')
  assert.equal(index.wants('cron', endpoint), false)
})

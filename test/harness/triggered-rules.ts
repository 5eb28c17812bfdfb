/** Fixture for tests of the rule engine: creates rules with triggers, and reads the values that their runs returned. */
import assert from 'node:assert/strict'
import { eventually } from './eventually.ts'
import { openRules, rulesRoot } from './rules.ts'
import type { TestPlatformOptions } from './test-platform.ts'

interface TraceOfRun {
  id: string
  traceId: string
  outcome: string
  stage?: string
  reason?: string
  raisedOnEntityType: string
  raisedOnEntityId: string
  // biome-ignore lint/suspicious/noExplicitAny: tests read metadata of every shape
  metadata: any
}

export async function openTriggeredRules(options: Partial<TestPlatformOptions> = {}) {
  const at = await openRules(options)
  const { expectStatus, get, aRule, aTrigger } = at

  const linkTrigger = (ruleId: string, type: string, ids: string[]) =>
    expectStatus(204, `PUT ${rulesRoot}/rules/${ruleId}/trigger-types/${type}/triggers`, ids)
  const linkAction = (ruleId: string, type: string, positiveActionIds: string[]) => {
    const body = { positiveActionIds, negativeActionIds: [] }
    return expectStatus(204, `PUT ${rulesRoot}/rules/${ruleId}/action-types/${type}/actions`, body)
  }
  return {
    ...at,
    linkTrigger,
    linkAction,
    /**
     * Creates a rule with a trigger. Returns both ids, and a function that waits for the traces of the rule and returns them, the oldest
     * first.
     */
    async aTriggeredRule(type: string, trigger: object, expression: string) {
      const ruleId = await aRule({ expression })
      const triggerId = await aTrigger(type, trigger)
      await linkTrigger(ruleId, type, [triggerId])
      const traces = (count: number): Promise<TraceOfRun[]> =>
        eventually(async () => {
          const { content } = await get(`/traces?entityId=${ruleId}&size=1000`)
          assert.equal(content.length, count)
          return content.reverse()
        })
      return { ruleId, triggerId, traces }
    },
    /** Connects the device of an endpoint and sends samples. Returns a function that sends further samples. */
    async send(endpoint: { version: string; token: string }, samples: unknown) {
      const sensor = await at.device()
      const publish = (one: unknown) => sensor.publish(`kp1/${endpoint.version}/dcx/${endpoint.token}/json`, one)
      await publish(samples)
      return { publish, end: () => sensor.end() }
    },
  }
}

export const returned = (traces: TraceOfRun[]) =>
  traces.map(({ metadata }) => metadata.returnedValue && JSON.parse(metadata.returnedValue))

/** Creates a rule with an object of each kind that can belong to it, for the tests of isolation. */
import assert from 'node:assert/strict'
import { actionTypes, triggerTypes } from '../../src/services/rules/model.ts'
import type { Ask } from '../harness/client.ts'
import { eventually } from '../harness/eventually.ts'
import { sampleActions } from '../harness/sample-actions.ts'

/** Creates an object and returns its id. */
type Create = (ask: Ask, operation: string, body: unknown) => Promise<string>

const root = '/re/api/v1'

/** Returns the values of path parameters. Ids of actions and triggers are under names such as `actionId webhook`. */
export async function createRulesOf(
  ask: Ask,
  create: Create,
  { marker, endpointId, app }: { marker: string; endpointId: string; app: string },
): Promise<Record<string, string>> {
  const make = (path: string, fields: object) => create(ask, `POST ${root}${path}`, { name: marker, ...fields })
  const must = async (operation: string, body?: unknown) => {
    const answer = await ask(operation, body)
    assert.ok(answer.status < 300, `${operation}: ${answer.status} ${answer.text}`)
    return answer.body
  }
  const ruleId = await make('/rules', { expression: `return '${marker}'` })
  const ids: Record<string, string> = { ruleId, version: '1', actionType: 'webhook', triggerType: 'cron' }
  for (const type of actionTypes) {
    const fields = type === 'rule-execution' ? { ruleId } : sampleActions[type]!
    ids[`actionId ${type}`] = await make(`/action-types/${type}/actions`, { ...fields, description: marker })
  }
  for (const type of triggerTypes) {
    const fields = type === 'cron' ? { cronExpression: '0 0 1 1 *' } : { appName: app }
    ids[`triggerId ${type}`] = await make(`/trigger-types/${type}/triggers`, fields)
  }
  // The trigger type `endpoint-data-sample-updated` is an alias of `endpoint-data-samples-received`.
  ids['triggerId endpoint-data-sample-updated'] = ids['triggerId endpoint-data-samples-received']!
  const rule = `${root}/rules/${ruleId}`
  await must(`PUT ${rule}/trigger-types/cron/triggers`, [ids['triggerId cron']])
  const activation = { positiveActionIds: [ids['actionId alert-activation']] }
  await must(`PUT ${rule}/action-types/alert-activation/actions`, activation)
  await must(`POST ${rule}/execute`, { endpointId })
  const { content } = await must(`GET ${root}/alerts?entityIds=${endpointId}`)
  ids.alertId = content[0].id
  // Statistics are updated within 5 seconds. Afterwards no data of the owner changes by itself.
  await eventually(
    async () => {
      for (const path of [rule, `${root}/action-types/alert-activation/actions/${ids['actionId alert-activation']}`])
        assert.equal((await must(`GET ${path}`)).statistics.count, 1)
    },
    { withinMs: 15_000 },
  )
  ids.alertSettingId = await make('/alert-settings', {
    alertType: marker,
    severityLevel: 'HIGH',
    appName: app,
    activationExpression: 'return null',
  })
  ids.snippetId = await make('/snippets', { code: marker })
  ids.secretId = await make('/secrets', { value: marker })
  const now = new Date().toISOString()
  ids.replayId = (await must(`POST ${rule}/replays`, { from: '2026-01-01T00:00:00Z', to: now })).replayId
  // Only a fault of the platform creates dead letters, so this id is invented. The response is the same as for a dead letter of another
  // tenant.
  ids.deadLetterId = crypto.randomUUID()
  return ids
}

/** Paths by which the owner reads all its data of the rules service. Calls of other tenants must not change this data. */
export const rulesUrls = [
  ...['rules', 'alert-settings', 'snippets', 'secrets', 'alerts'].map((path) => `${root}/${path}`),
  ...actionTypes.map((type) => `${root}/action-types/${type}/actions`),
  ...triggerTypes.map((type) => `${root}/trigger-types/${type}/triggers`),
]

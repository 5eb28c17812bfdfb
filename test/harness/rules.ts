/** Fixture of the rules tests: the service and the services that it needs, with open MQTT and HTTP listeners. */
import assert from 'node:assert/strict'
import commands from '../../src/services/commands/index.ts'
import configuration from '../../src/services/configuration/index.ts'
import rules from '../../src/services/rules/index.ts'
import tenants from '../../src/services/tenants/index.ts'
import timeSeries from '../../src/services/time-series/index.ts'
import { openGateway, services } from './gateway.ts'
import { sampleActions } from './sample-actions.ts'
import type { Ask, TestPlatformOptions } from './test-platform.ts'

export const rulesServices = [...services, tenants, timeSeries, commands, configuration, rules]
export const rulesRoot = '/re/api/v1'

export async function openRules(options: Partial<TestPlatformOptions> = {}) {
  const fixture = await openGateway({ services: rulesServices, ...options })

  const expectStatus = async (status: number, operation: string, body?: unknown, ask: Ask = fixture.admin) => {
    const answer = await ask(operation, body)
    assert.equal(answer.status, status, `${operation}: ${answer.text}`)
    return answer
  }
  /** Creates an object below the root, and returns its id. */
  async function make(path: string, body: unknown, ask: Ask = fixture.admin): Promise<string> {
    const { headers } = await expectStatus(201, `POST ${rulesRoot}${path}`, body, ask)
    return String(headers.location).split('/').at(-1)!
  }
  let count = 0
  return {
    ...fixture,
    expectStatus,
    make,
    get: async (path: string, ask: Ask = fixture.admin) =>
      (await expectStatus(200, `GET ${rulesRoot}${path}`, undefined, ask)).body,
    aRule: (fields: object = {}, ask: Ask = fixture.admin) =>
      make('/rules', { name: `rule ${++count}`, expression: 'return true', ...fields }, ask),
    anAction: (type: string, fields: object = {}, ask: Ask = fixture.admin) =>
      make(`/action-types/${type}/actions`, { name: `action ${++count}`, ...sampleActions[type], ...fields }, ask),
    aTrigger: (type: string, fields: object, ask: Ask = fixture.admin) =>
      make(`/trigger-types/${type}/triggers`, { name: `trigger ${++count}`, ...fields }, ask),
  }
}

/** Fixture for tests of alerts: activates and resolves alerts as the executors of actions do. */

import { Register } from '../../src/services/register/contract.ts'
import { createAlertChanges } from '../../src/services/rules/alerts/service/changes.ts'
import { AlertChanged } from '../../src/services/rules/events.ts'
import { openRules, rulesRoot } from './rules.ts'
import type { TestPlatformOptions } from './test-platform.ts'

export interface AlertEndpoint {
  endpointId: string
  applicationName: string
}

type Activation = Extract<Parameters<ReturnType<typeof createAlertChanges>>[0], { activation: unknown }>['activation']
type AlertEvent = Parameters<(typeof AlertChanged)['key']>[0]

export async function openAlerts(options: Partial<TestPlatformOptions> = {}) {
  const fixture = await openRules(options)
  const { waypost, admin, expectStatus, anApplication } = fixture
  const published: AlertEvent[] = []
  waypost.kit.bus.subscribe(AlertChanged, (event) => published.push(event))
  const change = createAlertChanges({ kit: waypost.kit, register: waypost.ask(Register) })
  const entityOf = (endpoint: AlertEndpoint | undefined) =>
    endpoint
      ? { entityType: 'ENDPOINT' as const, entityId: endpoint.endpointId, applicationName: endpoint.applicationName }
      : { entityType: 'TENANT' as const, entityId: 'default' }
  const common = { tenantId: 'default', alertType: 'HIGH_TEMPERATURE', cause: 'trace/2' }
  return {
    ...fixture,
    root: rulesRoot,
    published,
    async anEndpoint(metadata: Record<string, unknown> = {}): Promise<AlertEndpoint> {
      const { app, version } = await anApplication()
      const { body } = await expectStatus(201, 'POST /epr/api/v1/endpoints', {
        appVersion: { name: version },
        metadata,
      })
      return { endpointId: body.endpointId, applicationName: app }
    },
    activate: async (endpoint: AlertEndpoint | undefined, fields: Partial<Activation> = {}) =>
      (await change({ activation: { severityLevel: 'MEDIUM', ...common, ...entityOf(endpoint), ...fields } }))!,
    resolveOpen: async (endpoint: AlertEndpoint | undefined, fields: { alertType?: string; reason?: string } = {}) =>
      (await change({ resolution: { ...common, ...entityOf(endpoint), ...fields } }))?.alertId,
    list: async (query: string) => (await admin(`GET ${rulesRoot}/alerts?${query}`)).body,
  }
}

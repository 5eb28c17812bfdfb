/** Limits of the alerts of a tenant: their number, their metadata, and the keys of their metadata. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openAlerts } from '../../../../test/harness/alerts.ts'
import { createDailyQuota } from '../../../kernel/daily-quota.ts'
import { createMetrics } from '../../../kernel/metrics.ts'
import { createTenantLimits } from '../../../kernel/tenant-limits.ts'
import { Register } from '../../register/contract.ts'
import { AlertRefused } from '../errors.ts'
import { createAlertLimits } from './service/alert-limits.ts'
import { createAlertChanges } from './service/changes.ts'

const { waypost, admin, activate, resolveOpen, anEndpoint, root } = await openAlerts()
const { kit } = waypost

function someLimits(alertsPerTenant: number) {
  const clock = { at: new Date('2026-05-04T10:00:00Z') }
  const limits = createAlertLimits({ db: kit.db, now: () => clock.at, settings: { alertsPerTenant } })
  return { limits, clock }
}
const activation = (alertType: string, metadata?: Record<string, unknown>) => ({
  tenantId: 'default',
  entityType: 'TENANT' as const,
  entityId: 'default',
  alertType,
  severityLevel: 'LOW' as const,
  metadata,
  cause: 'trace/2',
})
const isRefused = (pattern: RegExp) => (error: unknown) =>
  AlertRefused.is(error) && pattern.test((error as Error).message)

test('a tenant has a limited number of alerts; open alerts are still renewed, and a deletion makes room', async () => {
  const { alertId } = await activate(undefined, { alertType: 'R1' })
  const [{ n }] = (await kit.db.sql`select count(*)::int as n from rules.alerts`) as unknown as [{ n: number }]
  const { limits, clock } = someLimits(n + 1)
  await limits.check(activation('R2'))
  limits.countOpened(activation('R2'), { alertId: 'x', change: 'ACTIVATED' })
  await assert.rejects(limits.check(activation('R3')), isRefused(/has \d+ alerts, the maximum; delete alerts/))
  await limits.check(activation('R1'))
  await resolveOpen(undefined, { alertType: 'R1' })
  assert.equal((await admin(`DELETE ${root}/alerts/${alertId}`)).status, 204)
  clock.at = new Date(clock.at.getTime() + 11_000)
  await limits.check(activation('R3'))
})

test('the metadata of an alert has limits, and all alerts of a tenant have a limited number of different keys', async () => {
  const { limits } = someLimits(1_000_000)
  const keys = (count: number, prefix: string) =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`${prefix}${index}`, 1]))
  await assert.rejects(limits.check(activation('K', keys(501, 'a'))), isRefused(/at most 500 keys/))
  await assert.rejects(limits.check(activation('K', { ['k'.repeat(129)]: 1 })), isRefused(/at most 128 characters/))
  await assert.rejects(limits.check(activation('K', { k: 'x'.repeat(65_536) })), isRefused(/at most 65536 bytes/))
  for (let n = 0; n < 20; n++) await limits.check(activation('K', keys(500, `k${n}_`)))
  await assert.rejects(limits.check(activation('K', { another: 1 })), isRefused(/more than 10000 different keys/))
  await limits.check(activation('K', { k0_0: 2 }))
})

test('above the quota of bytes, the history of an alert leaves out updates, but alerts still open and resolve', async () => {
  const endpoint = await anEndpoint()
  const limits = createTenantLimits({ bytesPerDay: 1, requestsPerSecond: 0 }, kit.log)
  const quota = createDailyQuota({ ...kit, limits, metrics: createMetrics() })
  quota.count('default', 'documents', 1)
  const change = createAlertChanges({ kit: { ...kit, quota }, register: waypost.ask(Register) })
  const key = {
    ...activation('Q'),
    entityType: 'ENDPOINT' as const,
    entityId: endpoint.endpointId,
    applicationName: endpoint.applicationName,
  }
  const { alertId } = (await change({ activation: key }))!
  for (const message of ['a', 'b', 'c'])
    assert.equal((await change({ activation: { ...key, message } }))?.change, 'UPDATED')
  await change({ resolution: key })
  const { body } = await admin(`GET ${root}/alerts/${alertId}/lifecycle-events?sortOrder=asc`)
  assert.deepEqual(
    body.content.map(({ eventType }: { eventType: string }) => eventType),
    ['ACTIVATED', 'RESOLVED'],
  )
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aCaller, aTenantAdmin } from '../../../../test/harness/builders.ts'
import { openTimeSeries } from '../../../../test/harness/time-series.ts'
import { dayMs, dayOf } from '../pack/chunk-builder.ts'

const { admin, collect, configure, unregisteredEndpoint, waypost, pack, points } = await openTimeSeries()
const today = dayOf(Date.now()) * dayMs
const pathOf = (applicationName: string) => `/epts/api/v1/applications/${applicationName}/time-series/retention-preview`
const scope = 'application:timeseries-config:read'

test('a preview of the configured retention, or of a proposed retention, deletes nothing', async () => {
  const endpoint = await unregisteredEndpoint()
  const path = pathOf(endpoint.applicationName)
  await collect(endpoint, [
    { timestamp: today, a: 1 },
    { timestamp: today - 20 * dayMs, a: 2 },
    { timestamp: today - 40 * dayMs, a: 3, b: 3 },
  ])
  await pack()
  await collect(endpoint, [{ timestamp: today - 50 * dayMs, b: 4 }])
  assert.deepEqual((await admin(`GET ${path}`)).body, { points: 0, bytes: 0, series: [], problems: [] })
  const proposed = await admin(`POST ${path}`, { days: 30, series: { 'auto~a': 10 } })
  assert.equal(proposed.status, 200, proposed.text)
  const value = { valueName: 'value' }
  assert.deepEqual(
    proposed.body.series.map(({ bytes, ...rest }: { bytes: number }) => rest),
    [
      {
        name: 'auto~a',
        ...value,
        days: 10,
        before: new Date(today - 10 * dayMs).toISOString(),
        points: 2,
        unpacked: 0,
      },
      {
        name: 'auto~b',
        ...value,
        days: 30,
        before: new Date(today - 30 * dayMs).toISOString(),
        points: 2,
        unpacked: 1,
      },
    ],
  )
  assert.equal(proposed.body.points, 4)
  assert.ok(proposed.body.bytes > 0)
  await configure(endpoint.applicationName, { retention: { days: 45 } })
  assert.equal((await admin(`GET ${path}`)).body.points, 1)
  assert.equal((await admin(`POST ${path}`, {})).body.points, 0)
  assert.equal((await points(endpoint.endpointId))['auto~a/value']!.length, 3)
})

test('a preview requires permission to read the configuration', async () => {
  const { applicationName } = await unregisteredEndpoint()
  const statuses = async (on: Record<string, string[]>, tenantId = 'default') => {
    const as = waypost.as(aCaller({ tenantId, on }))
    return [
      (await as(`GET ${pathOf(applicationName)}`)).status,
      (await as(`POST ${pathOf(applicationName)}`, {})).status,
    ]
  }
  assert.deepEqual(await statuses({ [`application-${applicationName}`]: [scope] }), [200, 200])
  assert.deepEqual(await statuses({ [`application-${applicationName}`]: ['application:read'] }), [403, 403])
  assert.deepEqual(await statuses({}), [404, 404])
  assert.deepEqual(await statuses({ 'tenant-system': ['*'] }, 'other'), [404, 404])
  assert.equal((await waypost.as(aTenantAdmin())(`GET ${pathOf('none')}`)).status, 404)
})

test('an invalid retention is rejected with the path of the error, in a preview and in the configuration', async () => {
  const { applicationName, versionName } = await unregisteredEndpoint()
  const invalidRequests: [object, RegExp][] = [
    [{ days: 0 }, /days: /],
    [{ days: 1.5 }, /days: (expected an|must be) integer/],
    [{ days: '30' }, /days: (expected an|must be) integer/],
    [{ days: 40_000 }, /days: /],
    [{ day: 30 }, /day: /],
    [{ series: { 'auto~a': null } }, /series\.auto~a: (expected an|must be) integer/],
    [{ series: [] }, /series: (expected an|must be) object/],
  ]
  for (const [retention, problem] of invalidRequests) {
    const proposed = await admin(`POST ${pathOf(applicationName)}`, retention)
    assert.equal(proposed.status, 400, JSON.stringify(retention))
    assert.match(proposed.body.message, problem)
    const envelope = { epts: { platform: { applications: { [applicationName]: { retention } } } } }
    const configured = await admin(`PUT /api/v1/app-configs/applications/${applicationName}`, envelope)
    assert.equal(configured.status, 400, JSON.stringify(retention))
    assert.match(configured.body.message, problem)
  }
  const ofVersion = { versions: { [versionName]: { retention: { days: 30 } } } }
  const path = `/api/v1/app-configs/applications/${applicationName}/app-versions/${versionName}`
  const answer = await admin(`PUT ${path}`, { epts: { platform: { applications: { [applicationName]: ofVersion } } } })
  assert.equal(answer.status, 400)
  assert.match(answer.body.message, /retention/)
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aCaller, aTenantAdmin } from '../../../../test/harness/builders.ts'
import { openTimeSeries } from '../../../../test/harness/time-series.ts'

const { admin, collect, unregisteredEndpoint, waypost } = await openTimeSeries()
const url = '/epts/api/v1/time-series/config'
const scope = 'application:timeseries-config:read'

test('the list of series has series of the application, series of its versions, and series that are extracted automatically', async () => {
  const endpoint = await unregisteredEndpoint({
    'time-series': {
      names: {
        place: {
          values: [
            { path: 'lat', name: 'lat' },
            { path: 'lon', name: 'lon' },
          ],
        },
      },
    },
  })
  const { applicationName: app, versionName } = endpoint
  const ofVersion = { 'time-series': { names: { fuel: { values: [{ path: 'fuel' }] } } } }
  const path = `/api/v1/app-configs/applications/${app}/app-versions/${versionName}`
  const envelope = { epts: { platform: { applications: { [app]: { versions: { [versionName]: ofVersion } } } } } }
  const put = await admin(`PUT ${path}`, envelope)
  assert.ok(put.status < 300, put.text)
  await collect(endpoint, [{ temperature: 21, name: 'x' }])
  const { status, body } = await admin(`GET ${url}?applicationNames=${app}`)
  assert.equal(status, 200)
  assert.deepEqual(body, {
    [app]: [
      { name: 'auto~temperature', values: ['value'] },
      { name: 'fuel', values: ['value'] },
      { name: 'place', values: ['lat', 'lon'] },
    ],
  })
})

test('the list of series has all applications or the applications that the request names, and leaves out unknown applications', async () => {
  const [a, b] = [(await unregisteredEndpoint()).applicationName, (await unregisteredEndpoint()).applicationName]
  const all = (await admin(`GET ${url}`)).body
  assert.deepEqual([all[a], all[b]], [[], []])
  for (const query of [`applicationNames=${a},${b}`, `applicationNames=${a}&applicationNames=${b},no-such`])
    assert.deepEqual((await admin(`GET ${url}?${query}`)).body, { [a]: [], [b]: [] })
})

test('the list of series has only applications whose configuration the caller may read', async () => {
  const [a, b] = [(await unregisteredEndpoint()).applicationName, (await unregisteredEndpoint()).applicationName]
  const limited = waypost.as(aCaller({ on: { [`application-${a}`]: [scope] } }))
  assert.deepEqual((await limited(`GET ${url}`)).body, { [a]: [] })
  assert.deepEqual((await limited(`GET ${url}?applicationNames=${b}`)).body, {})
  assert.deepEqual((await waypost.as(aTenantAdmin('other'))(`GET ${url}?applicationNames=${a}`)).body, {})
  assert.deepEqual((await waypost.as(aCaller())(`GET ${url}`)).body, {})
})

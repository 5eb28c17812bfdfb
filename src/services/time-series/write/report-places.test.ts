import assert from 'node:assert/strict'
import { test } from 'node:test'
import { messageOf, openTimeSeries } from '../../../../test/harness/time-series.ts'

const { waypost, admin, api, unregisteredEndpoint, registerEndpoint } = await openTimeSeries()
const anEndpoint = async () => await registerEndpoint(await unregisteredEndpoint())
const register = waypost.built.get('register')!
const updateTask = register.periodic!.find(({ name }) => name === 'register.update-directory')!

async function places(applicationName: string) {
  await register.stop!()
  await updateTask.run(waypost.kit.db.sql as never)
  const answer = await admin(
    `GET /epr/api/v1/directory/places?south=-90&west=-180&north=90&east=180&applicationName=${applicationName}`,
  )
  assert.equal(answer.status, 200, answer.text)
  return answer.body.content.map(({ latitude, longitude }: { latitude: number; longitude: number }) => [
    latitude,
    longitude,
  ])
}

test('the place of an endpoint is the newest point of the configured series', async () => {
  const endpoint = await anEndpoint()
  const { applicationName: app } = endpoint
  const configured = await admin(`PUT /api/v1/app-configs/applications/${app}`, {
    epr: {
      platform: { applications: { [app]: { directory: { 'place-time-series': { name: 'gps', longitude: 'lng' } } } } },
    },
    epts: {
      platform: {
        applications: {
          [app]: {
            'time-series': {
              names: {
                gps: {
                  values: [
                    { path: 'lat', name: 'latitude' },
                    { path: 'lon', name: 'lng' },
                  ],
                },
                other: { values: [{ path: 't' }] },
              },
            },
          },
        },
      },
    },
  })
  assert.ok(configured.status < 300, configured.text)
  const send = (...samples: object[]) => api.collect(messageOf(endpoint), samples)
  await send({ t: 1 })
  assert.deepEqual(await places(app), [])
  await send(
    { timestamp: 2000, lat: 1, lon: 2 },
    { timestamp: 3000, lat: 50.5, lon: 30.25 },
    { timestamp: 1000, lat: 7, lon: 7 },
  )
  assert.deepEqual(await places(app), [[50.5, 30.25]])
  await send({ timestamp: 2500, lat: 9, lon: 9 })
  assert.deepEqual(await places(app), [[50.5, 30.25]], 'an older point must not move the endpoint')
  await send({ timestamp: 4000, lat: 95, lon: 9 }, { timestamp: 5000, lat: 'x', lon: 9 })
  assert.deepEqual(await places(app), [[50.5, 30.25]], 'invalid coordinates must not move the endpoint')
  await send({ timestamp: 6000, lat: -33.9, lon: 18.4 })
  assert.deepEqual(await places(app), [[-33.9, 18.4]])
})

test('without a configured series, coordinates in samples do not give an endpoint a place', async () => {
  const endpoint = await anEndpoint()
  await api.collect(messageOf(endpoint), [{ latitude: 1, longitude: 2 }])
  assert.deepEqual(await places(endpoint.applicationName), [])
})

/**
 * Creates the data for pictures of the console: meters in several cities, with locations, points, connections, alerts, refusals, assets
 * and a job.
 */
import assert from 'node:assert/strict'
import type { TestConsole } from './console.ts'
import { aDevice } from './device.ts'
import { eventually } from './eventually.ts'

const places: [name: string, lat: number, lon: number][] = [
  ['Vienna, Ringturm', 48.2162, 16.3729],
  ['Graz, Hauptplatz', 47.0707, 15.4382],
  ['Linz, Donaupark', 48.3102, 14.2926],
  ['Salzburg, Mirabell', 47.8061, 13.0419],
  ['Innsbruck, Hofgarten', 47.2713, 11.3968],
  ['Munich, Ostbahnhof', 48.1274, 11.6043],
  ['Nuremberg, Hafen', 49.4126, 11.0617],
  ['Prague, Karlin', 50.0929, 14.4521],
  ['Brno, Stred', 49.1951, 16.6068],
  ['Zurich, Oerlikon', 47.4091, 8.5448],
  ['Milan, Lambrate', 45.4848, 9.2366],
  ['Trieste, Porto', 45.6503, 13.7687],
  ['Ljubljana, Center', 46.0511, 14.5051],
  ['Budapest, Kelenfold', 47.4643, 19.0206],
  ['Berlin, Adlershof', 52.4346, 13.5411],
  ['Hamburg, Altona', 53.5515, 9.9352],
]

/** Returns a point for every five minutes of the last day. */
const dayOf = (phase: number) =>
  Array.from({ length: 288 }, (_, at) => ({
    timestamp: new Date(Date.now() - (288 - at) * 300_000).toISOString(),
    values: { value: Math.round(1400 + 500 * Math.sin(at / 34 + phase) + 60 * Math.sin(at / 3 + phase)) },
  }))

export async function makeFleet({ api, platform }: TestConsole) {
  const call = async (operation: string, body?: unknown) => {
    const answer = await api(operation, body)
    assert.ok(answer.status < 300, `${operation}: ${answer.text}`)
    return answer
  }
  const ids = places.map((_, at) => `meter-${String(at + 10)}`)
  const tokens = new Map<string, string>()
  for (const [at, [name, lat, lon]] of places.entries()) {
    const metadata = { name, serial: `W-20${41 + at}`, firmware: at % 3 ? '1.4.0' : '1.3.2', location: { lat, lon } }
    const { body } = await call('POST /epr/api/v1/endpoints', {
      ...{ endpointId: ids[at], appVersion: { name: 'meters-v1' }, metadata },
    })
    tokens.set(ids[at]!, body.token)
  }
  await call('PUT /epts/api/v1/app-versions/meters-v1/time-series/data', {
    ...Object.fromEntries(ids.slice(0, 6).map((id, at) => [id, { 'auto~power': dayOf(at / 2) }])),
  })
  const topic = (id: string) => `kp1/meters-v1/dcx/${tokens.get(id)}/json/1`
  for (const id of ids.slice(0, 11)) {
    const device = await aDevice(platform.mqttUrl)
    await device.publish(topic(id), { power: id === ids[4] ? 3200 : 1400 + 10 * ids.indexOf(id) }, { qos: 1 })
  }
  const address = `${platform.baseUrl}/kp1/meters-v1/dcx/${tokens.get(ids[12]!)}/json`
  await fetch(address, { method: 'POST', body: '{"power":' })
  await call('POST /epr/api/v1/applications/meters/filters', {
    name: 'Old firmware',
    description: 'Meters without firmware 1.4.0',
    documentQuery: { 'metadata.firmware': '1.3.2' },
  })
  const definitionJsonSchema = JSON.stringify({
    type: 'object',
    required: ['name'],
    properties: { name: { type: 'string', title: 'Name' }, floors: { type: 'integer', title: 'Floors' } },
  })
  const type = (await call('POST /am/api/v1/asset-types', { displayName: 'Building', definitionJsonSchema })).body
  for (const [name, floors] of [
    ['Ringturm', 23],
    ['Donaupark hall', 2],
    ['Adlershof laboratory', 4],
  ] as const)
    await call('POST /am/api/v1/assets', { assetTypeId: type.id, definition: JSON.stringify({ name, floors }) })
  await eventually(async () => {
    const { body } = await api('GET /re/api/v1/alerts')
    assert.ok(body.content.length > 0)
  })
}

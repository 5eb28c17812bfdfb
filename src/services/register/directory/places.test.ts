import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { aCaller, aTenantAdmin } from '../../../../test/harness/builders.ts'
import { openRegister, query, root } from '../../../../test/harness/register.ts'
import { seededRandom } from '../../../../test/harness/seeded-random.ts'
import { Register } from '../contract.ts'

const { waypost, admin, anApplication, anEndpoint } = await openRegister()
const other = waypost.as(aTenantAdmin('other'))
const updateTask = waypost.built.get('register')!.periodic!.find(({ name }) => name === 'register.update-directory')!
const update = () => updateTask.run(waypost.kit.db.sql as never)

const world = { south: -90, west: -180, north: 90, east: 180 }
interface Cluster {
  latitude: number
  longitude: number
  count: number
  endpointId?: string
  name?: string
}
async function places(parameters: Record<string, unknown> = world, ask = admin) {
  const answer = await ask(`GET ${root}/directory/places${query(parameters)}`)
  assert.equal(answer.status, 200, answer.text)
  const { count, content } = answer.body as { count: number; content: Cluster[] }
  assert.equal(
    content.reduce((sum, cluster) => sum + cluster.count, 0),
    count,
  )
  return { count, content, ids: content.flatMap(({ endpointId }) => endpointId ?? []).sort() }
}

const { app, version } = await anApplication()
const selection = { applicationName: app }
const metadata: Record<string, object> = {
  kyiv: { latitude: 50.45, longitude: 30.52, name: 'Kyiv' },
  lviv: { location: { lat: '49.84', lon: '24.03' } },
  odesa: { position: { lat: 46.48, lng: 30.72 } },
  suva: { location: { type: 'Point', coordinates: [178.44, -18.14] } },
  apia: { lat: -13.83, lon: -171.76 },
  taveuni: { lat: -16.8, lon: 180 },
  north: { lat: 90, lon: 10 },
  south: { lat: -90, lon: -170 },
  outside: { lat: 91, lon: 0 },
  far: { lat: 0, lon: 181 },
  half: { lat: 1 },
  text: { lat: '1e1', lon: '2' },
  nothing: {},
}
for (const [endpointId, values] of Object.entries(metadata)) await anEndpoint(version, { endpointId, metadata: values })
const foreign = await anApplication(other)
await anEndpoint(foreign.version, { endpointId: 'foreign', metadata: { lat: 50.4, lon: 30.5 } }, other)
await update()

suite('places of endpoints', () => {
  test('places are read from the usual metadata keys', async () => {
    const found = await places({ south: 45, west: 20, north: 52, east: 35, ...selection, limit: 2000 })
    assert.deepEqual(found.ids, ['kyiv', 'lviv', 'odesa'])
    const pacific = await places({ south: -20, west: 175, north: -10, east: -170, ...selection, limit: 2000 })
    assert.deepEqual(pacific.ids, ['apia', 'suva', 'taveuni'])
    assert.equal((await places({ ...world, ...selection })).count, 8)
    assert.deepEqual(
      found.content.find(({ endpointId }) => endpointId === 'kyiv'),
      { latitude: 50.45, longitude: 30.52, count: 1, endpointId: 'kyiv', name: 'Kyiv' },
    )
  })

  test('the number of clusters of places is at most the limit', async () => {
    for (const limit of [1, 2, 3, 7, 2000]) {
      const found = await places({ ...world, ...selection, limit })
      assert.ok(
        found.content.length <= limit,
        `at most ${limit} clusters are allowed, and there are ${found.content.length}`,
      )
      assert.equal(found.count, 8)
    }
  })

  test('a request returns the places inside its rectangle, even across the antimeridian and at the poles', async () => {
    const cases: [south: number, west: number, north: number, east: number, expected: string[]][] = [
      [45, 20, 52, 35, ['kyiv', 'lviv', 'odesa']],
      [50.44, 30.51, 50.46, 30.53, ['kyiv']],
      [50.45, 30.52, 50.45, 30.52, ['kyiv']],
      [50.4500005, 30.53, 50.46, 30.54, []],
      [-20, 175, -10, -170, ['apia', 'suva', 'taveuni']],
      [-20, 175, -10, 179, ['suva']],
      [-20, -180, -10, -170, ['apia', 'taveuni']],
      [-17, 180, -16, 180, []],
      [-17, -180, -16, -180, ['taveuni']],
      [-17, 180, -16, -180, ['taveuni']],
      [89, -180, 90, 180, ['north']],
      [90, -180, 90, 180, ['north']],
      [-90, -180, -89, 180, ['south']],
      [0, -10, 10, 10, []],
    ]
    for (const [south, west, north, east, expected] of cases)
      assert.deepEqual(
        (await places({ south, west, north, east, ...selection, limit: 2000 })).ids,
        expected,
        JSON.stringify([south, west, north, east]),
      )
  })

  test('for any rectangle and limit, the clusters contain all places inside the rectangle, and only a few places just outside of the rectangle', async () => {
    const { app, version } = await anApplication()
    const random = seededRandom(3)
    const points = Array.from({ length: 120 }, (_, n) => ({
      endpointId: `p-${n}`,
      metadata: { lat: 48 + random() * (n % 3 ? 0.01 : 4), lon: 24 + random() * (n % 3 ? 0.01 : 4) },
    }))
    for (const point of points) await anEndpoint(version, point)
    await update()
    for (let round = 0; round < 40; round++) {
      const size = 10 ** (-4 + random() * 6)
      const [south, west] = [47 + random() * 2, 23 + random() * 2]
      const rectangle = { south, west, north: Math.min(90, south + size), east: Math.min(180, west + size) }
      const limit = 1 + Math.floor(random() * 2000)
      const found = await places({ ...rectangle, applicationName: app, limit })
      const inside = points.filter(
        ({ metadata: { lat, lon } }) => lat >= south && lat <= rectangle.north && lon >= west && lon <= rectangle.east,
      )
      assert.ok(found.count >= inside.length, JSON.stringify(rectangle))
      assert.ok(found.content.length <= limit)
      // The result may contain places that are less than a cell outside of the rectangle.
      const cell = Math.max(size, 1e-5) * 4
      for (const { latitude, longitude } of found.content) {
        assert.ok(
          (latitude >= south - cell && latitude <= rectangle.north + cell) || limit < 50,
          JSON.stringify({ rectangle, latitude, limit }),
        )
        assert.ok(
          (longitude >= west - cell && longitude <= rectangle.east + cell) || limit < 50,
          JSON.stringify({ rectangle, longitude, limit }),
        )
      }
    }
  })

  test('places change with the metadata, and are deleted with their endpoint', async () => {
    const { app, version } = await anApplication()
    const selection = { applicationName: app, limit: 2000 }
    for (const endpointId of ['move-1', 'move-2'])
      await anEndpoint(version, { endpointId, metadata: { lat: 1, lon: 1 } })
    await update()
    assert.deepEqual((await places({ ...world, ...selection })).content, [{ latitude: 1, longitude: 1, count: 2 }])
    await admin(`PUT ${root}/endpoints/move-1/metadata/lat`, '-40')
    await update()
    assert.deepEqual((await places({ ...world, ...selection })).ids, ['move-1', 'move-2'])
    await admin(`PUT ${root}/endpoints/move-2/metadata/lat`, '"nowhere"')
    await admin(`DELETE ${root}/endpoints/move-1`)
    assert.deepEqual((await places({ ...world, ...selection })).ids, ['move-2'], 'a deleted endpoint must not be shown')
    await update()
    assert.equal((await places({ ...world, ...selection })).count, 0)
    const sql = waypost.kit.db.sql
    for (const table of ['places', 'place_cells'])
      assert.equal(
        (await sql`select from ${sql.unsafe(`register.${table}`)} where application_name = ${app}`).count,
        0,
        table,
      )
  })

  test('places are read from the configured keys', async () => {
    const { app, version } = await anApplication()
    const config = { directory: { place: { latitude: 'site.y', longitude: 'site.x' } } }
    const answer = await admin(`PUT /api/v1/app-configs/applications/${app}`, {
      epr: { platform: { applications: { [app]: config } } },
    })
    assert.ok(answer.status < 300, answer.text)
    await anEndpoint(version, { endpointId: 'configured', metadata: { site: { x: 3, y: 4 }, lat: 50, lon: 50 } })
    await update()
    const found = await places({ ...world, applicationName: app })
    assert.deepEqual(found.content, [{ latitude: 4, longitude: 3, count: 1, endpointId: 'configured' }])
    const invalid = await admin(`PUT /api/v1/app-configs/applications/${app}`, {
      epr: { platform: { applications: { [app]: { directory: { place: { latitude: 'a..b', longitude: 'x' } } } } } },
    })
    assert.equal(invalid.status, 400, invalid.text)
  })

  /** Creates an endpoint whose place is reported by a time series. */
  async function aReporter(endpointId: string) {
    const { app, version } = await anApplication()
    const config = { directory: { 'place-time-series': { name: 'gps' } } }
    const configured = await admin(`PUT /api/v1/app-configs/applications/${app}`, {
      epr: { platform: { applications: { [app]: config } } },
    })
    assert.ok(configured.status < 300, configured.text)
    await anEndpoint(version, { endpointId, metadata: {} })
    await update()
    const { sql } = waypost.kit.db
    return {
      /** Stores a report, and returns the number of queued endpoints and the place after the update. */
      async report(second: number, latitude: number) {
        const at = new Date(Date.UTC(2026, 0, 1, 0, 0, second))
        waypost.ask(Register).reportPlace({ endpointId, latitude, longitude: 5, at })
        await waypost.built.get('register')!.stop!()
        const queued = await sql`select from register.directory_queue where application_name = ${app}`
        await update()
        const { content } = await places({ ...world, applicationName: app })
        return [queued.length, content[0]!.latitude]
      },
      /** Returns the transactions that wrote and locked the row of the reported place. */
      async transactions() {
        const [row] =
          await sql`select xmin::text, xmax::text from register.reported_places where application_name = ${app}`
        return { ...row }
      },
    }
  }

  test('a late report does not replace a newer report of the same place, and a report of the same place enqueues no endpoint', async () => {
    const { report } = await aReporter('reporter')
    assert.deepEqual(await report(10, 1), [1, 1])
    assert.deepEqual(await report(30, 1), [0, 1])
    assert.deepEqual(await report(20, 2), [0, 1])
    assert.deepEqual(await report(100, 1), [0, 1])
    assert.deepEqual(await report(90, 2), [0, 1])
    assert.deepEqual(await report(110, 2), [1, 2])
    assert.deepEqual(await report(110, 3), [0, 2])
  })

  test('a report of the same place writes to its row only if it is at least a minute newer than the stored report', async () => {
    const { report, transactions } = await aReporter('stationary')
    await report(10, 1)
    const first = await transactions()
    for (const second of [15, 69]) assert.deepEqual(await report(second, 1), [0, 1])
    assert.deepEqual(await transactions(), first)
    assert.deepEqual(await report(70, 1), [0, 1])
    assert.notDeepEqual(await transactions(), first)
    assert.deepEqual(await report(71, 2), [1, 2])
  })

  test('an endpoint that is registered again does not keep the time of its last report', async () => {
    const before = await aReporter('registered-again')
    await before.report(100, 1)
    assert.equal((await admin(`DELETE ${root}/endpoints/registered-again`)).status, 204)
    const after = await aReporter('registered-again')
    assert.deepEqual(await after.report(50, 2), [1, 2])
  })

  test('only places of endpoints that the caller may read are shown', async () => {
    const read = ['endpoint:read']
    const single = waypost.as(
      aCaller({ on: { 'endpoint-kyiv': read, 'endpoint-foreign': read, 'endpoint-lviv': ['endpoint:update'] } }),
    )
    const whole = waypost.as(aCaller({ on: { [`application-${app}`]: read, 'endpoint-kyiv': read } }))
    const ukraine = { south: 45, west: 20, north: 52, east: 35, limit: 2000 }
    assert.deepEqual((await places(ukraine, single)).ids, ['kyiv'])
    assert.deepEqual((await places({ ...ukraine, south: 50.44, north: 50.46, west: 30.5, east: 30.6 }, single)).ids, [
      'kyiv',
    ])
    assert.deepEqual((await places({ ...ukraine, applicationName: 'x' }, single)).ids, [])
    assert.deepEqual((await places({ ...ukraine, ...selection }, whole)).ids, ['kyiv', 'lviv', 'odesa'])
    assert.deepEqual((await places({ ...world, limit: 2000 }, other)).ids, ['foreign'])
    assert.equal((await admin(`GET ${root}/directory/places${query({ ...world, tenantId: 'other' })}`)).status, 403)
  })

  test('an invalid rectangle is rejected', async () => {
    const cases: Record<string, unknown>[] = [
      {},
      { ...world, north: 91 },
      { ...world, south: -91 },
      { ...world, west: -181 },
      { ...world, east: 181 },
      { ...world, south: 10, north: 5 },
      { ...world, east: 'NaN' },
      { ...world, east: 'x' },
      { ...world, east: '' },
      { ...world, limit: 0 },
      { ...world, limit: 2001 },
    ]
    for (const parameters of cases) {
      const answer = await admin(`GET ${root}/directory/places${query(parameters)}`)
      assert.equal(answer.status, 400, JSON.stringify(parameters))
    }
  })
})

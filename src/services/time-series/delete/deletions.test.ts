import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { eventually } from '../../../../test/harness/eventually.ts'
import { openTimeSeries } from '../../../../test/harness/time-series.ts'
import { TenantDeleted } from '../../tenants/events.ts'

let clockAheadMs = 0
const series = await openTimeSeries({ now: () => new Date(Date.now() + clockAheadMs) })
const { waypost, service, unregisteredEndpoint, registerEndpoint, unregister, collect, points, pack, sql, admin } =
  series

const countsOf = async (endpointNo: number) => {
  const [row] = await sql`
    select (select count(*)::int from time_series.chunks where endpoint_no = ${endpointNo}) as chunks,
      (select count(*)::int from time_series.latest where endpoint_no = ${endpointNo}) as latest`
  return { ...row }
}

/** Advances the clock past the time for which other nodes may use the number of a deleted endpoint, then deletes its data. */
async function sweep() {
  clockAheadMs += 60_000
  await service.packer.round()
}

suite('deletion', () => {
  test('deletion of an endpoint hides its points immediately and deletes them later', async () => {
    const endpoint = await registerEndpoint(await unregisteredEndpoint())
    await collect(endpoint, [{ timestamp: 1, a: 1 }])
    await pack()
    await collect(endpoint, [{ timestamp: 2, a: 2 }])
    await service.latest.flush(true)
    const endpointNo = await service.numbers.endpointNo(endpoint)
    assert.deepEqual(await countsOf(endpointNo), { chunks: 1, latest: 1 })
    await unregister(endpoint)
    await waypost.kit.bus.settled()
    assert.deepEqual(await points(endpoint.endpointId), {})
    await pack()
    await sweep()
    assert.deepEqual(await countsOf(endpointNo), { chunks: 0, latest: 0 })
    assert.equal((await sql`select from time_series.gone_endpoints`).length, 0)
  })

  test('deletion of an endpoint keeps the samples that the endpoint sent after its new registration', async () => {
    const application = await unregisteredEndpoint()
    const old = await registerEndpoint(application)
    await collect(old, [{ timestamp: 1, a: 1 }])
    await pack()
    await collect(old, [{ timestamp: 2, a: 2 }])
    await waypost.kit.bus.stop()
    await unregister(old)
    const anew = await registerEndpoint(application, old.endpointId)
    await collect(anew, [{ timestamp: 3, a: 3 }])
    await waypost.kit.bus.start({ workers: true })
    await waypost.kit.bus.settled()
    assert.deepEqual(await points(old.endpointId), { 'auto~a/value': [[3, 3]] })
    await collect(anew, [{ timestamp: 4, a: 4 }])
    const remaining = {
      'auto~a/value': [
        [3, 3],
        [4, 4],
      ],
    }
    assert.deepEqual(await points(old.endpointId), remaining)
    await pack()
    await sweep()
    await pack()
    assert.deepEqual(await points(old.endpointId), remaining)
  })

  test('the points of an endpoint that is registered again belong to its new application, not to its former application', async () => {
    const former = await registerEndpoint(await unregisteredEndpoint())
    await collect(former, [{ timestamp: 1, a: 1 }])
    await waypost.kit.bus.stop()
    await unregister(former)
    const anew = await registerEndpoint(await unregisteredEndpoint(), former.endpointId)
    assert.notEqual(anew.applicationName, former.applicationName)
    await collect(anew, [{ timestamp: 2, a: 2 }])
    await waypost.kit.bus.start({ workers: true })
    await waypost.kit.bus.settled()
    await collect(anew, [{ timestamp: 3, a: 3 }])
    const { endpointId } = anew
    const last = async ({ applicationName }: { applicationName: string }) =>
      (await admin(`GET /epts/api/v1/applications/${applicationName}/time-series/last?limit=9`)).body[endpointId]
    assert.deepEqual(
      (await last(anew))['auto~a'].map(({ values }: { values: { value: number } }) => values.value),
      [3, 2],
    )
    assert.equal(await last(former), undefined)
  })

  test('deletion of an application deletes its series, and a new application with the same name has no series', async () => {
    const endpoint = await registerEndpoint(await unregisteredEndpoint())
    await collect(endpoint, [{ timestamp: 1, a: 1 }])
    await pack()
    const endpointNo = await service.numbers.endpointNo(endpoint)
    await unregister(endpoint)
    const deleted = await admin(`DELETE /api/v1/applications/${endpoint.applicationName}`)
    assert.equal(deleted.status, 204, deleted.text)
    await waypost.kit.bus.settled()
    await eventually(async () => assert.equal((await service.numbers.seriesOf(endpoint)).length, 0))
    await sweep()
    assert.deepEqual(await countsOf(endpointNo), { chunks: 0, latest: 0 })
    await collect({ ...endpoint, endpointId: 'anew' }, [{ timestamp: 5, b: 1 }])
    assert.deepEqual(await points('anew'), { 'auto~b/value': [[5, 1]] })
  })

  test('deletion of a tenant deletes all of its data, and no data of other tenants', async () => {
    const endpoint = await unregisteredEndpoint()
    const deletedTenantEndpoint = {
      ...endpoint,
      tenantId: 'doomed',
      applicationName: 'doomed-app',
      versionName: 'doomed-app-v1',
    }
    const many = Array.from({ length: 30 }, (_, index) => ({ ...deletedTenantEndpoint, endpointId: `doomed-${index}` }))
    await Promise.all(many.map((each) => collect(each, [{ timestamp: 1, a: 1 }])))
    await collect(endpoint, [{ timestamp: 1, a: 1 }])
    await pack()
    await waypost.kit.db.tx((tx) => waypost.kit.bus.publish(tx, TenantDeleted, { tenantId: 'doomed' }))
    await waypost.kit.bus.settled()
    await eventually(async () => {
      const [row] = await sql`
        select (select count(*)::int from time_series.endpoints where tenant_id = 'doomed') as endpoints,
          (select count(*)::int from time_series.series where tenant_id = 'doomed') as series,
          (select count(*)::int from time_series.sets where tenant_id = 'doomed') as sets`
      assert.deepEqual({ ...row }, { endpoints: 0, series: 0, sets: 0 })
    })
    await sweep()
    const [row] = await sql`select count(*)::int as count from time_series.chunks`
    const [known] = await sql`
      select count(*)::int as count from time_series.chunks join time_series.endpoints using (endpoint_no)`
    assert.equal(row!.count, known!.count)
    assert.deepEqual(await points(endpoint.endpointId), { 'auto~a/value': [[1, 1]] })
  })

  test('the periodic deletion removes the number of an endpoint that is not registered but has sent samples', async () => {
    const application = await unregisteredEndpoint()
    const endpoint = await registerEndpoint(application)
    await collect(endpoint, [{ a: 1 }])
    await collect({ ...application, endpointId: 'nobody' }, [{ a: 1 }])
    await service.deletions.sweepUnregistered(() => {})
    const ids = (await sql`select endpoint_id from time_series.endpoints`).map((row) => row.endpointId)
    assert.ok(ids.includes(endpoint.endpointId) && !ids.includes('nobody'))
  })
})

/** Tests when a filter of a version becomes ready: within the request for up to 1000 endpoints, otherwise in a job. */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { eventually } from '../../../test/harness/eventually.ts'
import { openSoftware } from '../../../test/harness/software.ts'

const { admin, waypost, device, aFleet, report, requestVersion } = await openSoftware()
const { sql } = waypost.kit.db

const targeted = (filterId: string) => ({
  rolloutStrategy: 'targeted',
  upgradableFrom: ['1.0.0'],
  filters: [{ filterId }],
})

/** Adds rows of endpoints that match no filter. Their ids sort before the ids of registered endpoints. */
const addEndpoints = (app: string, from: number, to: number) => sql`
  insert into software.endpoints (tenant_id, application_name, endpoint_id, current, matched, updated_date)
  select 'default', ${app}, '!' || lpad(n::text, 6, '0'), 1, true, now() from generate_series(${from}::integer, ${to}::integer) n`

/** Keeps the first row locked while `work` runs, so that a job that matches endpoints cannot continue. */
async function whileJobWaits(app: string, work: () => Promise<void>) {
  const locked = Promise.withResolvers<void>()
  const done = Promise.withResolvers<void>()
  const transaction = sql.begin(async (tx) => {
    const rows = await tx`
      select from software.endpoints where application_name = ${app} and endpoint_id = '!000001' for update`
    assert.equal(rows.length, 1)
    locked.resolve()
    await done.promise
  })
  try {
    await Promise.race([locked.promise, transaction])
    await work()
  } finally {
    done.resolve()
    await transaction
  }
}

/** Creates a fleet of `count` endpoints: one in the group `canary`, one in another group, and rows that match no filter. */
async function aFleetOf(count: number) {
  const fleet = await aFleet()
  const { app, release, anEndpoint } = fleet
  await release('1.0.0')
  const canary = await anEndpoint({ group: 'canary' })
  const other = await anEndpoint({ group: 'other' })
  for (const { topic } of [canary, other]) await report(topic, '1.0.0')
  await addEndpoints(app, 1, count - 2)
  const filterId = await fleet.aFilter({ 'metadata.group': 'canary' })
  const isReady = async () =>
    (await sql`select ready from software.filters where application_name = ${app} and filter_id = ${filterId}`)[0]!
      .ready
  return { ...fleet, canary, other, filterId, isReady }
}

suite('a filter that a version names for the first time', () => {
  test('a filter that a version names for the first time is ready before the response if the application has 1000 endpoints', async () => {
    const { app, release, canary, other, filterId, isReady } = await aFleetOf(1000)
    const [{ count } = {}] = await sql`select count(*) from software.endpoints where application_name = ${app}`
    assert.equal(count, 1000)
    await release('2.0.0', targeted(filterId))
    assert.equal(await isReady(), true)
    assert.equal(await requestVersion(canary.topic), '2.0.0')
    assert.equal(await requestVersion(other.topic), undefined)
  })

  test('a filter that a version names for the first time matches no endpoint until a job has matched all of 1001 endpoints; then connected devices get a push', async () => {
    const { app, version, release, read, canary, other, filterId, isReady } = await aFleetOf(1001)
    const sensor = await device()
    await sensor.publish(`kp1/${version}/cmx_ota/${canary.token}/config/json/1`)
    await sensor.receives(`${canary.topic}/config/json/1/status`)
    await whileJobWaits(app, async () => {
      await release('2.0.0', targeted(filterId))
      assert.equal(await isReady(), false)
      assert.equal(await requestVersion(canary.topic), undefined)
      assert.equal((await read('/2.0.0/preview')).endpointsCount, 0)
      assert.equal((await read('/2.0.0/rollout')).counts.waiting, 0)
    })
    assert.equal((await sensor.receives(`${canary.topic}/config/json/status`, 15_000)).json.configId, '2.0.0')
    assert.equal(await isReady(), true)
    assert.equal(await requestVersion(other.topic), undefined)
    assert.deepEqual((await read('/2.0.0/preview')).sample, [canary.endpointId])
  })
})

test('a filter whose query changes while a job matches 2500 endpoints ends with the members of the new query', async () => {
  const { app, release, read, canary, other, filterId, isReady } = await aFleetOf(2500)
  const generation = async () =>
    (await sql`select generation from software.filters where application_name = ${app}`)[0]!.generation
  await whileJobWaits(app, async () => {
    await release('2.0.0', targeted(filterId))
    const before = await generation()
    const filter = `/epr/api/v1/applications/${app}/filters/${filterId}`
    assert.equal((await admin(`PATCH ${filter}`, { documentQuery: { 'metadata.group': 'other' } })).status, 200)
    await eventually(async () => assert.notEqual(await generation(), before))
    assert.equal(await isReady(), false)
    for (const { topic } of [canary, other]) assert.equal(await requestVersion(topic), undefined)
  })
  await eventually(async () => assert.equal(await requestVersion(other.topic), '2.0.0'), { withinMs: 15_000 })
  assert.equal(await requestVersion(canary.topic), undefined)
  assert.deepEqual((await read('/2.0.0/preview')).sample, [other.endpointId])
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { messageOf, openTimeSeries } from '../../../../test/harness/time-series.ts'
import type { OwnedRows } from '../../../kernel/members.ts'
import type { Value } from '../points.ts'
import { createLatestMark } from './latest-mark.ts'
import { createLatestValues } from './latest-values.ts'

const { waypost, service, unregisteredEndpoint, collect, pack, sql } = await openTimeSeries()

async function latestOf(
  endpoint: Parameters<typeof collect>[0],
  timeSeries = service,
): Promise<Record<string, [number, Value]>> {
  const endpointNo = await timeSeries.numbers.endpointNo(endpoint)
  const series = await timeSeries.numbers.seriesOf(endpoint)
  const names = new Map(series.map(({ seriesId, name }) => [seriesId, name]))
  const samples = (await timeSeries.latest.read([endpointNo])).get(endpointNo) ?? []
  return Object.fromEntries(samples.map(({ seriesId, timestamp, value }) => [names.get(seriesId)!, [timestamp, value]]))
}

test('each series immediately has the value of its newest sample, for any order of samples', async () => {
  const endpoint = await unregisteredEndpoint()
  await collect(endpoint, [
    { timestamp: 10, a: 1, b: 2 },
    { timestamp: 30, b: -0 },
    { timestamp: 20, a: 5 },
    { timestamp: 15, a: 4, b: 7 },
  ])
  const expected = { 'auto~a': [20, 5], 'auto~b': [30, -0] }
  assert.deepEqual(await latestOf(endpoint), expected)
  await service.latest.flush(true)
  assert.deepEqual(await latestOf(endpoint), expected)
  await collect(endpoint, [{ timestamp: 30, b: 9 }])
  await collect(endpoint, [{ timestamp: 29, b: 8 }])
  assert.deepEqual((await latestOf(endpoint))['auto~b'], [30, 9])
  await service.latest.flush(true)
  assert.deepEqual((await latestOf(endpoint))['auto~b'], [30, 9])
})

/** Returns the latest values of a separate node that has written nothing. */
function anotherNode(nodeId: string) {
  const { db, log } = waypost.kit
  const swept: OwnedRows[] = []
  const latest = createLatestValues({
    db,
    reading: db,
    numbers: service.numbers,
    members: { isAlone: () => true, declareOwnedRows: (some) => void swept.push(some) },
    mark: createLatestMark(db, nodeId),
    log,
    writes: { storedUpTo: async () => Number.MAX_SAFE_INTEGER, isIdle: () => true },
  })
  return { latest, ownedRows: swept[0]! }
}

const marks = async () => (await sql`select node from time_series.latest_marks`).map(({ node }) => node)

test('after a crash, the missing latest values are read from packed and unpacked samples', async () => {
  const endpoint = await unregisteredEndpoint()
  await collect(endpoint, [{ timestamp: 10, a: 1 }])
  await service.latest.flush(true)
  const { nodeId } = waypost.kit.members
  assert.deepEqual(await marks(), [nodeId])
  await collect(endpoint, [{ timestamp: 20, a: 2 }])
  // The test simulates a crash, in which the values in memory are lost.
  service.latest.dropAll()
  assert.deepEqual(await latestOf(endpoint), { 'auto~a': [10, 1] })

  const next = anotherNode('next')
  await next.latest.start()
  assert.deepEqual(await latestOf(endpoint), { 'auto~a': [20, 2] })
  assert.deepEqual(await marks(), [nodeId], 'the mark of a node that may be alive must be kept')

  await collect(endpoint, [{ timestamp: 30, a: 3 }])
  service.latest.dropAll()
  await pack()
  assert.deepEqual(await latestOf(endpoint), { 'auto~a': [30, 3] })

  await collect(endpoint, [{ timestamp: 40, a: 4 }])
  service.latest.dropAll()
  assert.deepEqual(await next.ownedRows.owners(sql), [nodeId])
  await next.ownedRows.sweep(nodeId)
  assert.deepEqual(await latestOf(endpoint), { 'auto~a': [40, 4] })
  assert.deepEqual(await marks(), [])
  await next.latest.stop()
})

test('the mark is stored before the first sample after a pause is acknowledged', async () => {
  const endpoint = await unregisteredEndpoint()
  await collect(endpoint, [{ timestamp: 10, a: 1 }])
  for (let flush = 0; flush < 3; flush++) await service.latest.flush()
  assert.deepEqual(await marks(), [], 'the mark must be deleted when all values are saved')
  await collect(endpoint, [{ timestamp: 20, a: 2 }])
  assert.deepEqual(await marks(), [waypost.kit.members.nodeId])
  service.latest.dropAll()
  await anotherNode('next').ownedRows.sweep(waypost.kit.members.nodeId)
  assert.deepEqual(await latestOf(endpoint), { 'auto~a': [20, 2] })
})

test('a node that shuts down cleanly leaves no mark', async () => {
  const endpoint = await unregisteredEndpoint()
  await service.api.collect(messageOf(endpoint), [{ a: 1 }])
  await service.latest.stop()
  assert.deepEqual(await marks(), [])
})

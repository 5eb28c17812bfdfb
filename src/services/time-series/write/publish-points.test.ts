import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from '../../../../test/harness/eventually.ts'
import { openTimeSeries } from '../../../../test/harness/time-series.ts'
import { PointsStored, type StoredPoint } from '../events.ts'

const { collect, unregisteredEndpoint, waypost } = await openTimeSeries()

test('if a service handles the event, stored points are published in batches in the transaction that stores them', async () => {
  const publishedPoints: StoredPoint[][] = []
  const handled: StoredPoint[] = []
  waypost.kit.bus.subscribe(PointsStored, ({ points }) => void publishedPoints.push(points))
  waypost.kit.bus.handle('test.points', PointsStored, async (_, { points }) => void handled.push(...points))
  const values = [
    { path: 'p.x', name: 'x' },
    { path: 'p.y', name: 'y' },
  ]
  const endpoint = await unregisteredEndpoint({ 'time-series': { names: { p: { values } } } })
  await collect(endpoint, [{ timestamp: 1000, t: 1, p: { x: 1, y: 'north' } }])
  const common = {
    endpointId: endpoint.endpointId,
    versionName: endpoint.versionName,
    timestamp: '1970-01-01T00:00:01.000Z',
  }
  assert.deepEqual(
    publishedPoints.flat().map(({ ingestionTimestamp, messageId, ...point }) => {
      assert.ok(messageId)
      assert.ok(Math.abs(Date.parse(ingestionTimestamp) - Date.now()) < 60_000)
      return point
    }),
    [
      { ...common, seriesName: 'p', values: { x: 1, y: 'north' } },
      { ...common, seriesName: 'auto~t', values: { value: 1 } },
    ],
  )
  await Promise.all(Array.from({ length: 1200 }, (_, index) => collect(endpoint, [{ timestamp: index, t: index }])))
  assert.equal(publishedPoints.flat().length, 1202)
  assert.ok(publishedPoints.length < 20 && publishedPoints.every((points) => points.length <= 500))
  await eventually(() => assert.equal(new Set(handled.map(({ timestamp }) => timestamp)).size, 1200))
})

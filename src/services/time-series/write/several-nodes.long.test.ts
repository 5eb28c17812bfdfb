import assert from 'node:assert/strict'
import { test } from 'node:test'
import { messageOf, openTimeSeries } from '../../../../test/harness/time-series.ts'
import { startUndisturbedTime } from '../../../../test/harness/undisturbed-time.ts'
import { dayMs } from '../pack/chunk-builder.ts'

const environment = { WAYPOST_MASTER_KEY: 'm'.repeat(40) }
const firstProcess = await openTimeSeries({ environment })
const open = (options: { now?: () => Date } = {}) =>
  openTimeSeries({ ...options, connection: firstProcess.waypost.connection, environment })
const processes = [firstProcess, await open()]
const endpointOf = (name: string) => ({
  tenantId: 'default',
  applicationName: 'shared',
  versionName: 'shared-v1',
  endpointId: name,
})

test('no sample is lost while two nodes write, close slots and pack concurrently', async () => {
  const model = new Map<string, Map<number, number>>()
  let ended = false
  const failures = new Set<string>()
  const packing = processes.map(async ({ pack }) => {
    while (!ended)
      try {
        await pack()
      } catch (error) {
        // A packing round that would block readers or writers stops and is retried.
        failures.add((error as { code?: string }).code ?? String(error))
      }
  })
  const writing = processes.flatMap(({ collect }, process) =>
    Array.from({ length: 5 }, async (_, index) => {
      const endpoint = endpointOf(`e-${process}-${index}`)
      const own = new Map<number, number>()
      model.set(endpoint.endpointId, own)
      for (let message = 0; message < 75; message++) {
        const time = (message % 3) * dayMs + (message % 20) * 1000
        const sent = [1, 2, 3].map((more) => collect(endpoint, [{ timestamp: time, v: message + more / 10 }]))
        own.set(time, message + 0.3)
        await Promise.all(sent)
      }
    }),
  )
  await Promise.all(writing)
  ended = true
  await Promise.all(packing)
  assert.deepEqual(
    [...failures].filter((code) => code !== '55P03'),
    [],
  )
  for (const [endpointId, own] of model) {
    const expected = [...own].sort(([a], [b]) => a - b)
    for (const { points } of processes) assert.deepEqual(await points(endpointId), { 'auto~v/value': expected })
  }
  const [first] = processes
  await first!.pack()
  assert.deepEqual(await first!.points('e-1-0'), {
    'auto~v/value': [...model.get('e-1-0')!].sort(([a], [b]) => a - b),
  })
})

const valuesOf = (points: Record<string, [number, unknown][]>) =>
  points['auto~v/value']!.map(([, value]) => value as number).sort((a, b) => a - b)

test('two nodes that receive samples without a timestamp of the same endpoint in the same milliseconds store all samples', async () => {
  const endpoint = endpointOf('roaming')
  const start = Date.now()
  const count = 200
  let next = 0
  const sent = processes.flatMap(({ api }) =>
    Array.from({ length: 4 }, async () => {
      while (next < count) {
        const value = next++
        // The test sends many samples in each millisecond, so that both nodes assign the same times.
        const at = new Date(start + Math.floor(value / 20) * 5)
        await api.collect(messageOf(endpoint, at), [{ v: value }, { v: value + 0.5 }])
      }
    }),
  )
  await Promise.all(sent)
  const expected = Array.from({ length: 2 * count }, (_, half) => half / 2)
  const [first, second] = processes as [(typeof processes)[0], (typeof processes)[0]]
  assert.deepEqual(valuesOf(await first.points('roaming')), expected)
  // The latest value at each node must be a stored point.
  const stored = (await first.points('roaming'))['auto~v/value']!
  for (const { service } of processes) {
    const [newest] = [...(await service.latest.read([await service.numbers.endpointNo(endpoint)])).values()].flat()
    assert.ok(stored.some(([time, value]) => time === newest!.timestamp && value === newest!.value))
  }
  await second.pack()
  assert.deepEqual(valuesOf(await second.points('roaming')), expected)
})

test('a node that starts does not reuse assigned times, even times ahead of its clock', async () => {
  const endpoint = endpointOf('burst')
  const [first] = processes
  const at = new Date()
  const batch = Array.from({ length: 3000 }, (_, v) => ({ v }))
  await first!.api.collect(messageOf(endpoint, at), batch)
  const next = await open()
  for (let message = 0; message < 5; message++)
    await next.api.collect(messageOf(endpoint, new Date(at.getTime() + 100 * message)), [{ v: 3000 + message }])
  const points = await next.points('burst')
  assert.deepEqual(valuesOf(points), [...Array(3005).keys()])
  // The points must be in the order of arrival.
  assert.deepEqual(
    points['auto~v/value']!.map(([, value]) => value),
    valuesOf(points),
  )
})

test('if two values have the same time, the value that was written later is kept, even if the clocks of the nodes differ', async () => {
  const endpoint = endpointOf('corrected')
  const behind = await open({ now: () => new Date(Date.now() - 60_000) })
  const [ahead] = processes
  for (let value = 0; value < 6; value += 2) {
    await ahead!.collect(endpoint, [{ timestamp: 1000, v: value }])
    await behind.collect(endpoint, [{ timestamp: 1000, v: value + 1 }])
    for (const { points } of [ahead!, behind])
      assert.deepEqual(await points('corrected'), { 'auto~v/value': [[1000, value + 1]] })
  }
  await Promise.all([ahead!, behind].map(({ service }) => service.latest.flush(true)))
  const [newest] = [
    ...(await ahead!.service.latest.read([await ahead!.service.numbers.endpointNo(endpoint)])).values(),
  ].flat()
  assert.equal(newest!.value, 5)
  await ahead!.pack()
  assert.deepEqual(await behind.points('corrected'), { 'auto~v/value': [[1000, 5]] })
})

test('the latest value is current for samples that any node has acknowledged, even before the table contains them', async () => {
  const endpoint = endpointOf('latest')
  const [first, second] = processes as [(typeof processes)[0], (typeof processes)[0]]
  const endpointNo = await first.service.numbers.endpointNo(endpoint)
  const newest = async ({ service }: typeof first) =>
    ((await service.latest.read([endpointNo])).get(endpointNo) ?? []).map(({ timestamp, value }) => [timestamp, value])
  for (let turn = 0; turn < 4; turn++) {
    const [writer, reader] = turn % 2 === 0 ? [first, second] : [second, first]
    await writer.collect(endpoint, [{ timestamp: 1000 + turn, v: turn }])
    assert.deepEqual(await newest(reader), [[1000 + turn, turn]])
    if (turn === 1) await writer.service.latest.flush(true)
  }
  // The first sample has the time of the latest value and replaces it. The second sample is older, so it changes nothing.
  await first.collect(endpoint, [{ timestamp: 1003, v: 7 }])
  await first.collect(endpoint, [{ timestamp: 1001, v: 8 }])
  assert.deepEqual(await newest(second), [[1003, 7]])
})

test('a node that is packing can be stopped within a second, and another node continues to pack', async () => {
  const [first, second] = processes as [(typeof processes)[0], (typeof processes)[0]]
  const endpoint = endpointOf('busy')
  const samples = Array.from({ length: 20_000 }, (_, index) => ({ timestamp: index * 1000, a: index, b: index / 3 }))
  await first.collect(endpoint, samples)
  await first.service.slots.rotate(true)
  first.service.packer.start()
  await new Promise((done) => setTimeout(done, 60))
  const undisturbedMs = startUndisturbedTime()
  await first.service.packer.stop()
  assert.ok(undisturbedMs() < 1000, `${undisturbedMs()} ms`)
  const read = async () => (await second.points('busy'))['auto~a/value']!.length
  assert.equal(await read(), 20_000)
  await second.service.packer.round()
  assert.equal(await read(), 20_000)
  const [unpacked] = await second.sql`select count(*)::int as count from time_series.samples`
  assert.equal(unpacked!.count, 0)
})

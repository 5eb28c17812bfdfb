import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readSeries } from '../../../test/harness/read-series.ts'
import { seededInteger } from '../../../test/harness/seeded-random.ts'
import { openTimeSeries } from '../../../test/harness/time-series.ts'
import { dayMs } from './pack/chunk-builder.ts'
import type { Value } from './points.ts'

const { unregisteredEndpoint, collect, waypost, points, pack, service } = await openTimeSeries()

const values = [{ path: 'a' }, { path: 'b', name: 'b' }]

/** Returns a sample with a random subset of the fields. Different subsets create many sets. */
function aSample(random: (below: number) => number, today: number) {
  const day = random(4) === 0 ? today - random(40) * dayMs : today
  const sample: Record<string, unknown> = { timestamp: day + random(300) * 1000 }
  if (random(3) > 0) sample.x = random(10_000) / 100
  if (random(3) > 0) sample.y = random(2) === 0 ? Math.PI * random(1000) : -random(5)
  if (random(4) === 0) sample.a = [null, true, false, 'text', '\u0000', 17][random(6)]
  if (random(4) === 0) sample.b = random(100)
  return sample
}

const usualLimits = { points: 120_000, sampleValues: 120_000 }

/** Returns the points of the model between two times. */
function pointsBetweenTimes(
  model: Map<string, Map<string, Map<number, Value>>>,
  { endpoints, from, to }: { endpoints: { endpointId: string }[]; from: number; to: number },
) {
  const all = endpoints.map(({ endpointId }) => {
    const fields = [...model.get(endpointId)!].map(([field, own]) => {
      const list = [...own].filter(([time]) => time >= from && time <= to).sort(([a], [b]) => a - b)
      return [field, list] as const
    })
    return [endpointId, Object.fromEntries(fields.filter(([, list]) => list.length > 0))] as const
  })
  return Object.fromEntries(all.filter(([, fields]) => Object.keys(fields).length > 0))
}

test('random samples in random order: at each timestamp, the point has the value that was written last, before and after packing', async () => {
  const random = seededInteger(20261115)
  const configuration = { 'time-series': { names: { s: { values } } } }
  const first = await unregisteredEndpoint(configuration)
  const endpoints = [first, { ...first, endpointId: 'second' }, await unregisteredEndpoint(configuration)]
  const model = new Map(endpoints.map(({ endpointId }) => [endpointId, new Map<string, Map<number, Value>>()]))
  const put = (endpointId: string, field: string, time: number, value: Value) => {
    const seriesOfEndpoint = model.get(endpointId)!
    if (!seriesOfEndpoint.has(field)) seriesOfEndpoint.set(field, new Map())
    seriesOfEndpoint.get(field)!.set(time, value)
  }
  const fieldOf = (key: string) => {
    if (key === 'a') return ['s/value']
    return key === 'b' ? ['s/b', 'auto~b/value'] : [`auto~${key}/value`]
  }
  const today = Math.floor(Date.now() / dayMs) * dayMs

  for (let round = 0; round < 25; round++) {
    const sent: Promise<unknown>[] = []
    const packing = round % 3 === 1 ? pack() : Promise.resolve()
    for (let message = 0; message < 40; message++) {
      const target = endpoints[random(endpoints.length)]!
      const samples = Array.from({ length: 1 + random(5) }, () => aSample(random, today))
      for (const { timestamp, ...rest } of samples)
        for (const [key, value] of Object.entries(rest)) {
          for (const field of fieldOf(key)) put(target.endpointId, field, timestamp as number, value as Value)
          if (key === 'a' && typeof value === 'number')
            put(target.endpointId, 'auto~a/value', timestamp as number, value)
        }
      sent.push(collect(target, samples))
      if (random(10) === 0) await sent.at(-1)
    }
    await Promise.all(sent)
    await packing
    if (round % 4 !== 3) continue
    for (const { endpointId } of endpoints) {
      const expected = [...model.get(endpointId)!]
        .map(([field, own]) => [field, [...own].sort(([a], [b]) => a - b)] as const)
        .sort(([a], [b]) => (a < b ? -1 : 1))
      assert.deepEqual(await points(endpointId), Object.fromEntries(expected), `round ${round}, ${endpointId}`)
    }
    const limits = round % 8 === 3 ? usualLimits : { points: 1 + random(60), sampleValues: 1 + random(40) }
    for (const descending of [false, true]) {
      const [from, to] = [today - random(45) * dayMs - random(10), today + random(300) * 1000]
      const query = { endpoints: endpoints.slice(0, 2), from, to, descending, limits }
      const read = await readSeries(waypost.kit.db, query)
      assert.deepEqual(read.points, pointsBetweenTimes(model, query), `round ${round}, ${JSON.stringify(query)}`)
    }
  }
  await service.latest.flush(true)
  const numbers = await Promise.all(endpoints.map((endpoint) => service.numbers.endpointNo(endpoint)))
  const latest = await service.latest.read(numbers)
  for (const [index, { endpointId }] of endpoints.entries()) {
    const newest = [...model.get(endpointId)!.values()].map((own) => Math.max(...own.keys())).sort()
    assert.deepEqual(
      latest
        .get(numbers[index]!)!
        .map(({ timestamp }) => timestamp)
        .sort(),
      newest,
    )
  }
})

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { readSeries } from '../../../../test/harness/read-series.ts'
import { openTimeSeries } from '../../../../test/harness/time-series.ts'
import { valuesInRecord } from '../record.ts'
import { countSamples, findSamples } from './sample-records.ts'

const { collect, unregisteredEndpoint, waypost, points, pack } = await openTimeSeries()
const { db } = waypost.kit

test('the migration turns arrays of values into records', async () => {
  const text = readFileSync(new URL('../migrations/0005_sample_records.sql', import.meta.url), 'utf8')
  const undone = new Error('undone')
  const migrated = db.tx(async (sql) => {
    const [slot] = await sql`select slot from time_series.slots where state = 'open'`
    await sql`alter table time_series.samples drop column record, add column v float8[]`
    await sql`
      insert into time_series.samples (slot, endpoint_no, ts, set_id, written, v) values
        (${slot!.slot}, 7000000001, -5, 1, 1, '{1.5, NaN, -0, 1e300}'), (${slot!.slot}, 7000000002, 1767225600000, 1, 2, '{}')`
    await sql.unsafe(text)
    const rows = await sql`select record from time_series.samples where endpoint_no > 7000000000 order by written`
    const [first, second] = rows.map(({ record }) => record as Buffer)
    assert.deepEqual([first!.readDoubleBE(0), first!.readDoubleBE(8)], [7_000_000_001, -5])
    assert.deepEqual(valuesInRecord(first!), [1.5, Number.NaN, -0, 1e300])
    assert.deepEqual([second!.readDoubleBE(0), second!.readDoubleBE(8)], [7_000_000_002, 1_767_225_600_000])
    assert.deepEqual(valuesInRecord(second!), [])
    throw undone
  })
  await assert.rejects(migrated, undone)
})

test('a query for three of the many fields of samples returns their numbers and texts, before and after packing', async () => {
  const names = Object.fromEntries(['s1', 's17', 'text'].map((name) => [name, { values: [{ path: name }] }]))
  const endpoint = await unregisteredEndpoint({ 'time-series': { 'auto-extract': true, names } })
  const wide = (index: number) =>
    Object.fromEntries(Array.from({ length: 20 }, (_, n) => [`s${n}`, index * 100 + n] as const))
  const samples = Array.from({ length: 40 }, (_, index) => ({
    timestamp: 1_767_225_600_000 + index * 1000,
    ...wide(index),
    ...(index % 3 === 0 && { text: `state ${index}`, s17: 'broken' }),
    ...(index % 5 === 0 && { text: 'long '.repeat(100) }),
  }))
  await collect(endpoint, samples)
  await collect(endpoint, [{ ...samples[3]!, s1: -1 }])
  const only = ['s1', 's17', 'text']
  const check = async () => {
    const all = await points(endpoint.endpointId)
    const expected = Object.fromEntries(only.map((name) => [`${name}/value`, all[`${name}/value`]]))
    const read = await readSeries(db, { endpoints: [endpoint], only })
    assert.deepEqual(read.points, { [endpoint.endpointId]: expected })
    const small = { points: 20, sampleValues: 12, sampleTextBytes: 1000 }
    assert.deepEqual((await readSeries(db, { endpoints: [endpoint], only, limits: small })).points, read.points)
  }
  await check()
  await pack()
  await collect(endpoint, [{ ...samples[4]!, s1: -2 }])
  await check()
})

test('values that are not whole numbers cannot become part of a statement', async () => {
  const part = { endpointNos: [1], sets: [{ setId: 1, seriesIds: [1] }], selectedSeries: [1], isNarrow: false, from: 0 }
  const options = { limit: 10, withOrder: false, texts: 'none' } as const
  for (const to of [0.5, Number.NaN, Number.POSITIVE_INFINITY, '0; drop table x' as unknown as number])
    await assert.rejects(findSamples(db, { ...part, to }, options), /is not a whole number/)
  assert.equal(await findSamples(db, { ...part, endpointNos: [9e9], to: 1 }, options), undefined)
  assert.deepEqual([...(await countSamples(db.sql, { ...part, endpointNos: [9e9], to: 1 }))], [])
})

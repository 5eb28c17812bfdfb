import assert from 'node:assert/strict'
import { before, suite, test } from 'node:test'
import { asf, openIngest, searchedSamples as samples } from '../../../test/harness/ingest.ts'

const { admin, aCollectingEndpoint, anEndpoint, send, search } = await openIngest()

let [index, first, second] = ['', '', '']
before(async () => {
  const endpoint = await aCollectingEndpoint({
    mappings: { properties: { dataSample: { properties: { code: { type: 'keyword' } } } } },
  })
  const other = { ...(await anEndpoint(endpoint.version)), version: endpoint.version }
  ;[index, first, second] = [endpoint.index, endpoint.endpointId, other.endpointId]
  for (const sample of samples) await send(sample.n % 2 === 1 ? endpoint : other, sample)
})

suite('aggregations', () => {
  const aggregate = async (aggs: object, query: object = { match_all: {} }) =>
    (await search(index, { size: 0, query, aggs })).aggregations

  test('the average, minimum, maximum, sum, count and cardinality of a field are computed', async () => {
    const field = 'dataSample.temperature'
    const { avg, min, max, sum, count, different } = await aggregate({
      avg: { avg: { field } },
      min: { min: { field } },
      max: { max: { field } },
      sum: { sum: { field } },
      count: { value_count: { field } },
      different: { cardinality: { field: 'endpointId' } },
    })
    assert.deepEqual([avg.value, min.value, max.value, sum.value], [60.5 / 3, 10, 30, 60.5])
    assert.deepEqual([count.value, different.value], [4, 2])
  })

  test('metrics of lists use every item; without values, an average is null and a sum is 0', async () => {
    const { sum, count, different, none, noSum } = await aggregate({
      sum: { sum: { field: 'dataSample.items.k' } },
      count: { value_count: { field: 'dataSample.tags' } },
      different: { cardinality: { field: 'dataSample.tags' } },
      none: { avg: { field: 'dataSample.nothing' } },
      noSum: { sum: { field: 'dataSample.nothing' } },
    })
    assert.deepEqual([sum.value, count.value, different.value, none.value, noSum.value], [3, 3, 2, null, 0])
  })

  test('an aggregation may have the name of a member of every object', async () => {
    const name = '__proto__'
    const count = { value_count: { field: 'endpointId' } }
    const found = await aggregate({ [name]: { terms: { field: 'endpointId' }, aggs: { [name]: count } } })
    const result = (object: object) => Object.getOwnPropertyDescriptor(object, name)?.value
    const [bucket] = result(found).buckets
    assert.deepEqual(result(bucket), { value: bucket.doc_count })
  })

  test('the maximum of a field with dates is returned in milliseconds and as a text', async () => {
    const { last } = await aggregate({ last: { max: { field: 'dataSample.at' } } })
    assert.deepEqual(last, { value: Date.parse('2026-01-03T05:00:00Z'), value_as_string: '2026-01-03T05:00:00.000Z' })
  })

  test('the aggregation "terms" returns at most `size` terms in the requested order, and counts the documents of other terms', async () => {
    const { rooms, tags, on } = await aggregate({
      rooms: { terms: { field: 'dataSample.room.keyword', size: 2, order: { _key: 'asc' } } },
      tags: { terms: { field: 'dataSample.tags' } },
      on: { terms: { field: 'dataSample.on', missing: 'unknown' } },
    })
    assert.equal(rooms.sum_other_doc_count, 2)
    assert.equal(rooms.buckets.length, 2)
    assert.deepEqual(tags.buckets, [
      { key: 'b', doc_count: 2 },
      { key: 'a', doc_count: 1 },
    ])
    assert.deepEqual(
      on.buckets.map(({ key, doc_count: count }: { key: unknown; doc_count: number }) => [key, count]),
      [
        ['unknown', 2],
        [1, 2],
        [0, 1],
      ].sort((a, b) => Number(b[1]) - Number(a[1]) || (a[0] === 'unknown' ? -1 : 1)),
    )
  })

  test('the aggregation "terms" can be ordered by a metric inside it', async () => {
    const { endpoints } = await aggregate({
      endpoints: {
        terms: { field: 'endpointId', order: { coldest: 'desc' } },
        aggs: { coldest: { min: { field: 'dataSample.temperature' } } },
      },
    })
    assert.deepEqual(endpoints.buckets, [
      { key: second, doc_count: 2, coldest: { value: 20.5 } },
      { key: first, doc_count: 3, coldest: { value: 10 } },
    ])
  })

  test('a date_histogram returns empty buckets between the others, but not if `min_doc_count` is 1', async () => {
    const { hours, days } = await aggregate({
      hours: { date_histogram: { field: 'dataSample.at', fixed_interval: '1h', min_doc_count: 1 } },
      days: { date_histogram: { field: 'dataSample.at', calendar_interval: 'day' } },
    })
    assert.deepEqual(hours.buckets, [
      { key_as_string: '2026-01-01T00:00:00.000Z', key: Date.parse('2026-01-01T00:00:00Z'), doc_count: 1 },
      { key_as_string: '2026-01-01T01:00:00.000Z', key: Date.parse('2026-01-01T01:00:00Z'), doc_count: 2 },
      { key_as_string: '2026-01-03T05:00:00.000Z', key: Date.parse('2026-01-03T05:00:00Z'), doc_count: 1 },
    ])
    assert.deepEqual(
      days.buckets.map(({ doc_count: count }: { doc_count: number }) => count),
      [3, 0, 1],
    )
  })

  test('the days of a date_histogram begin at midnight in its time zone', async () => {
    for (const zone of ['-01:00', 'Atlantic/Azores']) {
      const { days } = await aggregate({
        days: {
          date_histogram: { field: 'dataSample.at', calendar_interval: '1d', time_zone: zone, min_doc_count: 1 },
        },
      })
      assert.deepEqual(
        days.buckets.map(({ key, doc_count: count }: { key: number; doc_count: number }) => [
          new Date(key).toISOString(),
          count,
        ]),
        [
          ['2025-12-31T01:00:00.000Z', 1],
          ['2026-01-01T01:00:00.000Z', 2],
          ['2026-01-03T01:00:00.000Z', 1],
        ],
        zone,
      )
    }
  })

  test('a histogram also returns the empty buckets within its bounds', async () => {
    const { steps } = await aggregate({
      steps: { histogram: { field: 'dataSample.temperature', interval: 10, extended_bounds: { min: 0, max: 40 } } },
    })
    assert.deepEqual(
      steps.buckets.map(({ key, doc_count: count }: { key: number; doc_count: number }) => [key, count]),
      [
        [0, 0],
        [10, 1],
        [20, 1],
        [30, 1],
        [40, 0],
      ],
    )
  })

  test('groupings can be nested in three levels', async () => {
    const { endpoints } = await aggregate({
      endpoints: {
        terms: { field: 'endpointId', order: { _count: 'desc' } },
        aggs: {
          days: {
            date_histogram: { field: 'dataSample.at', calendar_interval: 'day', min_doc_count: 1 },
            aggs: { tags: { terms: { field: 'dataSample.tags' } }, warm: { avg: { field: 'dataSample.temperature' } } },
          },
        },
      },
    })
    const [one, two] = endpoints.buckets
    assert.deepEqual([one.key, two.key], [first, second])
    assert.equal(one.days.buckets.length, 1)
    assert.deepEqual(one.days.buckets[0].warm, { value: 20 })
    assert.deepEqual(one.days.buckets[0].tags.buckets.map(({ key }: { key: string }) => key).sort(), ['a', 'b'])
    assert.deepEqual(
      two.days.buckets.map(({ doc_count: count }: { doc_count: number }) => count),
      [1, 1],
    )
    assert.deepEqual(two.days.buckets[1].warm, { value: null })
  })

  test('aggregations include only the documents that the query finds', async () => {
    const { count } = await aggregate(
      { count: { value_count: { field: 'endpointId' } } },
      { term: { endpointId: second } },
    )
    assert.equal(count.value, 2)
  })

  test('a request for too many buckets is rejected', async () => {
    const aggs = { a: { date_histogram: { field: 'dataSample.at', fixed_interval: '1s' } } }
    const answer = await admin(`POST ${asf}/${index}/_search`, { aggs })
    assert.equal(answer.status, 400)
    assert.match(answer.body.message, /more than 10000 buckets/)
  })
})

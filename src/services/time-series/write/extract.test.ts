import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { readConfiguration } from '../../../kernel/configuration-reader.ts'
import { timeOf } from '../../../kernel/times.ts'
import { type TimeSeriesConfiguration, timeSeriesInstance } from '../configuration.ts'
import { extract } from './extract.ts'
import { planOf } from './extraction-plan.ts'

const now = Date.UTC(2026, 4, 1, 12)
const read = (configuration: object) =>
  readConfiguration(timeSeriesInstance, 'application', { 'time-series': configuration })
const plan = (configuration: object = {}) => planOf(read(configuration).config as TimeSeriesConfiguration)

suite('without a configuration', () => {
  test('every top-level number except the timestamp becomes a series', () => {
    const sample = { temperature: 20.5, humidity: 40, timestamp: now - 5, name: 'x', ok: true, at: { x: 1 }, 'a b': 3 }
    assert.deepEqual(extract(plan(), sample), {
      at: now - 5,
      fields: ['auto~temperature\nvalue', 'auto~humidity\nvalue'],
      values: [20.5, 40],
    })
  })

  test('a timestamp may be a text; an invalid timestamp is replaced by the time of arrival', () => {
    const timeOf = (timestamp: unknown) => (extract(plan(), { timestamp, a: 1 }) as { at: number | undefined }).at
    assert.equal(timeOf('2026-01-02T03:04:05.678Z'), Date.UTC(2026, 0, 2, 3, 4, 5, 678))
    assert.equal(timeOf('2026-01-02T03:04:05+0200'), Date.UTC(2026, 0, 2, 1, 4, 5))
    for (const nonsense of ['March 7', '', null, true, {}, 1e300, '2026-13-45T00:00:00Z'])
      assert.equal(timeOf(nonsense), undefined)
  })

  test('a sample that is not an object has no series', () => {
    for (const sample of [1, 'x', null, [1, 2], true])
      assert.deepEqual(extract(plan(), sample), { at: undefined, fields: [], values: [] })
  })

  test('names that every object inherits are ordinary field names', () => {
    const sample = JSON.parse('{"__proto__": 1, "constructor": 2, "toString": 3}')
    const { fields } = extract(plan(), sample) as { fields: string[] }
    assert.deepEqual(fields, ['auto~__proto__\nvalue', 'auto~constructor\nvalue', 'auto~toString\nvalue'])
  })

  test('an infinite number is rejected', () => {
    assert.deepEqual(extract(plan(), JSON.parse('{"a": 1e400}')), {
      problem: 'a: larger than any number that can be stored',
    })
  })
})

suite('with a configuration', () => {
  const configured = plan({
    'auto-extract': false,
    names: {
      place: {
        values: [
          { path: 'gps.lat', name: 'lat', type: 'number' },
          { path: '$.gps.lon', name: 'lon' },
        ],
      },
      state: { values: [{ path: 'states[1]', type: 'string' }] },
    },
    timestamp: { path: 'ts', format: 'unix-epoch', 'fallback-strategy': 'fail' },
  })

  test('paths are followed, missing values are left out, and null is a value', () => {
    const sample = { gps: { lat: 50.45, lon: null }, states: ['a', 'b'], ts: 1_700_000_000.5, speed: 3 }
    assert.deepEqual(extract(configured, sample), {
      at: 1_700_000_000_500,
      fields: ['place\nlat', 'place\nlon', 'state\nvalue'],
      values: [50.45, null, 'b'],
    })
    assert.deepEqual(extract(configured, { ts: 1 }), { at: 1000, fields: [], values: [] })
  })

  test('with the fallback fail, a sample without a valid time has no points', () => {
    for (const ts of [undefined, null, 'soon', '2026-01-01T00:00:00Z', 1e18])
      assert.deepEqual(extract(configured, { ts, gps: { lat: 50 } }), { at: undefined, fields: [], values: [] })
    const [fields, values] = [['place\nlat'], [50]]
    assert.deepEqual(extract(configured, { gps: { lat: 50 } }, 7), { at: 7, fields, values })
    assert.deepEqual(extract(configured, { ts: 1, gps: { lat: 50 } }, 7), { at: 1000, fields, values })
  })

  test('a value of another type is rejected with its path', () => {
    assert.deepEqual(extract(configured, { ts: 1, gps: { lat: '50' } }), {
      problem: 'gps.lat: expected a number, found a string (series place)',
    })
    assert.match(
      JSON.stringify(extract(configured, { ts: 1, gps: { lon: [] } })),
      /gps\.lon: expected a number, a text/,
    )
  })

  test('invalid parts of the configuration are reported with their path and left out', () => {
    const { config, problems } = read({
      'auto-extract': 'yes',
      names: {
        'bad name': { values: [{ path: 'a' }] },
        twice: { values: [{ path: 'a' }, { path: 'b' }] },
        odd: {
          values: [{ path: '' }, { path: 'a', name: 'time' }, { path: 'a', name: 'a=b' }, { path: 'a', type: 'int' }],
        },
        none: {},
      },
      timestamp: { format: 'rfc850' },
    })
    const checkedPlan = planOf(config as TimeSeriesConfiguration)
    assert.deepEqual(checkedPlan.series, [{ name: 'twice', values: [{ path: ['a'], name: 'value', type: undefined }] }])
    assert.deepEqual(checkedPlan.time, { path: ['timestamp'], format: 'any', fallback: 'server-timestamp' })
    const paths = new Set(problems.map(({ path }) => path.slice(1).join('.')))
    for (const path of [
      'auto-extract',
      'names.bad name',
      'names.twice.values.1.name',
      'names.odd.values.0.path',
      'names.odd.values.1.name',
      'names.odd.values.2.name',
      'names.odd.values.3.type',
      'names.none.values',
      'timestamp.format',
    ])
      assert.ok(paths.has(path), `the reported paths must contain ${path}: ${[...paths].join(' ')}`)
  })
})

test('dates may be relative, have microseconds, and have other time zones', () => {
  const at = new Date('2026-03-31T10:00:00.500Z')
  const parsedTime = (text: string) => new Date(timeOf(text, at)!).toISOString()
  assert.equal(parsedTime('now'), '2026-03-31T10:00:00.500Z')
  assert.equal(parsedTime('now-90s'), '2026-03-31T09:58:30.500Z')
  assert.equal(parsedTime('now-2w'), '2026-03-17T10:00:00.500Z')
  assert.equal(parsedTime('now-1M'), '2026-02-28T10:00:00.500Z')
  assert.equal(parsedTime('now-1y'), '2025-03-31T10:00:00.500Z')
  assert.equal(parsedTime('2024-01-01T10:00:00.123456Z'), '2024-01-01T10:00:00.123Z')
  assert.equal(parsedTime('2024-01-01'), '2024-01-01T00:00:00.000Z')
  assert.equal(parsedTime('2024-01-01T10:00:00'), '2024-01-01T10:00:00.000Z')
  assert.equal(parsedTime('now-999999999y'), '0001-01-01T00:00:00.000Z')
  assert.equal(parsedTime('2024-02-29'), '2024-02-29T00:00:00.000Z')
  assert.equal(parsedTime('1704103200123'), '2024-01-01T10:00:00.123Z')
  assert.equal(parsedTime('-1'), '1969-12-31T23:59:59.999Z')
  assert.equal(parsedTime('2024-01-01T10:00:00+02'), '2024-01-01T08:00:00.000Z')
  assert.equal(parsedTime('2024-01-01 10:00-05'), '2024-01-01T15:00:00.000Z')
  // PostgreSQL and clients support only the years 1 to 9999.
  assert.equal(parsedTime('0000-05-05'), '0001-01-01T00:00:00.000Z')
  assert.equal(parsedTime('0001-01-01T00:00:00+14:00'), '0001-01-01T00:00:00.000Z')
  assert.equal(parsedTime('9999-12-31T23:59:59-12:00'), '9999-12-31T23:59:59.999Z')
  for (const text of ['', 'now-', 'now-1', 'now+1h', 'now-1x', 'yesterday', '2024-02-31T25:00:00Z', '1e12', '1.5'])
    assert.equal(timeOf(text, at), undefined, text)
  // Invalid days of a month are rejected, not moved to the next month.
  for (const text of ['2023-02-29', '1900-02-29T00:00:00Z', '2024-04-31T10:00:00+02:00', '2024-00-10', '2024-13-01'])
    assert.equal(timeOf(text, at), undefined, text)
})

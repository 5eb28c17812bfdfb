import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { openTimeSeries } from '../../../test/harness/time-series.ts'

const { collect, endpoint, hotRows } = await openTimeSeries()

suite('collecting samples', () => {
  test('what was acknowledged is there: times, values, and what is no number', async () => {
    const one = await endpoint({
      'time-series': { names: { state: { values: [{ path: 'state' }, { path: 'ok', name: 'ok' }] } } },
    })
    await collect(one, [
      { timestamp: 1000, temperature: 20.5, state: 'a\u0000b', ok: null },
      { timestamp: 2000, temperature: -1, state: true, ok: false },
    ])
    assert.deepEqual(await hotRows(one), [
      { ts: 1000, values: { 'state/value': 'a\u0000b', 'state/ok': null, 'auto~temperature/value': 20.5 } },
      { ts: 2000, values: { 'state/value': true, 'state/ok': false, 'auto~temperature/value': -1 } },
    ])
  })
})

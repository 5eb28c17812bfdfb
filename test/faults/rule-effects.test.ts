import assert from 'node:assert/strict'
import { test } from 'node:test'
import { killEffectRounds } from './rule-effects.ts'

test('after kill -9 of a node under load, no trigger event is lost, no webhook is sent more than twice, no scheduled run is repeated, and the statistics equal the traces', async () => {
  // This test runs few rounds; the bench faults-rules runs thirty.
  const report = await killEffectRounds({ rounds: 3, seed: 20261117 })
  assert.ok(
    report.samples > 50 && report.ticks > 0 && report.alerts > 0 && report.traces > report.samples,
    JSON.stringify(report),
  )
})

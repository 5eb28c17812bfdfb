import assert from 'node:assert/strict'
import { test } from 'node:test'
import { killLiveNodes } from './live.ts'

test('a stream loses no message when its node, or the node of the device, is killed', async () => {
  const report = await killLiveNodes({ rounds: 2, seed: 7 })
  assert.ok(report.acknowledged > 5, `${report.acknowledged} messages`)
  assert.ok(report.slowestResumptionSeconds < 2, `${report.slowestResumptionSeconds} s`)
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { temporaryDirectory } from '../harness/database.ts'
import { killControlRounds } from './control.ts'

test('after kill -9 of a node, no command, configuration, version or file is lost, and no command is repeated', async () => {
  // This test runs few rounds; the bench faults-control runs thirty.
  const report = await killControlRounds({ rounds: 2, seed: 20261117, directory: temporaryDirectory() })
  assert.ok(
    report.executed > 20 && report.awaited > 10 && report.configurations > 5 && report.downloads > 0,
    JSON.stringify(report),
  )
})

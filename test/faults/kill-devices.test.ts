import assert from 'node:assert/strict'
import { test } from 'node:test'
import { temporaryDirectory } from '../harness/database.ts'
import { killDeviceRounds } from './kill-devices.ts'

test('what devices sent is there once after kill -9 of the database under load, and nothing that was refused', async () => {
  // The other kinds of rounds are in the bench (faults-devices): they take longer than a test may.
  const report = await killDeviceRounds({ rounds: 1, seed: 20261115, directory: temporaryDirectory() })
  assert.ok(report.points > 0 && report.refused > 0 && report.packed > 0, JSON.stringify(report))
})

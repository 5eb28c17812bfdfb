import assert from 'node:assert/strict'
import { test } from 'node:test'
import { initializedDirectory } from '../harness/platform.ts'
import { killDeviceRounds } from './kill-under-device-load.ts'

test('after kill -9 of the database under load, each acknowledged sample is stored once, and no rejected sample is stored', async () => {
  // The bench faults-devices also kills the platform alone, and the platform with its database. These rounds take too long for a test.
  const report = await killDeviceRounds({ rounds: 1, seed: 20261115, directory: await initializedDirectory() })
  assert.ok(report.points > 0 && report.refused > 0 && report.packed > 0, JSON.stringify(report))
})

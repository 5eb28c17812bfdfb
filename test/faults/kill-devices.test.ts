import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { test } from 'node:test'
import { atTheEnd, throwAwayDirectory } from '../harness/database.ts'
import { killDeviceRounds } from './kill-devices.ts'

test('what got its PUBACK is in the traffic log after kill -9 of every process, and nothing is there twice', async () => {
  const directory = throwAwayDirectory()
  atTheEnd(() => rmSync(directory, { recursive: true, force: true }))
  const report = await killDeviceRounds({ rounds: 2, seed: 20261115, directory })
  assert.ok(report.acknowledged > 0, JSON.stringify(report))
})

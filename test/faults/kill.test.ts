import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { test } from 'node:test'
import { atTheEnd, throwAwayDirectory } from '../harness/database.ts'
import { killRounds } from './kill.ts'

test('what was acknowledged survives kill -9 of every process, and no tenant is stuck', async () => {
  const directory = throwAwayDirectory()
  atTheEnd(() => rmSync(directory, { recursive: true, force: true }))
  const report = await killRounds({ rounds: 3, seed: 20261115, directory })
  assert.ok(report.tenants > 0 && report.applications > 0, JSON.stringify(report))
})

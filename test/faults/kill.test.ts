import assert from 'node:assert/strict'
import { test } from 'node:test'
import { initializedDirectory } from '../harness/platform.ts'
import { killRounds } from './kill.ts'
import { uploads } from './uploads.ts'

test('what was acknowledged survives kill -9 of every process, no tenant is stuck and no file is half', async () => {
  const beside = uploads()
  const report = await killRounds({
    rounds: 2,
    seed: 20261115,
    directory: await initializedDirectory(),
    withinMs: 150,
    beside,
  })
  assert.ok(report.tenants > 0 && report.applications > 0 && beside.blobs > 0, JSON.stringify(report))
})

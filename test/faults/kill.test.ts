import assert from 'node:assert/strict'
import { test } from 'node:test'
import { initializedDirectory } from '../harness/platform.ts'
import { killRounds } from './kill.ts'
import { uploadLoad } from './uploads.ts'

test('after kill -9 of every process, acknowledged writes are stored, no tenant is stuck and no file is incomplete', async () => {
  const additionalLoad = uploadLoad()
  const report = await killRounds({
    rounds: 2,
    seed: 20261115,
    directory: await initializedDirectory(),
    withinMs: 150,
    additionalLoad,
  })
  assert.ok(report.tenants > 0 && report.applications > 0 && additionalLoad.blobs > 0, JSON.stringify(report))
})

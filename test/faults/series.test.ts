import assert from 'node:assert/strict'
import { test } from 'node:test'
import { temporaryDirectory } from '../harness/database.ts'
import { seriesRounds } from './series.ts'

test('acknowledged samples survive kill -9 of the process, of the database and of both, while they are packed', async () => {
  const report = await seriesRounds({ rounds: 3, seed: 20261115, directory: temporaryDirectory('wp-') })
  assert.ok(report.acknowledged > 0 && report.points > 0, JSON.stringify(report))
})

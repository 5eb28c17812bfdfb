import assert from 'node:assert/strict'
import { test } from 'node:test'
import { temporaryDirectory } from '../harness/database.ts'
import { killDocumentRounds } from './documents.ts'

test('after kill -9 of a node, every acknowledged sample has its document exactly once', async () => {
  const report = await killDocumentRounds({ rounds: 2, seed: 20261117, directory: temporaryDirectory() })
  assert.ok(report.samples > 100, JSON.stringify(report))
})

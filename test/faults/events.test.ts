import assert from 'node:assert/strict'
import { test } from 'node:test'
import { migrateKernel, preparedDatabase } from '../harness/database.ts'
import { eventRounds } from './events.ts'

test('while nodes are killed, each event of a committed transaction is delivered once and in order', async () => {
  const connection = await preparedDatabase('kernel', migrateKernel)
  const report = await eventRounds({ rounds: 4, seed: 20261116, connection })
  assert.ok(report.published > 50 && report.deliveredByOthers > 0, JSON.stringify(report))
})

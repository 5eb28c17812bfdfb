import assert from 'node:assert/strict'
import { test } from 'node:test'
import { killRuleRounds } from './rules.ts'

test('no event of rules is lost or run twice, although nodes are killed', async () => {
  const report = await killRuleRounds({ rounds: 3, seed: 20261117 })
  assert.ok(report.acknowledged > 20 && report.runs >= report.acknowledged, JSON.stringify(report))
})

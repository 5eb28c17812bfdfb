import assert from 'node:assert/strict'
import { test } from 'node:test'
import { killDuringJobs } from './jobs.ts'

test('a job and an export continue after kill -9 of their node, each endpoint is changed and exported once, and a canceled job says which endpoints are changed', async () => {
  const endpoints = Number(process.env.TEST_ENDPOINTS ?? 6000)
  const report = await killDuringJobs({ endpoints, rounds: Number(process.env.TEST_RUNS ?? 1) })
  console.log(JSON.stringify(report))
  assert.equal(report.exportedLines, endpoints)
  assert.ok(
    report.atKill.every((count) => count > 0 && count < endpoints),
    `each kill must happen before the job ends; changed endpoints at each kill: ${report.atKill}`,
  )
  assert.ok(
    report.canceled.changed > 0 && report.canceled.pending > 0,
    `the second job must be canceled before it ends: ${JSON.stringify(report.canceled)}`,
  )
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { killDuringJobs } from './jobs.ts'

test('a job and an export continue after kill -9 of their node, and each endpoint is changed and exported once', async () => {
  const endpoints = Number(process.env.TEST_ENDPOINTS ?? 6000)
  const report = await killDuringJobs({ endpoints, rounds: Number(process.env.TEST_RUNS ?? 1) })
  console.log(JSON.stringify(report))
  assert.equal(report.exportedLines, endpoints)
  assert.ok(
    report.atKill.every((count) => count > 0 && count < endpoints),
    `each kill must happen before the job ends; changed endpoints at each kill: ${report.atKill}`,
  )
})

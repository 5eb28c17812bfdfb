/** Kills a node with SIGKILL while it runs a job and an export. After each restart, checks the counts of items of both tasks. */
import assert from 'node:assert/strict'
import { sleep } from '../../src/kernel/clock.ts'
import { connect } from '../../src/kernel/db.ts'
import type { Ask } from '../harness/client.ts'
import { temporaryDirectory } from '../harness/database.ts'
import { eventually } from '../harness/eventually.ts'
import { type RunningPlatform, startPlatform, usedDatabase } from '../harness/platform.ts'
import { memoryMb } from '../harness/processes.ts'
import { killAll } from './kill.ts'

export interface JobKillReport {
  endpoints: number
  rounds: number
  previewSeconds: number
  /** Number of changed endpoints at each kill. */
  atKill: number[]
  seconds: number
  exportedLines: number
  /** Counts of the job that is canceled after a kill. */
  canceled: { changed: number; pending: number }
  /** Memory of the node before the job, and its maximum while the job ran. */
  memoryMb: { before: number; most: number }
}

const root = '/jobs/api/v1/jobs'
const app = 'fleet'

export async function killDuringJobs({
  endpoints,
  rounds,
}: {
  endpoints: number
  rounds: number
}): Promise<JobKillReport> {
  const { connection, environment } = await usedDatabase()
  const settings = { ...environment, WAYPOST_LOG_LEVEL: 'fatal' }
  const directory = temporaryDirectory()
  let platform = await startPlatform({ directory, environment: settings })
  let ask = await platform.asService(platform.bootstrap.default)
  await registerFleet(ask, connection, endpoints)
  const before = memoryMb([platform.process.pid!])
  const began = performance.now()
  // If the patch were applied to an endpoint twice, the `test` operation of the patch would fail the second time.
  const operations = [
    { op: 'test', path: '/done', value: false },
    { op: 'replace', path: '/done', value: true },
  ]
  const select = { applicationName: app, and: [{ key: 'done', operator: 'IN', values: [false] }] }
  const created = await ask(`POST ${root}/metadata-patches`, { select, operations, preview: true })
  assert.equal(created.status, 201, created.text)
  const { jobId } = created.body
  const previewSeconds = (performance.now() - began) / 1000
  assert.deepEqual(created.body.counts, { total: endpoints, succeeded: 0, failed: 0, pending: endpoints })
  assert.equal((await ask(`POST ${root}/${jobId}/start`)).status, 200)
  const exported = await ask(`POST ${root}/endpoint-exports`, { select: { applicationName: app }, format: 'ndjson' })
  assert.equal(exported.status, 201, exported.text)
  const atKill: number[] = []
  let most = 0
  const progress = async () => {
    most = Math.max(most, memoryMb([platform.process.pid!]))
    return await countsOf(ask, jobId)
  }
  for (let round = 0; round < rounds; round++) {
    const known = atKill.at(-1) ?? 0
    const goal = Math.floor((endpoints * (round + 1)) / (rounds + 2))
    await eventually(async () => assert.ok((await progress()).succeeded >= Math.max(goal, known + 1)), {
      withinMs: 300_000,
      everyMs: 50,
    })
    await sleep((round * 37) % 100)
    await killAll(platform)
    ;[platform, ask] = await restarted(directory, settings)
    const counts = await countsOf(ask, jobId)
    assert.ok(counts.succeeded >= known, 'the count of changed endpoints must not decrease')
    atKill.push(counts.succeeded)
  }
  const done = await eventually(
    async () => {
      const counts = await progress()
      assert.equal(counts.pending, 0)
      return counts
    },
    { withinMs: 300_000 },
  )
  assert.deepEqual(done, { total: endpoints, succeeded: endpoints, failed: 0, pending: 0 })
  const seconds = (performance.now() - began) / 1000
  const exportedLines = await linesOf(platform, ask, exported.body.jobId)
  const reversal = await startReversal(ask, endpoints)
  await killAll(platform)
  ;[platform, ask] = await restarted(directory, settings)
  const canceled = await cancel(ask, connection, reversal)
  await platform.kill('SIGTERM')
  return { endpoints, rounds, previewSeconds, atKill, seconds, exportedLines, canceled, memoryMb: { before, most } }
}

/** Starts a job that changes all endpoints back. Returns its id when the job has changed a few endpoints. */
async function startReversal(ask: Ask, endpoints: number): Promise<string> {
  const operations = [
    { op: 'test', path: '/done', value: true },
    { op: 'replace', path: '/done', value: false },
  ]
  const select = { applicationName: app, and: [{ key: 'done', operator: 'IN', values: [true] }] }
  const created = await ask(`POST ${root}/metadata-patches`, { select, operations })
  assert.equal(created.status, 201, created.text)
  const { jobId } = created.body
  await eventually(async () => assert.ok((await countsOf(ask, jobId)).succeeded > endpoints / 20), {
    withinMs: 300_000,
    everyMs: 50,
  })
  return jobId
}

/**
 * Cancels a job. Asserts that its items are either done or pending, and that exactly the endpoints of the items that are done are changed.
 */
async function cancel(ask: Ask, connection: Parameters<typeof connect>[0], jobId: string) {
  const { status, body, text } = await ask(`POST ${root}/${jobId}/cancel`)
  assert.equal(status, 200, text)
  assert.equal(body.state, 'canceled')
  const { succeeded, failed, pending, total } = body.counts
  assert.deepEqual([failed, succeeded + pending], [0, total])
  const sql = connect(connection, { max: 1 })
  for (const [state, count, done] of [
    ['succeeded', succeeded, 'false'],
    ['pending', pending, 'true'],
  ] as const) {
    const rows = await sql`
      select endpoint_id from register.endpoints where application_name = ${app} and metadata ->> 'done' = ${done}`
    const stored = new Set(rows.map(({ endpointId }) => endpointId as string))
    const items = await itemsOf(ask, jobId, state)
    assert.equal(items.length, count, `number of items that are ${state}`)
    assert.equal(stored.size, count, `number of endpoints whose items are ${state}`)
    assert.ok(
      items.every((id) => stored.has(id)),
      `the endpoint of each item that is ${state}`,
    )
  }
  await sql.end({ timeout: 1 })
  return { changed: succeeded as number, pending: pending as number }
}

async function itemsOf(ask: Ask, jobId: string, state: string): Promise<string[]> {
  const ids: string[] = []
  for (;;) {
    const { status, body, text } = await ask(
      `GET ${root}/${jobId}/items?state=${state}&limit=1000&offset=${ids.length}`,
    )
    assert.equal(status, 200, text)
    if (body.content.length === 0) return ids
    for (const { endpointId } of body.content) ids.push(endpointId)
  }
}

async function registerFleet(ask: Ask, connection: Parameters<typeof connect>[0], endpoints: number) {
  assert.equal((await ask('POST /api/v1/applications', { name: app })).status, 201)
  assert.equal((await ask(`POST /api/v1/applications/${app}/app-versions`, { nameSuffix: 'v1' })).status, 201)
  const sql = connect(connection, { max: 1 })
  await sql`
    insert into register.endpoints (endpoint_id, tenant_id, application_name, version_name, version_registered_date, created_date, metadata)
    select 'e-' || n, 'default', ${app}, ${`${app}-v1`}, now(), now(), '{"done": false}' from generate_series(1, ${endpoints}::integer) n`
  await sql.end({ timeout: 1 })
}

async function restarted(directory: string, environment: Record<string, string>): Promise<[RunningPlatform, Ask]> {
  const platform = await startPlatform({ directory, environment })
  return [platform, await platform.asService(platform.bootstrap.default)]
}

async function countsOf(ask: Ask, jobId: string) {
  const { status, body, text } = await ask(`GET ${root}/${jobId}`)
  assert.equal(status, 200, text)
  const { total, succeeded, failed, pending } = body.counts
  assert.equal(total, succeeded + failed + pending, 'the sum of the counts must be the total')
  assert.equal(failed, 0, 'no endpoint may fail; the patch fails if it is applied twice')
  return body.counts as { total: number; succeeded: number; failed: number; pending: number }
}

/** Downloads the file of the export and checks that it contains every endpoint once. */
async function linesOf(platform: RunningPlatform, ask: Ask, jobId: string): Promise<number> {
  await eventually(async () => assert.equal((await ask(`GET ${root}/${jobId}`)).body.state, 'finished'), {
    withinMs: 120_000,
  })
  const headers = await platform.authorizationOf(platform.bootstrap.default)
  const answer = await fetch(`${platform.baseUrl}${root}/${jobId}/file`, { headers })
  const lines = (await answer.text()).trimEnd().split('\n')
  const ids = new Set(lines.map((line) => JSON.parse(line).endpointId))
  assert.equal(ids.size, lines.length, 'no endpoint may be exported twice')
  return lines.length
}

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from '../../test/harness/eventually.ts'
import { openTestPlatform } from '../../test/harness/test-platform.ts'
import { startUndisturbedTime } from '../../test/harness/undisturbed-time.ts'
import { contract } from './contract.ts'
import { defineService, type Kit } from './define-service.ts'
import { defineJob } from './jobs.ts'

const aService = (build: (kit: Kit) => void) =>
  defineService({
    name: 'test',
    provides: contract<object>('test'),
    build(kit) {
      build(kit)
      return { api: {} }
    },
  })

const Count = defineJob<{ n: number }>('test.count')
const Fail = defineJob<Record<never, never>>('test.fail', { retries: 1 })
const Later = defineJob<{ what: string }>('test.later')
const Long = defineJob<Record<never, never>>('test.long')

test('a job runs soon after the commit that enqueued it, and never after a rollback', async () => {
  const ran: number[] = []
  const { kit } = await openTestPlatform({
    services: [aService(({ jobs }) => jobs.handle(Count, async ({ n }) => void ran.push(n)))],
  })
  const undisturbedMs = startUndisturbedTime()
  await kit.db.tx((sql) => kit.jobs.send(sql, Count, { n: 1 }))
  await assert.rejects(
    kit.db.tx(async (sql) => {
      await kit.jobs.send(sql, Count, { n: 2 })
      throw new Error('rolled back')
    }),
  )
  await eventually(() => assert.deepEqual(ran, [1]))
  assert.ok(undisturbedMs() < 1500, 'the job must not wait for the next poll')
})

test('waiting jobs run one after the other without delay', async () => {
  let ran = 0
  const { kit } = await openTestPlatform({
    services: [aService(({ jobs }) => jobs.handle(Count, async () => void ran++))],
  })
  const started = Date.now()
  await kit.db.tx(async (sql) => {
    for (let n = 0; n < 50; n++) await kit.jobs.send(sql, Count, { n })
  })
  await eventually(() => assert.equal(ran, 50), { withinMs: 20_000 })
  assert.ok(Date.now() - started < 10_000)
})

test('a failing job is retried, and its handler can recognise the last attempt', async () => {
  const attempts: boolean[] = []
  const { kit } = await openTestPlatform({
    services: [
      aService(({ jobs }) =>
        jobs.handle(Fail, async (_, { last }) => {
          attempts.push(last)
          throw new Error('no')
        }),
      ),
    ],
    environment: { WAYPOST_LOG_LEVEL: 'silent' },
  })
  await kit.db.tx((sql) => kit.jobs.send(sql, Fail, {}))
  await eventually(() => assert.deepEqual(attempts, [false, true]), { withinMs: 20_000 })
})

test('a job waits until the time `startAfter`, or runs immediately if this time has passed', async () => {
  const ran: string[] = []
  const { kit } = await openTestPlatform({
    services: [aService(({ jobs }) => jobs.handle(Later, async ({ what }) => void ran.push(what)))],
  })
  const { db, jobs } = kit
  await db.tx(async (sql) => {
    await jobs.send(sql, Later, { what: 'tomorrow' }, { startAfter: new Date(Date.now() + 24 * 3600_000) })
    await jobs.send(sql, Later, { what: 'in 2 s' }, { startAfter: 2 })
    await jobs.send(sql, Later, { what: 'yesterday' }, { startAfter: new Date(Date.now() - 24 * 3600_000) })
  })
  const due = await db.sql`
    select data->>'what' as what, extract(epoch from start_after - now()) as seconds
    from jobs.job where name = ${Later.name} order by start_after desc`
  assert.equal(due[0]?.what, 'tomorrow')
  assert.ok(Math.abs(Number(due[0]?.seconds) - 24 * 3600) < 60)
  await eventually(() => assert.deepEqual(ran, ['yesterday', 'in 2 s']), { withinMs: 15_000 })
})

test('the signal of a handler aborts when the process stops', async () => {
  let reason: unknown
  let started = false
  const { kit } = await openTestPlatform({
    services: [
      aService(({ jobs }) =>
        jobs.handle(Long, async (_, { signal }) => {
          started = true
          await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
          reason = signal.reason
          signal.throwIfAborted()
        }),
      ),
    ],
    environment: { WAYPOST_LOG_LEVEL: 'silent' },
  })
  await kit.db.tx((sql) => kit.jobs.send(sql, Long, {}))
  await eventually(() => assert.ok(started))
  await kit.jobs.stop()
  assert.match(String(reason), /the process stops/)
})

test('a job is declared once, has one handler, and cannot be sent without a handler', async () => {
  assert.throws(() => defineJob('test.count'), /job test\.count is declared twice/)
  const { kit } = await openTestPlatform({
    services: [
      aService(({ jobs }) => {
        jobs.handle(Count, async () => {})
        assert.throws(() => jobs.handle(Count, async () => {}), /job test\.count has two handlers/)
      }),
    ],
  })
  await assert.rejects(
    kit.db.tx((sql) => kit.jobs.send(sql, Later, { what: 'unhandled' })),
    /job test\.later has no handler/,
  )
  // @ts-expect-error the data must have the type that the job declares
  await kit.db.tx((sql) => kit.jobs.send(sql, Count, { n: 'one' }))
})

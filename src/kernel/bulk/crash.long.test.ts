/** Tests bulk tasks with killed processes, broken connections, repeated jobs and cancellations. */
import assert from 'node:assert/strict'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { bulkNode, Crash, CrashWalk, effectsOf, makeEffects } from '../../../test/harness/bulk-node.ts'
import { afterAllTests, freshDatabase, migrateKernel } from '../../../test/harness/database.ts'
import { eventually } from '../../../test/harness/eventually.ts'
import type { ConnectionOptions, Sql } from '../db.ts'

const createdBy = { type: 'user', id: 'ada' }
const numbers = (count: number) => Array.from({ length: count }, (_, n) => n + 1)

type Node = Awaited<ReturnType<typeof bulkNode>>

async function aDatabase() {
  const connection = await freshDatabase()
  await migrateKernel(connection)
  return connection
}

async function aNode(connection: ConnectionOptions, options?: Parameters<typeof bulkNode>[1]) {
  const node = await bulkNode(connection, options)
  afterAllTests(node.stop)
  return node
}

const begin = ({ db, bulk }: Node, count: number, pauseMs = 0) =>
  db.tx((sql) => bulk.start(sql, Crash, { tenantId: 'acme', createdBy, data: { pauseMs } }, numbers(count)))

/** Resumes tasks as the periodic task does when they have made no progress for ten minutes. */
const resume = ({ db, bulk }: Node) =>
  db.tx(async (sql) => {
    await sql`update kernel.bulk_tasks set touched_at = now() - interval '11 minutes' where finished_at is null`
    await bulk.periodic.find(({ name }) => name === 'kernel.resume-bulk')!.run(sql)
  })

/** Checks that the counts add up, that each succeeded item had its effect once, and that no other item had an effect. */
async function checked({ db, bulk }: Node, taskId: string) {
  return await db.tx(async (sql) => {
    await sql`set transaction isolation level repeatable read`
    const task = await bulk.find(sql, Crash, taskId)
    assert.ok(task)
    const { total, succeeded, failed, pending } = task.counts
    assert.equal(total, succeeded + failed + pending!)
    const items = await bulk.items(sql, Crash, { taskId, limit: 1000 })
    const done = items.filter(({ state }) => state === 'succeeded').map(({ item }) => item)
    assert.equal(done.length, succeeded)
    assert.equal(items.filter(({ state }) => state === 'failed').length, failed)
    assert.deepEqual(await effectsOf(sql, taskId), done)
    return task
  })
}

const finished = (node: Node, taskId: string) =>
  eventually(
    async () => {
      const task = await checked(node, taskId)
      assert.ok(task.finishedAt)
      return task
    },
    { withinMs: 30_000 },
  )

test('a task resumes at its last commit after each kill -9', async () => {
  const connection = await aDatabase()
  const node = await aNode(connection, { workers: false })
  await makeEffects(node.db.sql)
  const taskId = await begin(node, 200, 15)
  const walkId = await node.db.tx((sql) =>
    node.bulk.startWalk(sql, CrashWalk, { tenantId: 'acme', createdBy, data: { pauseMs: 15, upTo: 200 } }),
  )
  const path = fileURLToPath(new URL('../../../test/harness/bulk-child.ts', import.meta.url))
  const atKill: number[] = []
  for (const pagesBefore of [3, 1, 6, 9]) {
    const child = fork(path, [JSON.stringify(connection)])
    await once(child, 'message')
    await resume(node)
    let pages = 0
    await new Promise<void>((resolve) => child.on('message', () => ++pages >= pagesBefore && resolve()))
    child.kill('SIGKILL')
    await once(child, 'exit')
    atKill.push((await checked(node, taskId)).counts.succeeded)
  }
  assert.ok(
    atKill.at(-1)! > atKill[0]! && atKill.at(-1)! < 180,
    `the task must make progress and must not end before the last kill: ${atKill}`,
  )
  const survivor = await aNode(connection)
  await resume(survivor)
  const { counts } = await finished(survivor, taskId)
  assert.deepEqual(counts, { total: 200, succeeded: 180, failed: 20, pending: 0 })
  await eventually(async () =>
    assert.equal((await survivor.bulk.find(survivor.db.sql, CrashWalk, walkId))?.state, 'finished'),
  )
  assert.deepEqual(await effectsOf(survivor.db.sql, walkId), numbers(200))
})

test('two nodes share the tasks, and even a task that two jobs run at the same time is processed once', async () => {
  const connection = await aDatabase()
  const [one, two] = [await aNode(connection), await aNode(connection)]
  await makeEffects(one.db.sql)
  const tasks: string[] = []
  for (let n = 0; n < 6; n++) tasks.push(await begin(n % 2 ? one : two, 60, 5))
  for (const taskId of tasks.slice(0, 3))
    for (const node of [one, two, one]) await node.db.tx((sql) => node.jobs.send(sql, Crash.job, { taskId }))
  for (const taskId of tasks) assert.equal((await finished(one, taskId)).counts.succeeded, 54)
  assert.ok(one.pages() > 0 && two.pages() > 0, 'both nodes must process pages')
})

test('with random failures the counts add up, and each item is processed once or not at all', async () => {
  const connection = await aDatabase()
  let faultRate = 0.25
  const random = generator(Number(process.env.TEST_SEED ?? 11))
  const before = async (sql: Sql) => {
    const dice = random()
    if (dice < faultRate / 2) throw new Error('a page fails')
    if (dice < faultRate) await sql`select pg_terminate_backend(pg_backend_pid())`
  }
  const [one, two] = [await aNode(connection, { before }), await aNode(connection, { before })]
  await makeEffects(one.db.sql)
  const tasks = await Promise.all(
    Array.from({ length: 12 }, (_, n) => begin(n % 2 ? one : two, 20 + ((n * 37) % 90), 1)),
  )
  for (let round = 0; round < 30; round++) {
    const taskId = tasks[Math.floor(random() * tasks.length)]!
    const node = random() < 0.5 ? one : two
    if (random() < 0.15) await node.db.tx((sql) => node.bulk.cancel(sql, taskId))
    else if (random() < 0.5) await node.db.tx((sql) => node.jobs.send(sql, Crash.job, { taskId }))
    await checked(node, taskId)
  }
  faultRate = 0
  await resume(one)
  for (const taskId of tasks) {
    const { state, counts } = await finished(one, taskId)
    if (state === 'finished') assert.equal(counts.pending, 0)
  }
})

/** Returns a generator of random numbers that depends only on the seed. */
function generator(seed: number) {
  let state = seed >>> 0
  return () => {
    state = (state * 1664525 + 1013904223) >>> 0
    return state / 2 ** 32
  }
}

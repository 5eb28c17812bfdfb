import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { eventually } from '../../test/harness/eventually.ts'
import { kernelDatabase } from '../../test/harness/nodes.ts'
import { monotonicMs, sleepUnlessAborted } from './clock.ts'
import { createDb } from './db.ts'
import { createLog } from './log.ts'
import { createPeriodic } from './periodic.ts'

async function periodicNodes(t: TestContext, count: number) {
  const connection = await kernelDatabase(t)
  const log = await createLog({ level: 'silent', format: 'json' })
  const leaveListeners: ((nodeId: string) => void)[] = []
  const members = {
    isAlone: () => count === 1,
    onLeave: (listener: (nodeId: string) => void) => void leaveListeners.push(listener),
  }
  const nodes = Array.from({ length: count }, () => {
    const db = createDb(connection, { max: 2 })
    const periodic = createPeriodic({ db, members, log })
    t.after(async () => {
      await periodic.stop()
      await db.close()
    })
    return { db, periodic }
  })
  const reportLeave = () => {
    for (const listener of leaveListeners) listener('a node')
  }
  return { nodes, sql: nodes[0]!.db.sql, members, reportLeave }
}

test('several nodes run a task once per period', async (t) => {
  const { nodes, sql } = await periodicNodes(t, 3)
  const runs: number[] = []
  const began = monotonicMs()
  for (const [node, { periodic }] of nodes.entries())
    periodic.start([{ name: 'sweep', everySeconds: 1, run: async () => void runs.push(node) }])
  await eventually(() => assert.ok(runs.length >= 3))
  const periods = Math.ceil((monotonicMs() - began) / 1000)
  assert.ok(runs.length <= periods, `${runs.length} runs in ${periods} periods`)
  const [row] =
    await sql`select ran_at <= clock_timestamp() and ran_at > now() - interval '10 s' as recent from kernel.periodic`
  assert.equal(row!.recent, true)
})

test('a task can choose a longer pause until its next run', async (t) => {
  const { nodes } = await periodicNodes(t, 1)
  const runs = { often: 0, paused: 0 }
  nodes[0]!.periodic.start([
    { name: 'often', everySeconds: 0.02, run: async () => void runs.often++ },
    {
      name: 'paused',
      everySeconds: 0.02,
      run: async () => void runs.paused++,
      pauseSeconds: () => (runs.paused < 3 ? 0.02 : 600),
    },
  ])
  await eventually(() => assert.ok(runs.often > 10 && runs.paused === 3))
  const { often } = runs
  await eventually(() => assert.ok(runs.often > often + 10))
  assert.equal(runs.paused, 3)
})

test('a last run that is stored with a time in the future, because of a wrong clock, does not block the task', async (t) => {
  const { nodes, sql } = await periodicNodes(t, 1)
  await sql`insert into kernel.periodic (name, ran_at) values ('sweep', now() + interval '1 hour')`
  let runs = 0
  nodes[0]!.periodic.start([{ name: 'sweep', everySeconds: 5, run: async () => void runs++ }])
  await eventually(() => assert.equal(runs, 1), { withinMs: 4000 })
})

test('a stop interrupts a run that pauses, and waits until the run has ended', async (t) => {
  const { nodes } = await periodicNodes(t, 1)
  let state = 'not started'
  const run = async (_: unknown, signal?: AbortSignal) => {
    state = 'paused'
    await sleepUnlessAborted(600_000, signal!)
    state = 'ended'
  }
  nodes[0]!.periodic.start([{ name: 'long', everySeconds: 5, run }])
  await eventually(() => assert.equal(state, 'paused'))
  await nodes[0]!.periodic.stop()
  assert.equal(state, 'ended')
})

test('a failed run is rolled back and retried', async (t) => {
  const { nodes, sql } = await periodicNodes(t, 1)
  let attempts = 0
  nodes[0]!.periodic.start([
    {
      name: 'stumble',
      everySeconds: 1,
      async run(inner) {
        await inner`insert into kernel.vault (name, sealed) values ('done', 'x')`
        if (attempts++ === 0) throw new Error('stumbled')
      },
    },
  ])
  await eventually(async () => assert.equal((await sql`select from kernel.vault`).length, 1))
  assert.equal(attempts, 2)
})

test('another node runs a task whose node died during the run', async (t) => {
  const { nodes, reportLeave } = await periodicNodes(t, 2)
  const [one, two] = nodes
  const runs: string[] = []
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>()
  one!.periodic.start([
    {
      name: 'long',
      everySeconds: 1,
      async run(sql) {
        begin()
        await sql`select pg_terminate_backend(pg_backend_pid())`
      },
    },
  ])
  await begun
  two!.periodic.start([{ name: 'long', everySeconds: 1, run: async () => void runs.push('two') }])
  reportLeave()
  await eventually(() => assert.ok(runs.includes('two')))
})

test('a task stays on its node: the other node tries to run it once when it starts, and again only after that node has left', async (t) => {
  const { nodes, reportLeave } = await periodicNodes(t, 2)
  const [one, two] = nodes
  let runs = 0
  one!.periodic.start([{ name: 'sweep', everySeconds: 2, run: async () => void runs++ }])
  await eventually(() => assert.equal(runs, 1))
  let [attempts, runsOfTwo] = [0, 0]
  const { tx } = two!.db
  two!.db.tx = (work) => {
    attempts++
    return tx(work)
  }
  two!.periodic.start([{ name: 'sweep', everySeconds: 2, run: async () => void runsOfTwo++ }])
  await eventually(() => assert.ok(runs >= 2))
  assert.deepEqual({ attempts, runsOfTwo }, { attempts: 1, runsOfTwo: 0 })
  await one!.periodic.stop()
  reportLeave()
  await eventually(() => assert.ok(runsOfTwo > 0))
})

test('when a run ends after another node has begun its transaction for the same period, the other node does not repeat the run', async (t) => {
  const { nodes, sql, members } = await periodicNodes(t, 2)
  await sql`insert into kernel.periodic (name) values ('sweep')`
  const runs: string[] = []
  const begun = Promise.withResolvers<void>()
  const ended = Promise.withResolvers<void>()
  const { db } = nodes[1]!
  const slowDb: typeof db = {
    ...db,
    tx: (work) =>
      db.tx(async (inner) => {
        await inner`select now()`
        begun.resolve()
        await ended.promise
        return work(inner)
      }),
  }
  const log = await createLog({ level: 'silent', format: 'json' })
  const slow = createPeriodic({ db: slowDb, members, log })
  slow.start([{ name: 'sweep', everySeconds: 60, run: async () => void runs.push('slow') }])
  await begun.promise
  nodes[0]!.periodic.start([{ name: 'sweep', everySeconds: 60, run: async () => void runs.push('first') }])
  await eventually(async () => {
    const [row] = await sql`select isfinite(ran_at) as ran from kernel.periodic`
    assert.equal(row!.ran, true)
  })
  ended.resolve()
  await slow.stop()
  assert.deepEqual(runs, ['first'])
})

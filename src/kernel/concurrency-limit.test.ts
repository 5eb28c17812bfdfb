import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { seededInteger } from '../../test/harness/seeded-random.ts'
import { createConcurrencyLimit, createSemaphore } from './concurrency-limit.ts'
import { CallerDisconnected, ProcessStopping, TooManyRequests } from './errors.ts'

const aDeferred = () => Promise.withResolvers<void>()
const nothing = async () => {}

suite('a concurrency limit', () => {
  test('a concurrency limit starts waiting work when other work ends or fails, beginning with a tenant below its limit', async () => {
    const limit = createConcurrencyLimit({ perTenant: 1, total: 2, waitingPerTenant: 5 })
    const [ofA, ofB] = [aDeferred(), aDeferred()]
    const started: string[] = []
    const failing = limit.run('a', () => ofA.promise)
    const other = limit.run('b', () => ofB.promise)
    const waiting = [
      limit.run('a', async () => void started.push('a')),
      limit.run('c', async () => void started.push('c')),
    ]
    ofB.resolve()
    await other
    await waiting[1]
    assert.deepEqual(started, ['c'])
    ofA.reject(new Error('failed'))
    await assert.rejects(failing, /failed/)
    await Promise.all(waiting)
    assert.deepEqual(started, ['c', 'a'])
  })

  test('a concurrency limit limits the number of waiting tasks and the time for which they wait', async () => {
    const limit = createConcurrencyLimit({ perTenant: 1, waitingPerTenant: 1, waitMs: 20 })
    const inside = aDeferred()
    const first = limit.run('a', () => inside.promise)
    const second = limit.run('a', nothing)
    await assert.rejects(limit.run('a', nothing), TooManyRequests.is)
    await assert.rejects(second, TooManyRequests.is)
    inside.resolve()
    await first
    await limit.run('a', nothing)
  })

  test('a concurrency limit supports work that is not a single promise', async () => {
    const limit = createConcurrencyLimit({ perTenant: 1, waitingPerTenant: 1 })
    const leave = await limit.enter('a')
    const next = limit.enter('a')
    await assert.rejects(limit.enter('a'), TooManyRequests.is)
    leave()
    const leaveNext = await next
    leaveNext()
    await limit.run('a', nothing)
  })

  test('a concurrency limit leaves capacity for other callers of the same tenant, and counts the callers of each tenant separately', async () => {
    const limit = createConcurrencyLimit({ perTenant: 3, perCaller: 2, waitingPerTenant: 5, waitMs: Infinity })
    const leaving = await Promise.all([limit.enter('a', 'greedy'), limit.enter('a', 'greedy')])
    let third = false
    const greedy = limit.enter('a', 'greedy').then((leave) => {
      third = true
      return leave
    })
    const other = await limit.enter('a', 'modest')
    const inOtherTenant = await limit.enter('b', 'greedy')
    assert.equal(third, false)
    leaving.pop()!()
    ;(await greedy)()
    for (const leave of [...leaving, other, inOtherTenant]) leave()
    await Promise.all(['x', 'x'].map((caller) => limit.enter('a', caller)))
  })

  test('a concurrency limit drops waiting work if its caller disconnects, and not for other reasons', async () => {
    const limit = createConcurrencyLimit({ total: 1, waitMs: Infinity })
    const leave = await limit.enter('a')
    const [gone, stopping] = [new AbortController(), new AbortController()]
    const done: string[] = []
    const dropped = limit.run('a', async () => void done.push('dropped'), gone)
    const kept = limit.run('a', async () => void done.push('kept'), stopping)
    const entering = limit.enter('b', 'x', gone)
    assert.equal(limit.waiting, 3)
    stopping.abort(ProcessStopping())
    gone.abort(CallerDisconnected())
    await assert.rejects(dropped, CallerDisconnected.is)
    await assert.rejects(entering, CallerDisconnected.is)
    await assert.rejects(limit.run('a', nothing, gone), CallerDisconnected.is)
    assert.equal(limit.waiting, 1)
    leave()
    await kept
    assert.deepEqual([done, limit.waiting], [['kept'], 0])
    await limit.run('a', nothing, gone)
  })

  test('a concurrency limit rejects immediately if no task may wait', async () => {
    const limit = createConcurrencyLimit({ perTenant: 1, waitingPerTenant: 0 })
    const inside = aDeferred()
    const first = limit.run('a', () => inside.promise)
    await assert.rejects(limit.run('a', nothing), TooManyRequests.is)
    await limit.run('b', nothing)
    inside.resolve()
    await first
  })

  test('a concurrency limit lets tenants take turns, and limits how many tasks wait in total', async () => {
    const limit = createConcurrencyLimit({
      total: 1,
      waitingTotal: 4,
      waitMs: Infinity,
      rejection: () => new Error('full'),
    })
    const leave = await limit.enter('a')
    const order: string[] = []
    const waiting = ['a1', 'a2', 'a3', 'b1'].map((name) => limit.run(name[0]!, async () => void order.push(name)))
    assert.equal(limit.waiting, 4)
    await assert.rejects(limit.run('c', nothing), /full/)
    leave()
    await Promise.all(waiting)
    assert.deepEqual(order, ['a1', 'b1', 'a2', 'a3'])
    assert.equal(limit.waiting, 0)
  })

  test('a concurrency limit is never exceeded and runs every task, for any order in which tasks end', async () => {
    const random = seededInteger(7)
    const limit = createConcurrencyLimit({ total: 5, perTenant: 2, waitMs: Infinity })
    const running = new Map<string, number>()
    const highest = { all: 0, tenant: 0 }
    const work = async (tenantId: string) => {
      running.set(tenantId, (running.get(tenantId) ?? 0) + 1)
      highest.all = Math.max(
        highest.all,
        [...running.values()].reduce((sum, count) => sum + count, 0),
      )
      highest.tenant = Math.max(highest.tenant, running.get(tenantId)!)
      for (let turns = random(5); turns > 0; turns--) await new Promise((resolve) => setImmediate(resolve))
      running.set(tenantId, running.get(tenantId)! - 1)
      if (random(3) === 0) throw new Error('failed')
    }
    const all = Array.from({ length: 500 }, () => {
      const tenantId = `t${random(4)}`
      return limit.run(tenantId, () => work(tenantId))
    })
    const outcomes = await Promise.allSettled(all)
    assert.equal(outcomes.length, 500)
    assert.deepEqual(highest, { all: 5, tenant: 2 })
    assert.equal(limit.waiting, 0)
  })
})

test('a semaphore runs at most its maximum of tasks at the same time, and starts the waiting tasks in order', async () => {
  const run = createSemaphore(2)
  const [started, ending]: [number[], (() => void)[]] = [[], []]
  const all = Array.from({ length: 4 }, (_, n) =>
    run(async () => {
      started.push(n)
      await new Promise<void>((resolve) => ending.push(resolve))
      if (n === 1) throw new Error('the task failed')
      return n
    }),
  )
  const settled = Promise.allSettled(all)
  const turn = () => new Promise((resolve) => setImmediate(resolve))
  await turn()
  assert.deepEqual(started, [0, 1])
  ending[1]!()
  await turn()
  assert.deepEqual(started, [0, 1, 2])
  for (const end of [0, 2]) ending[end]!()
  await turn()
  ending[3]!()
  assert.deepEqual(
    (await settled).map((outcome) => (outcome.status === 'fulfilled' ? outcome.value : outcome.reason.message)),
    [0, 'the task failed', 2, 3],
  )
})

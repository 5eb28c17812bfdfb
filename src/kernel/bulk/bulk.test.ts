import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { eventually } from '../../../test/harness/eventually.ts'
import { openTestPlatform } from '../../../test/harness/test-platform.ts'
import { contract } from '../contract.ts'
import type { Sql } from '../db.ts'
import { defineService } from '../define-service.ts'
import { invalidField } from '../errors.ts'
import { type BulkHandler, type BulkType, defineBulk, defineWalk, type Outcome, type WalkHandler } from './types.ts'

const Multiply = defineBulk<{ factor: number }, number, { product: number }>('test.multiply', {
  title: 'Multiply',
  pageSize: 10,
})
const Blocked = defineBulk<object, number>('test.blocked', { title: 'Wait', pageSize: 5 })
const Sliced = defineBulk<object, number>('test.sliced', {
  title: 'Take turns',
  pageSize: 1,
  parallel: 1,
  sliceSeconds: 0,
})
const Kept = defineBulk<object, { n: number }>('test.kept', { title: 'Keep items', pageSize: 3, keepItems: true })
const Poison = defineBulk<object, number>('test.poison', { title: 'Poison', pageSize: 4, retries: 1 })
const WithEnd = defineBulk<object, number>('test.with-end', { title: 'With an end', pageSize: 4 })
const Walk = defineWalk<object>('test.walk', { title: 'Walk', firstItems: 4, itemsMin: 2, itemsMax: 16, stepMs: 200 })

type Page<D extends object, R> = BulkHandler<D, number, R>['page']
const succeed: Page<object, never> = async (_, __, items) => items.map(() => ({}))

/** The functions that the handlers call. Each test sets its own functions. */
const handlers = {
  multiply: succeed as Page<{ factor: number }, { product: number }>,
  blocked: succeed,
  sliced: succeed,
  kept: (async (_, __, items) => items.map(() => ({}))) as BulkHandler<object, { n: number }, never>['page'],
  poison: succeed,
  finish: async (_sql: Sql, _taskId: string) => {},
  walk: { step: async () => 'end' } as WalkHandler<object>,
}

const service = defineService({
  name: 'test',
  provides: contract<object>('test'),
  build({ bulk }) {
    bulk.handle(Multiply, { page: (...given) => handlers.multiply(...given) })
    bulk.handle(Blocked, { page: (...given) => handlers.blocked(...given) })
    bulk.handle(Sliced, { page: (...given) => handlers.sliced(...given) })
    bulk.handle(Kept, { page: (...given) => handlers.kept(...given) })
    bulk.handle(Poison, { page: (...given) => handlers.poison(...given) })
    bulk.handle(WithEnd, { page: succeed, finish: (sql, { taskId }) => handlers.finish(sql, taskId) })
    bulk.handleWalk(Walk, {
      step: (...given) => handlers.walk.step(...given),
      finish: async (...given) => handlers.walk.finish?.(...given),
    })
    return { api: {} }
  },
})
// Logging is off, because the failures of this test would fill the log.
const { kit } = await openTestPlatform({ services: [service], environment: { WAYPOST_LOG_LEVEL: 'silent' } })
const { db, bulk } = kit
await db.sql`create schema test`
await db.sql`create table test.effects (task_id text, n integer)`

const createdBy = { type: 'user', id: 'ada' }
const numbers = (count: number) => Array.from({ length: count }, (_, n) => n)

/** Returns the items whose effects the database contains. Effects of a page that was rolled back are not stored. */
const effectsOf = async (taskId: string) =>
  (await db.sql`select n from test.effects where task_id = ${taskId} order by n`).map(({ n }) => n as number)
const write = async (sql: Sql, taskId: string, items: number[]) => {
  await sql`insert into test.effects (task_id, n) select ${taskId}, n from unnest(${items}::integer[]) as g(n)`
}

const start = <D extends object, R>(
  type: BulkType<D, number, R>,
  data: NoInfer<D>,
  items: number[],
  { tenantId = 'acme', prepared = false } = {},
) => db.tx((sql) => bulk.start(sql, type, { tenantId, createdBy, data }, items, { prepared }))

const taskOf = async (type: { name: string }, taskId: string) => {
  const task = await bulk.find(db.sql, type, taskId)
  assert.ok(task)
  const { total, succeeded, failed, pending } = task.counts
  assert.equal(total, succeeded + failed + pending!, 'the counts must add up')
  return task
}
const ended = (type: { name: string }, taskId: string, withinMs = 10_000) =>
  eventually(
    async () => {
      const task = await taskOf(type, taskId)
      assert.ok(task.finishedAt)
      return task
    },
    { withinMs },
  )

suite('a task over stored items', () => {
  test('a task that keeps items in memory processes the given objects, but reads large items from the database', async () => {
    const seen: { n: number }[] = []
    handlers.kept = async (_sql, _task, items) => {
      seen.push(...items)
      return items.map(() => ({}))
    }
    const run = async (items: { n: number }[]) => {
      seen.length = 0
      const task = { tenantId: 'acme', createdBy, data: {} }
      await ended(Kept, await db.tx((sql) => bulk.start(sql, Kept, task, items)))
      assert.deepEqual(seen, items)
      return seen.filter((item, index) => item === items[index]).length
    }
    const small = numbers(7).map((n) => ({ n }))
    assert.equal(await run(small), 7)
    const large = numbers(3).map((n) => ({ n, text: 'x'.repeat(3 * 1024 * 1024) }))
    assert.equal(await run(large), 0)
    assert.equal(await run(small), 7, 'the items of ended tasks must not count towards the limit')
  })

  test('a task over stored items processes each page once and keeps a result for each item', async () => {
    const sizes: number[] = []
    handlers.multiply = async (sql, { taskId, data: { factor } }, items) => {
      sizes.push(items.length)
      await write(sql, taskId, items)
      return items.map(
        (n): Outcome<{ product: number }> =>
          n % 7 === 0 ? { failed: `${n} is refused` } : { result: { product: n * factor } },
      )
    }
    const taskId = await start(Multiply, { factor: 3 }, numbers(35))
    const task = await ended(Multiply, taskId)
    assert.deepEqual(task.counts, { total: 35, succeeded: 30, failed: 5, pending: 0 })
    assert.equal(task.state, 'finished')
    assert.deepEqual(task.createdBy, createdBy)
    assert.deepEqual(sizes, [10, 10, 10, 5])
    assert.deepEqual(await effectsOf(taskId), numbers(35))

    const failed = await bulk.items(db.sql, Multiply, { taskId, state: 'failed', limit: 100 })
    assert.deepEqual(
      failed.map(({ position, item, state, failed: reason }) => [position, item, state, reason]),
      [0, 7, 14, 21, 28].map((n) => [n, n, 'failed', `${n} is refused`]),
    )
    const all = []
    for (let after = -1; ; ) {
      const some = await bulk.items(db.sql, Multiply, { taskId, after, limit: 8 })
      all.push(...some)
      if (some.length < 8) break
      after = some.at(-1)!.position
    }
    assert.deepEqual(
      all.map(({ item }) => item),
      numbers(35),
    )
    assert.deepEqual(all[34], { position: 34, item: 34, state: 'succeeded', result: { product: 102 } })
    assert.equal(await bulk.find(db.sql, Blocked, taskId), undefined, 'a task of another type must not be found')
  })

  test('a task over stored items accepts items in arrays of any size, and no items at all', async () => {
    handlers.multiply = succeed
    async function* pages() {
      for (const size of [0, 1, 25, 3, 100]) yield numbers(size)
    }
    const task = { tenantId: 'acme', createdBy, data: { factor: 1 } }
    const taskId = await db.tx((sql) => bulk.start(sql, Multiply, task, pages()))
    const { counts } = await ended(Multiply, taskId)
    assert.deepEqual(counts, { total: 129, succeeded: 129, failed: 0, pending: 0 })
    const items = await bulk.items(db.sql, Multiply, { taskId, limit: 1000 })
    assert.deepEqual(
      items.map(({ item }) => item),
      [1, 25, 3, 100].flatMap(numbers),
    )
    const empty = await start(Multiply, { factor: 1 }, [])
    assert.deepEqual((await ended(Multiply, empty)).counts, { total: 0, succeeded: 0, failed: 0, pending: 0 })
  })

  test('a task over stored items does not exist after a rollback; a prepared task waits until it is released', async () => {
    handlers.multiply = succeed
    let rolledBack = ''
    await assert.rejects(
      db.tx(async (sql) => {
        rolledBack = await bulk.start(sql, Multiply, { tenantId: 'acme', createdBy, data: { factor: 1 } }, [1])
        throw new Error('no')
      }),
    )
    assert.equal(await bulk.find(db.sql, Multiply, rolledBack), undefined)
    const prepared = await start(Multiply, { factor: 1 }, numbers(12), { prepared: true })
    await ended(Multiply, await start(Multiply, { factor: 1 }, numbers(12)))
    assert.equal((await taskOf(Multiply, prepared)).state, 'prepared')
    assert.equal((await bulk.items(db.sql, Multiply, { taskId: prepared, limit: 100 })).length, 12)
    assert.equal(await db.tx((sql) => bulk.release(sql, prepared)), true)
    assert.equal((await ended(Multiply, prepared)).counts.succeeded, 12)
    assert.equal(await db.tx((sql) => bulk.release(sql, prepared)), false)
  })

  test('when a task over stored items is canceled, the current page is completed and later pages are not started', async () => {
    const gates: (() => void)[] = []
    handlers.blocked = async (sql, { taskId }, items) => {
      await write(sql, taskId, items)
      await new Promise<void>((resolve) => gates.push(resolve))
      return items.map(() => ({}))
    }
    const taskId = await start(Blocked, {}, numbers(20))
    await eventually(() => assert.equal(gates.length, 1))
    gates[0]!()
    await eventually(() => assert.equal(gates.length, 2))
    const canceling = db.tx((sql) => bulk.cancel(sql, taskId))
    // The cancellation waits for the lock of the page. When PostgreSQL shows the waiting lock request, the cancellation has started.
    await eventually(async () => {
      const [row] = await db.sql`select count(*) from pg_stat_activity where wait_event_type = 'Lock'
        and query like '%bulk_tasks%' and datname = current_database()`
      assert.equal(row?.count, 1)
    })
    gates[1]!()
    assert.equal(await canceling, true)
    const task = await taskOf(Blocked, taskId)
    assert.equal(task.state, 'canceled')
    assert.deepEqual(task.counts, { total: 20, succeeded: 10, failed: 0, pending: 10 })
    assert.deepEqual(await effectsOf(taskId), numbers(10))
    const untouched = await bulk.items(db.sql, Blocked, { taskId, state: 'pending', limit: 100 })
    assert.deepEqual(
      untouched.map(({ item }) => item),
      numbers(20).slice(10),
    )
    assert.equal(await db.tx((sql) => bulk.cancel(sql, taskId)), false, 'a task that has ended cannot be canceled')
    const next = await start(Blocked, {}, numbers(1), { prepared: true })
    assert.equal(await db.tx((sql) => bulk.cancel(sql, next)), true)
    assert.equal(gates.length, 2)
  })

  test('a task over stored items lets another task run when its time slice is over', async () => {
    const order: string[] = []
    handlers.sliced = async (_, { tenantId }, items) => {
      order.push(tenantId)
      return items.map(() => ({}))
    }
    const [one, two] = await db.tx(async (sql) => [
      await bulk.start(sql, Sliced, { tenantId: 'one', createdBy, data: {} }, numbers(6)),
      await bulk.start(sql, Sliced, { tenantId: 'two', createdBy, data: {} }, numbers(2)),
    ])
    await ended(Sliced, one)
    assert.equal((await taskOf(Sliced, two)).state, 'finished')
    assert.ok(order.lastIndexOf('two') < order.length - 1, `the small task must end before the large task: ${order}`)
  })

  test('a task over stored items continues after an item that always fails, and reports that item as failed', async () => {
    handlers.poison = async (sql, { taskId }, items) => {
      await write(sql, taskId, items)
      if (items.includes(5)) await sql`select 1 / 0`
      if (items.includes(6)) throw invalidField('six', 'is not wanted')
      return items.map(() => ({}))
    }
    const taskId = await start(Poison, {}, numbers(10))
    await eventually(async () => assert.match(String((await taskOf(Poison, taskId)).problem), /internal error/))
    const task = await ended(Poison, taskId, 20_000)
    assert.deepEqual(task.counts, { total: 10, succeeded: 8, failed: 2, pending: 0 })
    assert.equal(task.problem, null)
    const failed = await bulk.items(db.sql, Poison, { taskId, state: 'failed', limit: 10 })
    assert.deepEqual(
      failed.map(({ item, failed: reason }) => [item, reason]),
      [
        [5, 'an internal error; the log of the platform has the details'],
        [6, 'six: is not wanted'],
      ],
    )
    assert.deepEqual(await effectsOf(taskId), [0, 1, 2, 3, 4, 7, 8, 9])
  })

  test('a task over stored items calls the finish function of its handler once', async () => {
    handlers.finish = (sql, taskId) => write(sql, taskId, [-1])
    const [some, none] = [await start(WithEnd, {}, numbers(9)), await start(WithEnd, {}, [])]
    for (const taskId of [some, none]) {
      await ended(WithEnd, taskId)
      assert.deepEqual(await effectsOf(taskId), [-1])
    }
  })
})

suite('a walk', () => {
  const begin = (data: object, total?: number) =>
    db.tx((sql) => bulk.startWalk(sql, Walk, { tenantId: 'acme', createdBy, data }, total))

  test('a walk adapts the size of its steps to the wanted duration, runs each step once, and ends', async () => {
    const limits: number[] = []
    handlers.walk = {
      async step(sql, { taskId }, { after, limit }) {
        limits.push(limit)
        if (limit > 8) {
          await sql`select set_config('statement_timeout', '10', true)`
          await sql`select pg_sleep(1)`
        }
        const items = numbers(61).slice(after + 1, after + 1 + limit)
        if (items.length === 0) return 'end'
        await write(sql, taskId, items)
        return { last: items.at(-1)!, count: items.length }
      },
      finish: (sql, { taskId }) => write(sql, taskId, [1000]),
    }
    const taskId = await begin({}, 55)
    const task = await ended(Walk, taskId)
    assert.deepEqual(await effectsOf(taskId), [...numbers(61).slice(1), 1000])
    assert.ok(limits.includes(16), `the walk must try larger steps: ${limits}`)
    assert.deepEqual(task.counts, { total: 60, succeeded: 60, failed: 0, pending: 0 })
  })

  test('a walk ends after a step with isLast, in a transaction of its own', async () => {
    const transactions: unknown[] = []
    const note = async (sql: Sql) => transactions.push((await sql`select pg_current_xact_id()::text as id`)[0]?.id)
    handlers.walk = {
      async step(sql, _, { after }) {
        await note(sql)
        return { last: after + 1, count: 1, isLast: after === 1 }
      },
      async finish(sql) {
        await note(sql)
      },
    }
    const task = await ended(Walk, await begin({}, 9))
    assert.deepEqual(task.counts, { total: 2, succeeded: 2, failed: 0, pending: 0 })
    assert.equal(new Set(transactions).size, 3)
  })

  test('a walk can be canceled by its own step or by a caller', async () => {
    handlers.walk = { step: async (_, { data }) => ('gone' in data ? 'canceled' : { last: 1, count: 1 }) }
    const find = (taskId: string) => bulk.find(db.sql, Walk, taskId)
    const gone = await begin({ gone: true })
    await eventually(async () => assert.equal((await find(gone))?.state, 'canceled'))
    const endless = await begin({})
    await eventually(async () => assert.ok((await find(endless))!.counts.succeeded > 3))
    assert.deepEqual((await find(endless))?.counts.total, null)
    await db.tx((sql) => bulk.cancel(sql, endless))
    const { succeeded } = (await find(endless))!.counts
    assert.equal(await db.tx((sql) => bulk.cancel(sql, endless)), false)
    assert.equal((await find(endless))!.counts.succeeded, succeeded)
  })
})

suite('all tasks', () => {
  test('the tasks of a tenant are listed with all their types, the newest first', async () => {
    handlers.multiply = succeed
    handlers.finish = async () => {}
    const tenantId = 'lister'
    const taskIds: string[] = []
    for (let n = 0; n < 5; n++)
      taskIds.unshift(
        await (n % 2 ? start(Multiply, { factor: 1 }, [n], { tenantId }) : start(WithEnd, {}, [n], { tenantId })),
      )
    await start(Multiply, { factor: 1 }, [1], { tenantId: 'other' })
    const first = await bulk.list(db.sql, { tenantId, limit: 3 })
    const rest = await bulk.list(db.sql, { tenantId, limit: 3, before: first.at(-1)!.seq })
    assert.deepEqual(
      [...first, ...rest].map(({ taskId }) => taskId),
      taskIds,
    )
    assert.deepEqual(
      first.map(({ title }) => title),
      ['With an end', 'Multiply', 'With an end'],
    )
    await eventually(async () => {
      const finished = await bulk.list(db.sql, { tenantId, states: ['finished'], limit: 9 })
      assert.deepEqual(
        finished.map(({ taskId }) => taskId),
        taskIds,
      )
    })
    assert.deepEqual(await bulk.list(db.sql, { tenantId, states: ['running', 'waiting'], limit: 9 }), [])
    assert.equal((await bulk.list(db.sql, { tenantId, types: [Multiply.name], limit: 9 })).length, 2)
  })

  test('all tasks are deleted some days after their end, or when their tenant is deleted', async () => {
    handlers.multiply = succeed
    const forget = bulk.periodic.find(({ name }) => name === 'kernel.forget-bulk')!
    const tenantId = 'doomed'
    const make = async (prepared: boolean) => {
      const taskId = await start(Multiply, { factor: 1 }, numbers(15), { tenantId, prepared })
      if (!prepared) await ended(Multiply, taskId)
      return taskId
    }
    const [old, young, stale, fresh] = [await make(false), await make(false), await make(true), await make(true)]
    await db.sql`update kernel.bulk_tasks set finished_at = now() - interval '8 days' where task_id = ${old}`
    await db.sql`update kernel.bulk_tasks set finished_at = now() - interval '6 days' where task_id = ${young}`
    await db.sql`update kernel.bulk_tasks set created_at = now() - interval '2 days' where task_id = ${stale}`
    await db.tx(forget.run)
    const taskIds = [old, young, stale, fresh]
    const left = async () => {
      const tasks = await db.sql`select task_id from kernel.bulk_tasks where task_id = any(${taskIds}::text[])`
      const pages = await db.sql`select distinct task_id from kernel.bulk_pages where task_id = any(${taskIds}::text[])`
      return [tasks, pages].map((rows) => new Set(rows.map(({ taskId }) => taskId as string)))
    }
    assert.deepEqual(await left(), [new Set([young, fresh]), new Set([young, fresh])])
    assert.equal(await bulk.deleteTenantTasks(db.sql, 'unknown', [Multiply]), false)
    while (await bulk.deleteTenantTasks(db.sql, tenantId, [Multiply]));
    assert.deepEqual(await left(), [new Set(), new Set()])
    assert.equal(
      (await bulk.list(db.sql, { tenantId: 'other', limit: 9 })).length,
      1,
      'tasks of other tenants must not be deleted',
    )
  })
})

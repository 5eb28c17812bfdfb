import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { eventually } from '../../test/harness/eventually.ts'
import { sleep } from './clock.ts'
import { createGroupCommit, type Group, type GroupCommitOptions } from './group-commit.ts'
import { createLog } from './log.ts'
import { createMetrics } from './metrics.ts'

const log = await createLog({ level: 'silent', format: 'json' })

interface Numbers extends Group {
  all: number[]
}
const create = (): Numbers => {
  const all: number[] = []
  return {
    all,
    get count() {
      return all.length
    },
    get bytes() {
      return all.length * 100
    },
    get isFull() {
      return all.length >= 50
    },
  }
}

function aCommit(options: Partial<GroupCommitOptions<Numbers>> & Pick<GroupCommitOptions<Numbers>, 'write'>) {
  const commit = createGroupCommit<Numbers>({
    name: 'test',
    create,
    isTemporary: () => true,
    log,
    metrics: createMetrics(),
    everyMs: 5,
    concurrentWrites: 2,
    pendingBytesMax: 100_000,
    ...options,
  })
  const add = (number: number) => {
    commit.current().all.push(number)
    return commit.committed()
  }
  return { commit, add }
}

suite('group commit', () => {
  test('an idle writer writes at once, rows added meanwhile share the next write, and callers wait for the commit', async () => {
    const written: number[][] = []
    const end = Promise.withResolvers<void>()
    const { add, commit } = aCommit({
      async write({ all }) {
        written.push(all)
        await end.promise
      },
    })
    const first = add(1)
    await eventually(() => assert.equal(written.length, 1), { everyMs: 1 })
    const others = [2, 3, 4].map(add)
    assert.equal(new Set(others).size, 1)
    assert.equal(await Promise.race([first, sleep(30).then(() => 'waits')]), 'waits')
    end.resolve()
    await Promise.all([first, ...others])
    await commit.drained()
    assert.deepEqual(written, [[1], [2, 3, 4]])
  })

  test('a full group is written without delay, and the number of concurrent writes is limited', async () => {
    let [now, most] = [0, 0]
    const sizes: number[] = []
    const { add } = aCommit({
      async write({ count }) {
        most = Math.max(most, ++now)
        sizes.push(count)
        await sleep(5)
        now--
      },
    })
    await Promise.all(Array.from({ length: 230 }, (_, index) => add(index)))
    assert.equal(most, 2)
    assert.deepEqual(sizes, [50, 50, 50, 50, 30])
  })

  test('a write is retried after a temporary error, and fails after a permanent error or its time-out', async () => {
    let attempts = 0
    const abandoned: number[][] = []
    const { add } = aCommit({
      timeoutMs: 400,
      abandoned: ({ all }) => void abandoned.push(all),
      isTemporary: (error) => (error as Error).message === 'unreachable',
      async write({ all }, attempt) {
        attempts++
        if (all.includes(1) && attempt < 2) throw new Error('unreachable')
        if (all.includes(2)) throw new Error('never')
        if (all.includes(3)) throw new Error('unreachable')
      },
    })
    await add(1)
    assert.equal(attempts, 3)
    await assert.rejects(add(2), /never/)
    await assert.rejects(add(3), { status: 503 })
    await eventually(() => assert.deepEqual(abandoned, [[2], [3]]))
    await add(4)
  })

  test('a group that is ordered waits until the one before it is written, with all retries; others do not wait', async () => {
    const written: number[][] = []
    let isBroken = true
    const { add, commit } = aCommit({
      concurrentWrites: 3,
      // Odd numbers are ordered.
      create() {
        const group = create()
        Object.defineProperty(group, 'isOrdered', { get: () => group.all.some((number) => number % 2 === 1) })
        return group
      },
      async write({ all }) {
        if (all.includes(1) && isBroken) throw new Error('unreachable')
        written.push(all)
      },
    })
    const first = add(1)
    await sleep(20)
    await add(2)
    await add(4)
    const third = add(3)
    assert.equal(await Promise.race([third, sleep(30).then(() => 'waits')]), 'waits')
    assert.deepEqual(written, [[2], [4]])
    isBroken = false
    await Promise.all([first, third])
    await commit.drained()
    assert.deepEqual(written, [[2], [4], [1], [3]])
  })

  test('rows beyond the limit of pending bytes are rejected', async () => {
    const { add } = aCommit({ write: () => new Promise(() => {}), timeoutMs: 100 })
    const outcomes = Array.from({ length: 1001 }, (_, index) => add(index))
    assert.throws(() => add(0), { status: 503 })
    await Promise.allSettled(outcomes)
  })
})

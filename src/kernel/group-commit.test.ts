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
  test('an idle writer writes immediately; rows that are added during a write share the next write; callers wait for the commit', async () => {
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

  test('rows of a key wait until earlier rows of this key are written, even if these are retried; rows of other keys do not wait', async () => {
    const written: number[][] = []
    let [isBroken, attempts] = [true, 0]
    const { commit } = aCommit({
      concurrentWrites: 3,
      async write({ all }) {
        attempts++
        if (all.includes(1) && isBroken) throw new Error('unreachable')
        written.push(all)
      },
    })
    const add = (key: string, number: number) => {
      commit.current(key).all.push(number)
      return commit.committed()
    }
    const first = add('a', 1)
    assert.ok(commit.isPending('a'))
    await eventually(() => assert.ok(attempts > 0), { everyMs: 1 })
    const others: Promise<void>[] = []
    // The second group of the key is full, so a third group waits behind it.
    for (let number = 100; number < 160; number++) others.push(add('a', number))
    await add('b', 2)
    await add('c', 3)
    assert.equal(await Promise.race([others[0], sleep(30).then(() => 'waits')]), 'waits')
    assert.deepEqual(written, [[2], [3]])
    assert.ok(!commit.isPending('b'))
    isBroken = false
    await Promise.all([first, ...others])
    await commit.drained()
    assert.deepEqual(
      written.slice(2).map(([number, ...more]) => [number, more.length]),
      [
        [1, 0],
        [100, 49],
        [150, 9],
      ],
    )
    assert.ok(!commit.isPending('a'))
  })

  test('a key whose rows are always being written does not delay rows of other keys', async () => {
    const written: number[] = []
    let isEnded = false
    const { commit } = aCommit({
      concurrentWrites: 1,
      everyMs: 1,
      async write({ all }) {
        written.push(...all)
        await sleep(1)
      },
    })
    const add = (key: string, number: number) => {
      commit.current(key).all.push(number)
      return commit.committed()
    }
    const busy = ['a', 'b'].map(async (key) => {
      while (!isEnded) await Promise.all([add(key, 0), sleep(0).then(() => add(key, 0))])
    })
    for (let number = 1; number <= 20; number++) await add('c', number)
    isEnded = true
    await Promise.all(busy)
    assert.deepEqual(
      written.filter((number) => number > 0),
      Array.from({ length: 20 }, (_, index) => index + 1),
    )
  })

  test('while all connections are busy, new rows join the groups that wait for a connection', async () => {
    const written: number[][] = []
    const ends = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const { commit } = aCommit({
      concurrentWrites: 2,
      everyMs: 0,
      async write({ all }) {
        written.push(all)
        await ends[all[0]!]?.promise
      },
    })
    const add = (key: string, number: number) => {
      commit.current(key).all.push(number)
      return commit.committed()
    }
    const first = add('a', 0)
    await eventually(() => assert.equal(written.length, 1), { everyMs: 1 })
    const second = add('b', 1)
    await eventually(() => assert.equal(written.length, 2), { everyMs: 1 })
    const [afterFirst, free] = [add('a', 10), add('c', 20)]
    ends[0]!.resolve()
    await first
    // Both groups are ready now, and one group starts in the next turn of the event loop.
    const later = [add('a', 11), add('d', 21)]
    ends[1]!.resolve()
    await Promise.all([second, afterFirst, free, ...later])
    assert.deepEqual(written, [[0], [1], [10, 11], [20, 21]])
  })

  test('rows of a key that wait too long fail, and later rows of the key are written', async () => {
    const end = Promise.withResolvers<void>()
    const started: number[] = []
    const { commit } = aCommit({
      timeoutMs: 100,
      async write({ all }) {
        started.push(...all)
        if (all.includes(1)) await end.promise
      },
    })
    const add = (number: number) => {
      commit.current('a').all.push(number)
      return commit.committed()
    }
    const first = add(1)
    await eventually(() => assert.deepEqual(started, [1]), { everyMs: 1 })
    const second = add(2)
    await assert.rejects(first, { status: 503 })
    await assert.rejects(second, { status: 503 })
    end.resolve()
    await eventually(() => add(3))
    await commit.drained()
    assert.ok(!started.includes(2))
    assert.ok(!commit.isPending('a'))
  })

  test('rows beyond the limit of pending bytes are rejected', async () => {
    const { add } = aCommit({ write: () => new Promise(() => {}), timeoutMs: 100 })
    const outcomes = Array.from({ length: 1001 }, (_, index) => add(index))
    assert.throws(() => add(0), { status: 503 })
    await Promise.allSettled(outcomes)
  })
})

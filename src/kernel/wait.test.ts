import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import { eventually } from '../../test/harness/eventually.ts'
import { bytesOfEach } from '../../test/harness/memory.ts'
import { monotonicMs } from './clock.ts'
import { ConnectionError } from './db/errors.ts'
import { CallerDisconnected, DeadlinePassed, ProcessStopping, TooManyRequests } from './errors.ts'
import { createWaits, type Outcome, type RowWaits, type Started } from './wait.ts'

/** Creates a node, and rows whose reads are counted. The test delivers the signals of the node. */
function aNode(limits?: { perTenant: number; total: number }) {
  const handlers: ((payload: never, from: string) => unknown)[] = []
  const resets: (() => void)[] = []
  const stop = new AbortController()
  const sent: unknown[] = []
  const waits = createWaits({
    nodeId: 'node-1',
    signals: {
      on: (_, handler) => void handlers.push(handler as never),
      onReset: (listener) => void resets.push(listener),
      async sendEach(_sql, _signal, messages) {
        for (const { to, payload } of messages) {
          sent.push({ to, payload })
          if (to === 'node/node-1') for (const handler of handlers) handler(payload as never, 'node-1')
        }
      },
    },
    stopping: stop.signal,
    ...(limits && { limits }),
  })
  const rows = new Map<string, string>([['1', 'waiting']])
  const reads: string[][] = []
  const states = waits.define('test.row', async (ids) => {
    reads.push(ids)
    await turn()
    return new Map(ids.flatMap((id) => (rows.has(id) ? [[id, rows.get(id)!]] : [])))
  })
  return {
    waits,
    rows,
    reads,
    sent,
    states,
    wait: (ctx = aCaller().ctx, limitMs = 60_000, id = '1') =>
      states.wait(ctx, id, { until: (state) => state === 'done', limitMs }),
    deliver: (ids: string | string[], name = 'test.row') =>
      handlers.forEach((handler) => void handler({ name, ids: [ids].flat() } as never, 'node-2')),
    reset: () => resets.forEach((listener) => void listener()),
    stop: () => stop.abort(ProcessStopping()),
  }
}

const aCaller = (tenantId = 'default') => {
  const controller = new AbortController()
  return { ctx: { tenantId, signal: controller.signal }, abort: (reason: Error) => controller.abort(reason) }
}
/** Stores a row and waits for it. Resolves with the outcome. */
const outcomeOf = (
  states: RowWaits<string>,
  start: () => Promise<Started<string>>,
  until: (state: string) => boolean,
  ctx: Parameters<typeof states.startAndWait>[0] = aCaller().ctx,
) =>
  new Promise<Outcome<string>>((ended, failed) => {
    states.startAndWait(ctx, start, { until, ended }).catch(failed)
  })
const turn = () => new Promise((resolve) => setImmediate(resolve))

suite('a wait for a row', () => {
  test('a wait for a row ends immediately if the row has the awaited state, and otherwise after a signal for the row', async () => {
    const { wait, rows, reads, deliver, waits } = aNode()
    rows.set('2', 'done')
    assert.equal(await wait(undefined, undefined, '2'), 'done')
    const waiting = wait()
    await eventually(() => assert.equal(reads.length, 2))
    deliver('2')
    deliver('1')
    await eventually(() => assert.equal(reads.length, 3))
    // The third read ends before the row changes.
    for (let n = 0; n < 5; n++) await turn()
    rows.set('1', 'done')
    deliver(['2', '1'])
    assert.equal(await waiting, 'done')
    assert.deepEqual([reads, waits.size], [[['2'], ['1'], ['1'], ['1']], 0])
  })

  test('a wait for a row reads again after a reset, and never without a signal', async () => {
    const { wait, rows, reads, reset } = aNode()
    const waiting = wait()
    await eventually(() => assert.equal(reads.length, 1))
    rows.set('1', 'done')
    for (let n = 0; n < 50; n++) await turn()
    assert.equal(reads.length, 1)
    reset()
    assert.equal(await waiting, 'done')
  })

  test('a wait for a row ends with undefined when the row is deleted', async () => {
    const { wait, rows, reads, deliver } = aNode()
    assert.equal(await wait(undefined, undefined, 'unknown'), undefined)
    const waiting = wait()
    await eventually(() => assert.equal(reads.length, 2))
    rows.delete('1')
    deliver('1')
    assert.equal(await waiting, undefined)
  })

  test('a wait for a row ends at its time limit and at the deadline of the request with the current state', async () => {
    const { wait, rows, reads, waits } = aNode()
    const began = monotonicMs()
    const waiting = wait(undefined, 150)
    await eventually(() => assert.equal(reads.length, 1))
    rows.set('1', 'half done')
    assert.equal(await waiting, 'half done')
    assert.ok(monotonicMs() - began >= 149)
    const { ctx, abort } = aCaller()
    const other = wait(ctx)
    abort(DeadlinePassed())
    assert.equal(await other, 'half done')
    assert.equal(await wait(undefined, 0), 'half done')
    assert.equal(await wait(ctx), 'half done', 'a wait whose deadline has passed must return the current state')
    assert.equal(waits.size, 0)
  })

  test('a wait for a row rejects when the caller disconnects, even during a read, and then no longer counts', async () => {
    const { wait, reads, deliver, waits } = aNode()
    const { ctx, abort } = aCaller()
    const [settled, reading] = [wait(ctx), aCaller()]
    await eventually(() => assert.equal(reads.length, 1))
    await turn()
    const second = wait(reading.ctx)
    reading.abort(CallerDisconnected())
    abort(CallerDisconnected())
    await assert.rejects(settled, CallerDisconnected.is)
    await assert.rejects(second, CallerDisconnected.is)
    await assert.rejects(wait(ctx), CallerDisconnected.is)
    const before = reads.length
    deliver('1')
    await turn()
    assert.deepEqual([reads.length, waits.size], [before, 0])
  })

  test('a wait for a row ends with the current state when the process stops, and later waits end immediately', async () => {
    const { wait, reads, rows, stop, waits } = aNode()
    const early = wait()
    await eventually(() => assert.equal(reads.length, 1))
    rows.set('1', 'half done')
    const late = wait()
    stop()
    assert.deepEqual([await early, await late, await wait()], ['half done', 'half done', 'half done'])
    assert.equal(waits.size, 0)
  })

  test('a wait for a row above the limit of a tenant, or above the total limit, gets 429 with Retry-After', async () => {
    const { wait, rows, deliver } = aNode({ perTenant: 2, total: 3 })
    const mine = [wait(), wait()]
    await assert.rejects(wait(), (error: { headers?: Record<string, string> }) => {
      assert.ok(TooManyRequests.is(error))
      return error.headers?.['retry-after'] === '1'
    })
    const other = wait(aCaller('other').ctx)
    await assert.rejects(wait(aCaller('third').ctx), TooManyRequests.is)
    rows.set('1', 'done')
    deliver('1')
    await Promise.all([...mine, other])
    assert.equal(await wait(), 'done')
  })

  test('a wait for a row fails if a read fails, but continues while the database is unreachable', async () => {
    const { waits, deliver } = aNode()
    let [failure, reads]: [Error | undefined, number] = [new Error('a mistake'), 0]
    const failing = waits.define('test.failing', async (ids) => {
      reads++
      if (failure) throw failure
      return new Map(ids.map((id) => [id, 'done']))
    })
    const wait = (limitMs: number) => failing.wait(aCaller().ctx, '1', { until: (state) => state === 'done', limitMs })
    await assert.rejects(wait(60_000), /a mistake/)
    failure = new ConnectionError('CONNECTION_CLOSED', 'unreachable')
    await assert.rejects(wait(1), /unreachable/, 'a wait must reject if the state is still unknown at the limit')
    const before = reads
    const waiting = wait(60_000)
    await eventually(() => assert.ok(reads > before + 1))
    failure = undefined
    deliver('1', 'test.failing')
    assert.equal(await waiting, 'done')
    assert.throws(() => waits.define('test.failing', async () => new Map()), /defined twice/)
  })

  test('a wait for a row shares its reads with other waits: a thousand waits need few statements', async () => {
    const { wait, rows, reads, reset } = aNode()
    const all = Array.from({ length: 1000 }, (_, n) => {
      rows.set(`row ${n}`, 'waiting')
      return wait(undefined, undefined, `row ${n}`)
    })
    await eventually(() => assert.equal(reads.flat().length, 1000))
    await turn()
    assert.ok(reads.length <= 4, `${reads.length} reads`)
    for (const id of rows.keys()) rows.set(id, 'done')
    reset()
    await Promise.all(all)
    assert.ok(reads.length <= 8, `${reads.length} reads`)
  })

  test('a wait for a row that starts with storing the row reads it only if something may have changed', async () => {
    const { waits, states, rows, reads, deliver, reset } = aNode()
    const sql = undefined as never
    const start = (id: string, storing: () => unknown = () => {}) =>
      outcomeOf(
        states,
        async () => {
          await turn()
          rows.set(id, 'waiting')
          await storing()
          await turn()
          return { id, state: 'waiting', limitMs: 60_000 }
        },
        (state) => state === 'done',
      )
    const quick = start('quick')
    await eventually(() => assert.ok(rows.has('quick')))
    for (let n = 0; n < 20; n++) await turn()
    rows.set('quick', 'done')
    await states.changed(sql, [{ id: 'quick', to: 'node/node-1', state: 'done' }])
    assert.deepEqual(await quick, { id: 'quick', state: 'done' })
    assert.deepEqual(reads, [], 'the wait must use the state that the signal contains, without a read')

    const early = start('early', () => {
      rows.set('early', 'done')
      deliver('early')
    })
    assert.deepEqual(await early, { id: 'early', state: 'done' })
    const afterReset = start('reset', () => {
      rows.set('reset', 'done')
      reset()
    })
    assert.deepEqual(await afterReset, { id: 'reset', state: 'done' })
    assert.deepEqual(reads, [['early'], ['reset']])

    const gone = start('gone')
    await eventually(() => assert.ok(rows.has('gone')))
    for (let n = 0; n < 20; n++) await turn()
    rows.delete('gone')
    states.wake('gone')
    assert.deepEqual(await gone, { id: 'gone', state: undefined })
    assert.equal(waits.size, 0)
  })

  test('a wait for a row that exceeds the limit is rejected before the row is stored; a wait rejects if storing fails', async () => {
    const { waits, states } = aNode({ perTenant: 1, total: 1 })
    let stored = 0
    const start = (storing: () => Promise<{ id: string; state: string; limitMs: number }>) =>
      outcomeOf(states, storing, () => false)
    const never = start(async () => ({ id: '1', state: `${++stored}`, limitMs: 50 }))
    await assert.rejects(
      start(async () => ({ id: '2', state: `${++stored}`, limitMs: 50 })),
      TooManyRequests.is,
    )
    assert.deepEqual(await never, { id: '1', state: 'waiting' })
    const failing = start(async () => {
      throw new Error('no')
    })
    await assert.rejects(failing, /no/)
    assert.deepEqual([stored, waits.size], [1, 0])
  })

  test('a wait for a row: a change sends the new state to other nodes only if the state is small', async () => {
    const { states, sent } = aNode()
    await states.changed(undefined as never, [
      { id: '1', to: 'node/node-1', state: 'done' },
      { id: '2', to: 'node/node-2', state: 'done' },
      { id: '3', to: 'node/node-2', state: 'x'.repeat(1000) },
      { id: '4', to: 'node/node-2' },
    ])
    assert.deepEqual(sent, [
      { to: 'node/node-1', payload: { name: 'test.row', ids: ['1'], states: ['done'] } },
      { to: 'node/node-2', payload: { name: 'test.row', ids: ['2', '3', '4'], states: ['done', null, null] } },
    ])
  })

  test('a caller that stored its row gets the reason if it disconnects, and one of two callers of a row can end before the other', async () => {
    const { states, rows, waits } = aNode()
    rows.set('1', 'waiting')
    const listeners: ((reason: unknown) => void)[] = []
    const onAbort = (listener: (reason: unknown) => void) => {
      listeners.push(listener)
      return () => void listeners.splice(listeners.indexOf(listener), 1)
    }
    const getSignal = () => assert.fail('a caller with onAbort must not create a signal')
    const ctx = Object.defineProperty({ tenantId: 'default', onAbort }, 'signal', { get: getSignal }) as never
    const start = async () => ({ id: '1', state: 'waiting', limitMs: 60_000 })
    const isDone = (state: string) => state === 'done'
    const [left, kept] = [outcomeOf(states, start, isDone, ctx), outcomeOf(states, start, isDone, ctx)]
    await eventually(() => assert.equal(listeners.length, 2))
    const reason = CallerDisconnected()
    listeners[0]!(reason)
    assert.deepEqual(await left, { id: '1', error: reason })
    assert.deepEqual([waits.size, listeners.length], [1, 1])
    rows.set('1', 'done')
    states.wake('1')
    assert.deepEqual(await kept, { id: '1', state: 'done' })
    assert.deepEqual([waits.size, listeners.length], [0, 0])
  })

  test('a caller that waits for a row that it stored needs less than 800 bytes, measured with ten thousand callers', async (t) => {
    const ctx = { tenantId: 'default', onAbort: () => () => {} } as never
    let clear = () => Promise.resolve()
    async function fill() {
      const { waits, states, stop } = aNode({ perTenant: 20_000, total: 20_000 })
      let ended = 0
      const start = async (id: string) => ({ id, state: 'waiting', limitMs: 3_600_000 })
      const caller = { until: () => false, ended: () => void ended++ }
      for (let n = 0; n < 10_000; n++) await states.startAndWait(ctx, () => start(`${n}`), caller)
      assert.equal(waits.size, 10_000)
      clear = async () => {
        stop()
        await eventually(() => assert.deepEqual([ended, waits.size], [10_000, 0]))
      }
    }
    const each = await bytesOfEach(10_000, 800, fill, () => clear())
    t.diagnostic(`${Math.round(each)} bytes each`)
    assert.ok(each < 800, `${each} bytes`)
  })

  test('a wait for a row needs less than 8 KB of memory, measured with ten thousand waiters', async (t) => {
    setFlagsFromString('--expose-gc')
    const collect = runInNewContext('gc') as () => void
    const { waits, states, rows, stop } = aNode({ perTenant: 20_000, total: 20_000 })
    collect()
    const before = process.memoryUsage().heapUsed
    for (let n = 0; n < 10_000; n++) rows.set(`${n}`, 'waiting')
    const all = Array.from({ length: 10_000 }, (_, n) =>
      states.wait(aCaller().ctx, `${n}`, { until: () => false, limitMs: 3_600_000 }),
    )
    await eventually(() => assert.equal(waits.size, 10_000))
    for (let n = 0; n < 100; n++) await turn()
    collect()
    const each = (process.memoryUsage().heapUsed - before) / 10_000
    stop()
    await Promise.all(all)
    t.diagnostic(`${Math.round(each)} bytes each`)
    assert.ok(each < 8192, `${each} bytes`)
  })
})

test('a wait misses no change between its read and its subscription, for any order of reads, changes and signals', async () => {
  const steps = fc.array(fc.constantFrom('write', 'deliver', 'reset', 'turn'), { maxLength: 12 })
  await fc.assert(
    fc.asyncProperty(steps, fc.array(fc.nat(3), { minLength: 1, maxLength: 6 }), async (before, delays) => {
      const { waits, deliver, reset } = aNode()
      let [version, reads] = [0, 0]
      const versions = waits.define('test.version', async (ids) => {
        const seen = version
        for (let n = delays[reads++ % delays.length]!; n > 0; n--) await turn()
        return new Map(ids.map((id) => [id, seen + 1]))
      })
      const last = 1000
      const waiting = versions.wait(aCaller().ctx, 'k', { until: (seen) => seen > last, limitMs: 600_000 })
      const does = { write: () => version++, deliver: () => deliver('k', 'test.version'), reset, turn }
      for (const step of before) await does[step]()
      version = last
      if (before.length % 2 === 0) deliver('k', 'test.version')
      else reset()
      assert.equal(await waiting, last + 1)
      assert.equal(waits.size, 0)
    }),
    { numRuns: 150 },
  )
})

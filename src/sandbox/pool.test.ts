import assert from 'node:assert/strict'
import { test } from 'node:test'
import { afterAllTests } from '../../test/harness/database.ts'
import { eventually } from '../../test/harness/eventually.ts'
import type { HostCall } from './job.ts'
import type { Outcome } from './outcome.ts'
import { SandboxStopped } from './pool.ts'
import { createSandbox, SandboxBusy, type SandboxOptions } from './sandbox.ts'

const worlds = { calling: `(input, call) => ({ wait: (...args) => call('wait', ...args) })` }

function start(options: SandboxOptions = {}) {
  const sandbox = createSandbox({ worlds, ...options })
  afterAllTests(() => sandbox.stop())
  return sandbox
}

const quick = (sandbox: ReturnType<typeof start>, tenantId: string, script = 'return 1') =>
  sandbox.run({ tenantId, input: '{}', script })

/** A script that spends its time in built-in functions, so that only the watchdog can end it. */
const stuck = 'const a = "x".repeat(1e7); let n = 0; while (n < 1e9) n += a.indexOf("y") + 2; return n'

test('a stuck thread is replaced; its script fails, and the scripts behind it run on another thread', async () => {
  const sandbox = start({ active: 1 })
  const outcomes = await Promise.all([
    quick(sandbox, 'acme', 'return 0'),
    sandbox.run({ tenantId: 'acme', input: '{}', script: stuck, limits: { timeMs: 100 } }),
    ...Array.from({ length: 40 }, (_, index) => quick(sandbox, 'acme', `return ${index + 2}`)),
  ])
  assert.deepEqual(
    outcomes.map((outcome) => (outcome.ok ? Number(outcome.json) : outcome.reason)),
    Array.from({ length: 42 }, (_, index) => (index === 1 ? 'TIMEOUT' : index)),
  )
  assert.equal(sandbox.stats().replaced, 1)
})

test('a script that runs for a long time does not delay scripts of other tenants', async () => {
  const sandbox = start({ active: 2 })
  await quick(sandbox, 'acme')
  const long = sandbox.run({
    tenantId: 'acme',
    input: '{}',
    script: 'for (;;);',
    limits: { timeMs: 60_000, steps: 1e12 },
  })
  const ended = assert.rejects(long, SandboxStopped)
  const others = Array.from({ length: 100 }, (_, index) => quick(sandbox, `tenant-${index % 3}`))
  assert.ok((await Promise.all(others)).every(({ ok }) => ok))
  await sandbox.stop()
  await ended
})

test('scripts that wait for host calls do not occupy the threads of other tenants', async () => {
  const sandbox = start({ active: 1, threads: 6, threadsPerTenant: 3 })
  const waiting = Promise.withResolvers<string>()
  let calls = 0
  const call: HostCall = () => {
    calls++
    return waiting.promise
  }
  const runs = Array.from({ length: 5 }, () =>
    sandbox.run({
      tenantId: 'acme',
      world: 'calling',
      input: '{}',
      script: 'return ctx.wait()',
      call,
      limits: { calls: { wait: 1 }, timeMs: 60_000 },
    }),
  )
  await eventually(() => assert.equal(calls, 3), { withinMs: 60_000 })
  assert.equal((await quick(sandbox, 'other')).ok, true)
  assert.equal(calls, 3, 'a tenant may have at most three threads')
  waiting.resolve('done')
  for (const outcome of await Promise.all(runs)) assert.equal(outcome.ok && outcome.json, '"done"')
  assert.equal(calls, 5)
})

test('scripts that wait for nested scripts of their tenant get the results, and leave threads to other tenants', async () => {
  const sandbox = start({ active: 1, threads: 12, threadsPerTenant: 2, threadsWithNested: 7 })
  const run = (depth: number, isNested: boolean): Promise<Outcome> =>
    sandbox.run({
      tenantId: 'acme',
      world: 'calling',
      input: '{}',
      script: depth === 0 ? 'return 0' : 'return 1 + ctx.wait()',
      call: async () => {
        const outcome = await run(depth - 1, true)
        return outcome.ok ? JSON.parse(outcome.json) : outcome.reason
      },
      limits: { calls: { wait: 1 }, timeMs: 60_000 },
      isNested,
    })
  const outcomes = await Promise.all([run(4, false), run(1, false), run(1, false)])
  assert.deepEqual(
    outcomes.map((outcome) => outcome.ok && outcome.json),
    ['4', '1', '1'],
  )
  assert.ok(sandbox.stats().threads <= 7, `at most 7 threads are allowed, and there are ${sandbox.stats().threads}`)
})

test('tenants take turns, even if one tenant has queued many scripts', async () => {
  const sandbox = start({ active: 1 })
  await quick(sandbox, 'warm-up')
  const order: string[] = []
  const note = (tenantId: string) => quick(sandbox, tenantId).then(() => order.push(tenantId))
  const flood = Array.from({ length: 500 }, () => note('flood'))
  await Promise.all([...flood, note('small'), note('tiny')])
  assert.ok(order.indexOf('small') <= 64, `the small tenant waited for ${order.indexOf('small')} scripts`)
  assert.ok(order.indexOf('tiny') <= 96)
})

test('when the queue of a tenant is full, only scripts of this tenant are rejected', async () => {
  const sandbox = start({ active: 1, queuePerTenant: 10 })
  const runs = Array.from({ length: 15 }, () => quick(sandbox, 'acme'))
  const other = quick(sandbox, 'other')
  const results = await Promise.allSettled(runs)
  assert.equal(results.filter(({ status }) => status === 'fulfilled').length, 10)
  const refused = results.filter((result) => result.status === 'rejected')
  assert.equal(refused.length, 5)
  for (const { reason } of refused) {
    assert.ok(reason instanceof SandboxBusy)
    assert.match(reason.message, /too many scripts of tenant acme are waiting/)
  }
  assert.equal((await other).ok, true)
  assert.equal((await quick(sandbox, 'acme')).ok, true, 'the queue must accept work again')
})

test('the total size of queued contexts is limited', async () => {
  const sandbox = start({ active: 1 })
  const input = `"${'x'.repeat(7 * 2 ** 20)}"`
  const runs = Array.from({ length: 6 }, () => sandbox.run({ tenantId: 'acme', input, script: 'return ctx.length' }))
  const results = await Promise.allSettled(runs)
  assert.equal(results.filter(({ status }) => status === 'rejected').length, 2)
})

test('when the sandbox stops, waiting and running scripts end with an error', async () => {
  const sandbox = start({ active: 1 })
  await quick(sandbox, 'acme')
  const running = sandbox.run({
    tenantId: 'acme',
    input: '{}',
    script: 'for (;;);',
    limits: { steps: 1e12, timeMs: 60_000 },
  })
  const waiting = quick(sandbox, 'other')
  const ended = Promise.allSettled([running, waiting])
  await eventually(() => assert.equal(sandbox.stats().busy, 1), { withinMs: 60_000 })
  await sandbox.stop()
  for (const result of await ended)
    assert.ok(result.status === 'rejected' && result.reason instanceof SandboxStopped, JSON.stringify(result))
  await assert.rejects(quick(sandbox, 'acme'), SandboxStopped)
  assert.equal(sandbox.stats().threads, 0)
})

test('if a world of the sandbox cannot be built, scripts fail instead of waiting for ever', async () => {
  const errors: unknown[] = []
  const sandbox = start({ active: 1, worlds: { broken: '() => {' }, onError: (error) => errors.push(error) })
  const outcome = await quick(sandbox, 'acme')
  assert.deepEqual(!outcome.ok && [outcome.reason, outcome.message], ['CRASH', 'the sandbox cannot start'])
  assert.ok(errors.length > 0)
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { afterAllTests } from '../../test/harness/database.ts'
import { eventually } from '../../test/harness/eventually.ts'
import { type HostileScript, hostileScripts, hostTexts } from '../../test/harness/hostile-scripts.ts'
import { CallRejected } from './job.ts'
import type { Limits } from './limits.ts'
import type { Outcome } from './outcome.ts'
import { createSandbox } from './sandbox.ts'

const world = `(input, call) => ({ ...input, toolbox: { httpClient: { get: (...args) => call('http', ...args) } } })`
const sandbox = createSandbox({ worlds: { hostile: world }, memoryBytes: 12 * 2 ** 20 })
afterAllTests(() => sandbox.stop())

// The limit of steps is lower than the default, so that loops end soon even on a busy machine.
const common: Partial<Limits> = { steps: 200_000, timeMs: 9500, calls: { http: 20 } }
const limits = {
  steps: common,
  memory: { ...common, steps: 3_000_000 },
  watchdog: { ...common, steps: 1e12, timeMs: 200 },
}

const run = (tenantId: string, { script, uses }: HostileScript): Promise<Outcome> =>
  sandbox.run({
    tenantId,
    world: 'hostile',
    input: '{"tenantId":"t","data":{"list":[1,2,3]}}',
    script,
    limits: limits[uses],
    call: async (name) => {
      throw new CallRejected(`${name} is refused`)
    },
  })

function checkOutcome({ name, script, fails = [], returns, uses }: HostileScript, outcome: Outcome) {
  const description = `${name} → ${JSON.stringify(outcome).slice(0, 500)}`
  if (outcome.ok) assert.equal(outcome.json, returns, description)
  else {
    assert.ok(fails.includes(outcome.reason) || (uses === 'memory' && outcome.reason === 'TIMEOUT'), description)
    assert.ok(outcome.message.length > 0 && outcome.message.length < 5000, description)
    if (outcome.line !== undefined) assert.ok(outcome.line <= script.split('\n').length, description)
  }
  assert.ok(outcome.durationMs < 10_000, description)
  assert.doesNotMatch(JSON.stringify({ ...outcome, script: undefined }), hostTexts, description)
}

test('more than 100 hostile scripts end within their limits, and the memory is released', async () => {
  assert.ok(hostileScripts.length > 100)
  await run('warm-up', { name: 'warm-up', script: 'return 1', uses: 'steps' })
  const before = process.memoryUsage().rss
  const outcomes = await Promise.all(hostileScripts.map((script, index) => run(`tenant-${index % 3}`, script)))
  for (const [index, outcome] of outcomes.entries()) checkOutcome(hostileScripts[index]!, outcome)
  const { threads, queued } = sandbox.stats()
  assert.equal(queued, 0)
  assert.ok(threads <= 16, `${threads} threads`)
  await sandbox.stop()
  await eventually(
    () => {
      const growth = (process.memoryUsage().rss - before) / 2 ** 20
      assert.ok(growth < 64, `the memory has grown by ${growth} MB`)
    },
    { withinMs: 60_000 },
  )
})

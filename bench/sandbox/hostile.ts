import { sleep } from '../../src/kernel/clock.ts'
import { CallRejected } from '../../src/sandbox/job.ts'
import { createSandbox } from '../../src/sandbox/sandbox.ts'
import { type HostileScript, hostileScripts } from '../../test/harness/hostile-scripts.ts'

const world = `(input, call) => ({ ...input, toolbox: { httpClient: { get: (...args) => call('http', ...args) } } })`

/** Runs all hostile scripts with the limits of production. */
export async function runHostile() {
  const sandbox = createSandbox({ worlds: { hostile: world } })
  const run = async ({ script, fails = [], returns }: HostileScript, index: number) => {
    const outcome = await sandbox.run({
      tenantId: `tenant-${index % 4}`,
      world: 'hostile',
      input: '{"data":{}}',
      script,
      limits,
      call: () => Promise.reject(new CallRejected('refused')),
    })
    const isExpected = outcome.ok ? outcome.json === returns : [...fails, 'TIMEOUT'].includes(outcome.reason)
    return { isExpected, seconds: outcome.durationMs / 1000 }
  }
  await run({ name: 'warm-up', script: 'return 1', uses: 'steps' }, 0)
  const before = process.memoryUsage().rss
  const outcomes = await Promise.all(hostileScripts.map(run))
  await sandbox.stop()
  await sleep(2000)
  return {
    count: hostileScripts.length,
    unexpected: outcomes.filter(({ isExpected }) => !isExpected).length,
    longestSeconds: Math.max(...outcomes.map(({ seconds }) => seconds)),
    growthMb: (process.memoryUsage().rss - before) / 2 ** 20,
  }
}

const limits = { calls: { http: 20 } }

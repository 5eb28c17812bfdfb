import { createSandbox, type Sandbox } from '../../src/sandbox/sandbox.ts'

const everyMs = 20
const count = 400

/** Compares the latency of short scripts of one tenant while another tenant does nothing, loops, or floods its queue. */
export async function measureNeighbour() {
  const sandbox = createSandbox()
  await latencyPercentile(sandbox, 50)
  const unloaded = await latencyPercentile(sandbox, count)
  const withLoops = await during(() => sandbox.run({ ...request, tenantId: 'loops', script: 'for (;;);' }), sandbox, 1)
  const withFlood = await during(() => sandbox.run({ ...request, tenantId: 'floods' }), sandbox, 500)
  await sandbox.stop()
  return { unloaded, withLoops, withFlood }
}

const request = { tenantId: 'neighbour', input: '{"a":1}', script: 'return ctx.a + 1' }

/** Returns the latency while `parallel` callers repeat the work without a pause. */
async function during(work: () => Promise<unknown>, sandbox: Sandbox, parallel: number): Promise<number> {
  let isRunning = true
  const repeat = async () => {
    while (isRunning) await work()
  }
  const running = Array.from({ length: parallel }, repeat)
  const measured = await latencyPercentile(sandbox, count)
  isRunning = false
  await Promise.all(running)
  return measured
}

/** Runs short scripts at a steady rate. Returns the 99th percentile of their latencies in milliseconds. */
async function latencyPercentile(sandbox: Sandbox, runs: number): Promise<number> {
  const times: Promise<number>[] = []
  for (let index = 0; index < runs; index++) {
    await new Promise((done) => setTimeout(done, everyMs))
    const began = performance.now()
    times.push(sandbox.run(request).then(() => performance.now() - began))
  }
  const sorted = (await Promise.all(times)).toSorted((a, b) => a - b)
  return sorted[Math.floor(runs * 0.99)]!
}

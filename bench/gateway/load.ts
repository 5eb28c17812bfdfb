/** The process that sends load to a server. Its parent process (generator.ts) sends it instructions. */
import { sleep } from '../../src/kernel/clock.ts'
import { cpuSeconds } from '../../test/harness/processes.ts'
import { createFleet, type Device, type ExpectedReply, type Fleet } from './fleet.ts'
import { createHistogram } from './histogram.ts'
import { type PayloadName, payloads } from './payloads.ts'

export interface ConnectOrder {
  port: number
  count: number
  expecting: ExpectedReply
  window: number
  /** Maximum number of connections that are being opened at the same time. */
  concurrency: number
  versionName: string
  payload: PayloadName
  /** Tokens of the endpoints. Without this option, the bench invents tokens, for servers that do not check tokens. */
  tokens?: string[]
  subscribes?: boolean
  /** If true, each connection immediately sends a first message, and counts as connected when this message is answered. */
  firstMessage?: boolean
}

export interface ConnectResult {
  seconds: number
  p50Ms: number
  p99Ms: number
  slowestMs: number
  /** Number of connections that were refused or closed before their first response, and then opened again. */
  retries: number
}

export interface RunOrder {
  seconds: number
  warmUpSeconds: number
  /** Messages per second over all connections. Without a rate, every connection sends as fast as possible. */
  rate?: number
  /** Processes whose processor time is measured, separately for each. */
  pids: number[]
  /** Length of a period. The quantiles of each period are reported, besides the quantiles of the whole run. */
  periodSeconds?: number
}

export interface Period {
  messages: number
  p50Ms: number
  p99Ms: number
  maxMs: number
}

export interface RunResult {
  periods?: Period[]
  messages: number
  seconds: number
  p50Ms: number
  p99Ms: number
  cpuSeconds: number[]
  /** Processor time of this process, to see which side was the bottleneck. */
  loadCpuSeconds: number
  lost: number
  refused: number
}

type Order = { connect: ConnectOrder } | { run: RunOrder } | { close: true }

const latencies = createHistogram()
let fleet: Fleet | undefined
let windowSize = 1

async function connect(order: ConnectOrder): Promise<ConnectResult> {
  windowSize = order.window
  const token = (n: number) => order.tokens?.[n] ?? `token${n}`
  const created = createFleet({
    ...order,
    payload: payloads[order.payload](),
    topic: (n) => `kp1/${order.versionName}/dcx/${token(n)}/json`,
    clientId: (n) => `bench-${process.pid}-${n}`,
  })
  fleet = created.fleet
  latencies.clear()
  let slowestMs = 0
  let next = 0
  let retries = 0
  const began = performance.now()
  const resolvers = new Map<object, () => void>()
  fleet.onDone = (device) => resolvers.get(device)?.()
  /** Sends the first message. Returns false if the connection ends before the response. */
  const sendFirst = (device: Device, started: number) =>
    new Promise<boolean>((done) => {
      device.onLost = () => done(false)
      resolvers.set(device, () => done(true))
      fleet!.send(device, 1, started)
    })
  const connectOne = async (n: number, started: number): Promise<boolean> => {
    if (!order.firstMessage) return Boolean(await created.open(n))
    const device = await created.open(n).catch(() => undefined)
    if (!device || !(await sendFirst(device, started))) return false
    device.onLost = undefined
    return true
  }
  const worker = async () => {
    while (next < order.count) {
      const n = next++
      const started = performance.now()
      while (!(await connectOne(n, started))) {
        if (retries++ > order.count) throw new Error('too many connections are refused or closed')
        await sleep(200 + Math.random() * 800)
      }
      const taken = performance.now() - started
      latencies.add(taken * 1000)
      slowestMs = Math.max(slowestMs, taken)
    }
  }
  await Promise.all(Array.from({ length: order.concurrency }, worker))
  const seconds = (performance.now() - began) / 1000
  if (fleet.errorCount() > 0) throw new Error(`${fleet.errorCount()} first messages were refused`)
  return { seconds, p50Ms: latencies.quantileMs(0.5), p99Ms: latencies.quantileMs(0.99), slowestMs, retries }
}

/** Collects the quantiles of each period. */
function startPeriods(seconds: number | undefined) {
  const periods: Period[] = []
  const current = createHistogram()
  let messages = 0
  const timer = seconds === undefined ? undefined : setInterval(finish, seconds * 1000)
  function finish() {
    const [p50Ms, p99Ms, maxMs] = [0.5, 0.99, 1].map((share) => current.quantileMs(share)) as [number, number, number]
    periods.push({ messages, p50Ms, p99Ms, maxMs })
    process.send?.({ period: periods.at(-1) })
    current.clear()
    messages = 0
  }
  return {
    periods,
    add(microseconds: number) {
      current.add(microseconds)
      messages++
    },
    stop: () => clearInterval(timer),
  }
}

async function run({ seconds, warmUpSeconds, rate, pids, periodSeconds }: RunOrder): Promise<RunResult> {
  const devices = fleet!.devices
  let running = true
  let messages = 0
  let inPeriods: ReturnType<typeof startPeriods> | undefined
  fleet!.onDone = (device, count) => {
    const now = performance.now()
    const first = device.done - count
    for (let n = 0; n < count; n++) {
      const microseconds = (now - device.since[(first + n) % windowSize]!) * 1000
      latencies.add(microseconds)
      inPeriods?.add(microseconds)
    }
    messages += count
    if (running && rate === undefined) fleet!.send(device, count, now)
  }
  const pace = rate === undefined ? startAll() : sendSteadily(rate)
  await sleep(warmUpSeconds * 1000)
  latencies.clear()
  messages = 0
  const before = pids.map(cpuSeconds)
  const cpuBefore = process.cpuUsage()
  const began = performance.now()
  if (periodSeconds !== undefined) inPeriods = startPeriods(periodSeconds)
  // The run is 500 ms longer, so that the timer of the last period fires before the run ends.
  await sleep(seconds * 1000 + (periodSeconds === undefined ? 0 : 500))
  inPeriods?.stop()
  const taken = (performance.now() - began) / 1000
  const after = pids.map(cpuSeconds)
  const { user, system } = process.cpuUsage(cpuBefore)
  const result: RunResult = {
    messages,
    seconds: taken,
    p50Ms: latencies.quantileMs(0.5),
    p99Ms: latencies.quantileMs(0.99),
    cpuSeconds: after.map((value, index) => value - before[index]!),
    loadCpuSeconds: (user + system) / 1e6,
    lost: fleet!.lost(),
    refused: fleet!.errorCount(),
    ...(inPeriods && { periods: inPeriods.periods }),
  }
  running = false
  clearInterval(pace)
  const deadline = performance.now() + 10_000
  while (devices.some(({ sent, done }) => sent > done) && performance.now() < deadline) await sleep(20)
  return result
}

function startAll(): undefined {
  for (const device of fleet!.devices) fleet!.send(device, windowSize, performance.now())
}

/** Sends at a steady rate, even if responses are late. The latency of a message is measured from its due time. */
function sendSteadily(rate: number): NodeJS.Timeout {
  const devices = fleet!.devices
  const began = performance.now()
  let sent = 0
  let turn = 0
  return setInterval(() => {
    const due = Math.floor(((performance.now() - began) / 1000) * rate)
    let passed = 0
    while (sent < due && passed < devices.length) {
      const device = devices[turn++ % devices.length]!
      if (device.sent - device.done >= windowSize) {
        passed++
        continue
      }
      fleet!.send(device, 1, began + (sent / rate) * 1000)
      sent++
      passed = 0
    }
  }, 1)
}

async function execute(order: Order): Promise<unknown> {
  if ('connect' in order) return await connect(order.connect)
  if ('run' in order) return await run(order.run)
  await fleet?.close()
  fleet = undefined
  return null
}

process.on('message', (order: Order) => {
  execute(order).then(
    (done) => process.send!({ done }),
    (error: Error) => process.send!({ failed: error.message }),
  )
})
process.on('disconnect', () => process.exit())

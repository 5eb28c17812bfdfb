/** Measures the time from a device message through a rule to a webhook, compared with a bare POST to the same receiver at the same rate. */
import { Agent, createServer, request } from 'node:http'
import net, { type AddressInfo } from 'node:net'
import { sleep } from '../src/kernel/clock.ts'
import { type Ask, bearer, client } from '../test/harness/client.ts'
import { cpuSeconds } from '../test/harness/processes.ts'
import { openBenchNodes } from './commands/nodes.ts'
import { versionName } from './gateway/bench-platform.ts'
import { connect, publish } from './gateway/packets.ts'
import { quantile } from './register/measure.ts'
import type { Figure } from './report.ts'

/** BENCH_SECONDS sets a shorter duration for a quick run. */
const seconds = Number(process.env.BENCH_SECONDS ?? 15)
const warmUpSeconds = 5
const perSecond = 1000
const deviceCount = 100
const rules = '/re/api/v1'

/** A server that records arrival times by the number of the message, in milliseconds of the clock of this process. */
interface Receiver {
  arrivals: Map<number, number>
  /** Number of requests that arrived more than once. */
  repeated: number
  url: string
  close(): void
}

export async function rulesWebhooks(): Promise<Figure[]> {
  const bench = await openBenchNodes(deviceCount, 500, { WAYPOST_ALLOW_PRIVATE_ADDRESSES: 'on', NODE_OPTIONS: '' })
  const receiver = await openReceiver()
  try {
    await createRule(client(bench.node.baseUrl, bearer(await bench.token())), receiver.url)
    const send = await openDevices(bench.node.mqttUrl, bench.tokens.slice(0, deviceCount))
    await measure(receiver, send, warmUpSeconds)
    await measure(receiver, bareSender(receiver.url), 2)
    const results: Results[] = []
    // The parts alternate, because the load of the machine varies.
    for (let part = 0; part < 3; part++) {
      const bare = await measure(receiver, bareSender(receiver.url), seconds / 3)
      const before = cpuSeconds(bench.node.pid)
      const rule = await measure(receiver, send, seconds / 3)
      results.push({ bare, rule, cpu: cpuSeconds(bench.node.pid) - before })
    }
    return figuresOf(results)
  } finally {
    receiver.close()
    await bench.close()
  }
}

interface Measured {
  latencies: number[]
  lost: number
  repeated: number
}

interface Results {
  bare: Measured
  rule: Measured
  /** Processor seconds of the node during the part with the rule. */
  cpu: number
}

function figuresOf(results: Results[]): Figure[] {
  const bare = results.flatMap(({ bare: { latencies } }) => latencies)
  const rule = results.flatMap(({ rule: { latencies } }) => latencies)
  const sum = (figureOf: (result: Measured) => number) => results.reduce((total, { rule }) => total + figureOf(rule), 0)
  return [
    { name: `Bare POST at ${perSecond}/s: p50`, value: quantile(bare, 0.5), unit: 'ms' },
    { name: `Bare POST at ${perSecond}/s: p99`, value: quantile(bare, 0.99), unit: 'ms' },
    { name: `Device message → rule → webhook at ${perSecond}/s: p50`, value: quantile(rule, 0.5), unit: 'ms' },
    { name: `Device message → rule → webhook at ${perSecond}/s: p99`, value: quantile(rule, 0.99), unit: 'ms' },
    {
      name: '… p99 against a bare POST',
      value: quantile(rule, 0.99) / quantile(bare, 0.99),
      unit: 'times',
      limit: { max: 10 },
    },
    {
      name: '… processor time of the node for a message, with its threads',
      value: (results.reduce((total, { cpu }) => total + cpu, 0) / rule.length) * 1e6,
      unit: 'µs',
    },
    { name: '… lost messages', value: sum(({ lost }) => lost), unit: 'messages', limit: { max: 0 } },
    { name: '… requests sent again', value: sum(({ repeated }) => repeated), unit: 'requests', limit: { max: 0 } },
  ]
}

export function openReceiver(): Promise<Receiver> {
  const arrivals = new Map<number, number>()
  const server = createServer((incoming, response) => {
    const chunks: Buffer[] = []
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk))
    incoming.on('end', () => {
      const { n } = JSON.parse(Buffer.concat(chunks).toString()) as { n: number }
      if (arrivals.has(n)) receiver.repeated++
      else arrivals.set(n, performance.now())
      response.writeHead(204).end()
    })
  })
  const receiver: Receiver = { arrivals, repeated: 0, url: '', close: () => server.close() }
  server.keepAliveTimeout = 60_000
  return new Promise((done) =>
    server.listen(0, '127.0.0.1', () => {
      receiver.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`
      done(receiver)
    }),
  )
}

export async function createRule(ask: Ask, url: string) {
  const make = async (path: string, body: unknown) => {
    const answer = await ask(`POST ${rules}${path}`, body)
    if (answer.status !== 201) throw new Error(`${path}: ${answer.status} ${answer.text}`)
    return answer.headers.get('location')!.split('/').at(-1)!
  }
  const sample = 'ctx.trigger.endpointDataSamplesReceived.dataSamples[0]'
  const rule = await make('/rules', { name: 'hot', expression: `return ${sample}.t > 30` })
  const trigger = await make('/trigger-types/endpoint-data-samples-received/triggers', {
    name: 'samples',
    appVersionName: versionName,
  })
  const action = await make('/action-types/webhook/actions', {
    name: 'hook',
    webhookUrl: url,
    webhookPayloadExpression: `return { n: ${sample}.n, endpointId: ctx.endpoint.endpointId }`,
  })
  await ask(`PUT ${rules}/rules/${rule}/trigger-types/endpoint-data-samples-received/triggers`, [trigger])
  await ask(`PUT ${rules}/rules/${rule}/action-types/webhook/actions`, { positiveActionIds: [action] })
}

export type SendOne = (n: number) => void

/** Connects devices. Returns a function that sends the sample with the given number from one of the devices. */
export async function openDevices(
  mqttUrl: string,
  tokens: string[],
  acknowledged: () => void = () => {},
): Promise<SendOne> {
  const sockets = await Promise.all(
    tokens.map(async (token) => {
      const socket = net.connect({ port: Number(new URL(mqttUrl).port), host: '127.0.0.1', noDelay: true })
      socket.on('data', acknowledged)
      await new Promise((done) => socket.once('connect', done))
      socket.write(connect(`webhook-${token}`))
      return { socket, topic: `kp1/${versionName}/dcx/${token}/json` }
    }),
  )
  let packetId = 0
  return (n) => {
    const { socket, topic } = sockets[n % sockets.length]!
    packetId = (packetId % 60_000) + 1
    socket.write(publish(topic, packetId, Buffer.from(JSON.stringify({ t: 31, n }))))
  }
}

/** Returns a function that sends POST requests on up to 16 keep-alive connections, as many as the platform uses. */
function bareSender(url: string): SendOne {
  const agent = new Agent({ keepAlive: true, maxSockets: 16 })
  const { hostname, port, pathname } = new URL(url)
  return (n) => {
    const body = JSON.stringify({ n, endpointId: 'x' })
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }
    const outgoing = request({ method: 'POST', hostname, port, path: pathname, headers, agent })
    outgoing.on('response', (response) => response.resume())
    outgoing.end(body)
  }
}

let next = 0

/** Sends messages at a steady rate, waits until they have arrived, and returns their latencies. */
export async function measure(
  receiver: Receiver,
  send: SendOne,
  forSeconds: number,
  rate = perSecond,
): Promise<Measured> {
  const repeatedBefore = receiver.repeated
  const sent = new Map<number, number>()
  const began = performance.now()
  const total = Math.round(forSeconds * rate)
  while (sent.size < total) {
    const due = Math.min(total, Math.floor(((performance.now() - began) / 1000) * rate))
    while (sent.size < due) {
      sent.set(next, performance.now())
      send(next++)
    }
    await sleep(1)
  }
  const missing = () => [...sent.keys()].filter((n) => !receiver.arrivals.has(n))
  for (let waited = 0; waited < 30_000 && missing().length > 0; waited += 50) await sleep(50)
  const latencies = [...sent].flatMap(([n, at]) => {
    const arrived = receiver.arrivals.get(n)
    return arrived === undefined ? [] : [arrived - at]
  })
  return { latencies, lost: missing().length, repeated: receiver.repeated - repeatedBefore }
}

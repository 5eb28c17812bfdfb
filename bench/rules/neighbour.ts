/** Measures evaluations, webhooks and acknowledgements of one tenant while rules of another tenant loop, flood queues and hang. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Ask, bearer, client } from '../../test/harness/client.ts'
import { openBenchNodes } from '../commands/nodes.ts'
import { serviceToken } from '../platform.ts'
import { openHttpConnection } from '../register/http-connection.ts'
import { quantile } from '../register/measure.ts'
import type { Figure } from '../report.ts'
import { createRule, measure as measureWebhooks, openDevices, openReceiver, type SendOne } from '../rules-webhooks.ts'

const seconds = Number(process.env.BENCH_SECONDS ?? 6)
const perSecond = 50
const deviceCount = 20
const root = '/re/api/v1'

/** 99th percentiles of latencies, in milliseconds. */
interface Latencies {
  evaluations: number
  webhooks: number
  acknowledgements: number
}

export async function neighbour(): Promise<Figure[]> {
  const bench = await openBenchNodes(deviceCount, 500, { WAYPOST_ALLOW_PRIVATE_ADDRESSES: 'on', NODE_OPTIONS: '' })
  const [receiver, hanging] = [await openReceiver(), await openHangingReceiver()]
  try {
    const { node } = bench
    const token = await bench.token()
    await createRule(client(node.baseUrl, bearer(token)), receiver.url)
    const probe = await openProbe(node, token, bench.tokens, receiver)
    const noisy = client(node.baseUrl, bearer(await serviceToken(node, node.bootstrap.platform)))
    const noises = await createNoises(noisy, receiver.url, hanging.url)
    await probe()
    const unloaded = await probe()
    const figures: Figure[] = figuresOf('without load', unloaded)
    for (const [name, ruleId] of Object.entries(noises)) {
      const stop = repeat(noisy, ruleId)
      const measured = await probe()
      await stop()
      figures.push(...figuresOf(name, measured, unloaded))
    }
    return figures
  } finally {
    receiver.close()
    hanging.close()
    await bench.close()
  }
}

function figuresOf(name: string, measured: Latencies, unloaded?: Latencies): Figure[] {
  return (Object.keys(measured) as (keyof Latencies)[]).map((kind) => {
    const text = `Neighbour's ${kind}, ${unloaded ? `another tenant's rules ${name}` : name}: p99`
    if (!unloaded) return { name: text, value: measured[kind], unit: 'ms' }
    return {
      name: `${text} against no load`,
      value: measured[kind] / unloaded[kind],
      unit: 'times',
      limit: { max: 2 },
    }
  })
}

async function openProbe(
  { baseUrl, mqttUrl }: { baseUrl: string; mqttUrl: string },
  token: string,
  tokens: string[],
  receiver: Awaited<ReturnType<typeof openReceiver>>,
): Promise<() => Promise<Latencies>> {
  const connection = await openHttpConnection(baseUrl)
  const acknowledgements: number[] = []
  const sentAt: number[] = []
  // A device sends a message long after the previous message was acknowledged, so responses arrive in the order of the messages.
  const send = await openDevices(mqttUrl, tokens, () => {
    const since = sentAt.shift()
    if (since !== undefined) acknowledgements.push(performance.now() - since)
  })
  const timedSend: SendOne = (n) => {
    sentAt.push(performance.now())
    send(n)
  }
  const body = { expression: 'return ctx.endpointMetadata.level < 15', endpointMetadata: { level: 10 } }
  const evaluate = async () => {
    const times: number[] = []
    const end = performance.now() + seconds * 1000
    while (performance.now() < end) {
      const began = performance.now()
      await connection.ask('POST', `${root}/expressions/evaluation`, token, body)
      times.push(performance.now() - began)
      await new Promise((resolve) => setTimeout(resolve, 1000 / perSecond))
    }
    return times
  }
  return async () => {
    acknowledgements.length = 0
    sentAt.length = 0
    const [evaluations, { latencies, lost }] = await Promise.all([
      evaluate(),
      measureWebhooks(receiver, timedSend, seconds, perSecond),
    ])
    if (lost > 0) throw new Error(`${lost} webhooks of the neighbour were lost`)
    const p99 = (times: number[]) => quantile(times, 0.99)
    return {
      evaluations: p99(evaluations),
      webhooks: p99(latencies),
      acknowledgements: p99(acknowledgements),
    }
  }
}

/** Creates the rules of the other tenant, and returns their ids. */
async function createNoises(ask: Ask, url: string, hangingUrl: string): Promise<Record<string, string>> {
  const make = async (path: string, body: unknown) => {
    const answer = await ask(`POST ${root}${path}`, body)
    if (answer.status !== 201) throw new Error(`${path}: ${answer.status} ${answer.text}`)
    return answer.headers.get('location')!.split('/').at(-1)!
  }
  const withWebhooks = async (name: string, webhookUrl: string, count: number) => {
    const ruleId = await make('/rules', { name, expression: 'return true' })
    const positiveActionIds: string[] = []
    for (let n = 0; n < count; n++)
      positiveActionIds.push(
        await make('/action-types/webhook/actions', {
          name: `${name} ${n}`,
          webhookUrl,
          webhookPayloadExpression: `return { n: ${-1 - n} }`,
        }),
      )
    const { status, text } = await ask(`PUT ${root}/rules/${ruleId}/action-types/webhook/actions`, {
      positiveActionIds,
    })
    if (status !== 204) throw new Error(text)
    return ruleId
  }
  return {
    loop: await make('/rules', { name: 'loop', expression: 'for (;;);' }),
    flood: await withWebhooks('flood', url, 10),
    hang: await withWebhooks('hang', hangingUrl, 2),
  }
}

/** Makes four callers execute a rule again and again. Returns a function that stops them. */
function repeat(ask: Ask, ruleId: string): () => Promise<void> {
  let isRunning = true
  const callers = Array.from({ length: 4 }, async () => {
    while (isRunning) await ask(`POST ${root}/rules/${ruleId}/execute`, {}).catch(() => undefined)
  })
  return async () => {
    isRunning = false
    await Promise.all(callers)
  }
}

async function openHangingReceiver() {
  const server = createServer(() => {})
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hang`,
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}

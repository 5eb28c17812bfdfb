/**
 * Kills one of two nodes with SIGKILL, again and again. Devices send samples to both nodes, and a schedule runs a rule every second (a
 * tick). Asserts that every acknowledged sample causes a webhook request, that each webhook is sent at most twice, that no run has two
 * traces, that no tick runs twice, that no alert is open twice, and that the statistics equal the traces.
 */
import assert from 'node:assert/strict'
import { sleep } from '../../src/kernel/clock.ts'
import { connect } from '../../src/kernel/db.ts'
import type { Ask } from '../harness/client.ts'
import { eventually } from '../harness/eventually.ts'
import { nodeDirectories, type RunningPlatform, startPlatform, usedDatabase } from '../harness/platform.ts'
import { seededRandom } from '../harness/seeded-random.ts'
import { aReceiver } from '../harness/webhook-receiver.ts'
import { killAll } from './kill.ts'

export interface EffectsKillReport {
  rounds: number
  /** Acknowledged samples. Each caused a webhook request. */
  samples: number
  /** Samples that the device sent more than once, because the first request got no response. */
  retransmitted: number
  webhooks: number
  /** Webhooks that were sent twice, because their node was killed before it received the response. */
  repeatedWebhooks: number
  ticks: number
  alerts: number
  traces: number
}

const app = 'plant'
const version = `${app}-v1`
const deviceCount = 10
const root = '/re/api/v1'

export async function killEffectRounds(options: { rounds: number; seed: number }): Promise<EffectsKillReport> {
  const random = seededRandom(options.seed)
  const database = await usedDatabase()
  const environment = {
    ...database.environment,
    WAYPOST_ALLOW_PRIVATE_ADDRESSES: 'on',
    WAYPOST_LOG_LEVEL: 'error',
  }
  const directories = nodeDirectories(2)
  const start = (index: number) => startPlatform({ directory: directories[index]!, environment })
  const nodes: RunningPlatform[] = [await start(0)]
  nodes.push(await start(1))
  const secrets = nodes[0]!.bootstrap.default
  const receiver = await aReceiver()
  const rules = await prepare(await nodes[0]!.asService(secrets), receiver.url)
  const load = startLoad(nodes, random)
  for (let round = 0; round < options.rounds; round++) {
    await sleep(500 + random() * 1500)
    const victim = Math.floor(random() * 2)
    await killAll(nodes[victim]!)
    nodes[victim] = await start(victim)
  }
  const { acknowledged, retransmitted } = await load.stop()
  const sql = connect(database.connection, { max: 2, name: 'faults' })
  try {
    await eventually(
      async () => {
        const [row] = await sql`
          select (select count(*) from rules.events)::int as events, (select count(*) from rules.deliveries)::int as deliveries`
        assert.deepEqual({ ...row }, { events: 0, deliveries: 0 })
      },
      { withinMs: 60_000 },
    )
    const deadLetters = await sql`select reason, count(*)::int as count from rules.dead_letters group by reason`
    assert.deepEqual([...deadLetters], [], 'no event may become a dead letter')
    const ask = await nodes[0]!.asService(secrets)
    const report = verifyRequests(receiver.requests, acknowledged)
    const [alerts] = await sql`
      select coalesce(sum(count), 0)::int as count, coalesce(max(open), 0)::int as open from (
        select count(*) as count, count(*) filter (where state = 'OPEN') as open
        from rules.alerts group by entity_id, alert_type) a`
    assert.ok(alerts!.open <= 1, 'at most one alert may be open')
    const traces = await verifyStatistics(ask, rules)
    const [runs] = await sql`
      select count(*)::int as traces, count(distinct (entity_id, id))::int as runs
      from rules.traces where entity_id = any(${rules.rules}::uuid[]) and not is_failure`
    assert.ok(runs!.traces >= acknowledged.length, 'every acknowledged sample must have a run of the rule')
    assert.equal(runs!.traces, runs!.runs, 'a run must have one trace')
    for (const node of nodes) assert.equal(await node.kill('SIGTERM'), 0)
    return {
      rounds: options.rounds,
      samples: acknowledged.length,
      retransmitted,
      ...report,
      alerts: alerts!.count,
      traces,
    }
  } finally {
    await sql.end({ timeout: 5 })
    await receiver.close()
  }
}

async function expectStatus(ask: Ask, status: number, operation: string, body?: unknown) {
  const answer = await ask(operation, body)
  assert.equal(answer.status, status, `${operation}: ${answer.text}`)
  return answer
}

interface Prepared {
  rules: string[]
  /** The type and id of each action. */
  actions: [string, string][]
}

/** Creates endpoints and two rules: one opens and resolves alerts and calls a webhook for each sample, the other runs by a schedule. */
async function prepare(ask: Ask, url: string): Promise<Prepared> {
  await expectStatus(ask, 201, 'POST /api/v1/applications', { name: app })
  await expectStatus(ask, 201, `POST /api/v1/applications/${app}/app-versions`, { nameSuffix: 'v1' })
  for (let n = 0; n < deviceCount; n++)
    await expectStatus(ask, 201, 'POST /epr/api/v1/endpoints', {
      appVersion: { name: version },
      endpointId: `d${n}`,
      endpointToken: `token-${n}`,
    })
  const createObject = async (path: string, body: unknown) =>
    (await expectStatus(ask, 201, `POST ${root}${path}`, body)).headers.get('location')!.split('/').at(-1)!
  const sample = 'ctx.trigger.endpointDataSamplesReceived.dataSamples[0]'
  const retryConfig = { maxAttempts: 3, timeoutMs: 200 }
  const hook = (name: string, payload: string) =>
    createObject('/action-types/webhook/actions', {
      name,
      webhookUrl: url,
      webhookPayloadExpression: payload,
      retryConfig,
    })
  const hot = await createObject('/rules', { name: 'hot', expression: `return ${sample}.n % 2 === 0` })
  const samples = await createObject('/trigger-types/endpoint-data-samples-received/triggers', {
    name: 's',
    appName: app,
  })
  const sent = await hook('sample', `return { n: ${sample}.n }`)
  const open = await createObject('/action-types/alert-activation/actions', { name: 'open', alertType: 'EVEN' })
  const close = await createObject('/action-types/alert-resolution/actions', { name: 'close', alertType: 'EVEN' })
  const link = (rule: string, path: string, body: unknown) =>
    expectStatus(ask, 204, `PUT ${root}/rules/${rule}/${path}`, body)
  await link(hot, 'action-types/alert-activation/actions', { positiveActionIds: [open] })
  await link(hot, 'action-types/alert-resolution/actions', { negativeActionIds: [close] })
  await link(hot, 'action-types/webhook/actions', { positiveActionIds: [sent], negativeActionIds: [sent] })
  await link(hot, 'trigger-types/endpoint-data-samples-received/triggers', [samples])
  const tick = await createObject('/rules', { name: 'tick', expression: 'return true' })
  const schedule = await createObject('/trigger-types/cron/triggers', {
    name: 'each second',
    cronExpression: '* * * * * *',
  })
  const ticked = await hook('tick', 'return { tick: ctx.trigger.cron.firedAt }')
  await link(tick, 'action-types/webhook/actions', { positiveActionIds: [ticked] })
  await link(tick, 'trigger-types/cron/triggers', [schedule])
  return {
    rules: [hot, tick],
    actions: [
      ['webhook', sent],
      ['alert-activation', open],
      ['alert-resolution', close],
      ['webhook', ticked],
    ],
  }
}

/** Sends numbered samples of all devices to random nodes. A sample without a response is sent again until it is acknowledged. */
function startLoad(nodes: RunningPlatform[], random: () => number) {
  const acknowledged: number[] = []
  let [next, retransmitted, isRunning] = [0, 0, true]
  async function send(device: number, n: number): Promise<boolean> {
    const node = nodes[Math.floor(random() * nodes.length)]!
    try {
      const url = `${node.baseUrl}/kp1/${version}/dcx/token-${device}/json`
      const answer = await fetch(url, {
        method: 'POST',
        body: JSON.stringify({ n }),
        signal: AbortSignal.timeout(5000),
      })
      await answer.text()
      return answer.status === 200
    } catch {
      return false
    }
  }
  const devices = Array.from({ length: deviceCount }, async (_, device) => {
    while (isRunning) {
      const n = next++
      for (let attempt = 0; !(await send(device, n)); attempt++) {
        if (attempt === 0) retransmitted++
        await sleep(50)
      }
      acknowledged.push(n)
      await sleep(random() * 120)
    }
  })
  return {
    async stop() {
      isRunning = false
      await Promise.all(devices)
      return { acknowledged, retransmitted }
    },
  }
}

function verifyRequests(requests: Awaited<ReturnType<typeof aReceiver>>['requests'], acknowledged: number[]) {
  const byDelivery = Map.groupBy(requests, ({ headers }) => String(headers['x-waypost-delivery']))
  const bodies = [...byDelivery.values()].map(([first]) => JSON.parse(first!.body) as { n?: number; tick?: string })
  for (const [id, list] of byDelivery) {
    assert.ok(list.length <= 2, `delivery ${id} was sent ${list.length} times`)
    assert.equal(new Set(list.map(({ body }) => body)).size, 1)
  }
  const arrived = new Set(bodies.map(({ n }) => n))
  assert.deepEqual(
    acknowledged.filter((n) => !arrived.has(n)),
    [],
    'every acknowledged sample must cause a webhook request',
  )
  const ticks = bodies.flatMap(({ tick }) => (tick === undefined ? [] : [tick]))
  assert.equal(new Set(ticks).size, ticks.length, 'a tick must run once')
  const repeatedWebhooks = [...byDelivery.values()].filter((list) => list.length > 1).length
  return { webhooks: byDelivery.size, repeatedWebhooks, ticks: ticks.length }
}

/** Disables the rules, then compares their statistics with their traces. Returns the number of traces. */
async function verifyStatistics(ask: Ask, { rules, actions }: Prepared): Promise<number> {
  for (const id of rules) {
    const { body } = await expectStatus(ask, 200, `GET ${root}/rules/${id}`)
    const { name, expression } = body
    await expectStatus(ask, 204, `PUT ${root}/rules/${id}`, { name, expression, state: 'DISABLED' })
  }
  let total = 0
  const paths = [
    ...rules.map((id) => ['/rules', id]),
    ...actions.map(([type, id]) => [`/action-types/${type}/actions`, id]),
  ]
  for (const [path, id] of paths)
    await eventually(
      async () => {
        const { statistics } = (await expectStatus(ask, 200, `GET ${root}${path}/${id}`)).body
        const { totalElements } = (await expectStatus(ask, 200, `GET ${root}/traces?entityId=${id}&size=1`)).body
        assert.equal(statistics.count, totalElements, `${path}/${id}`)
        total += totalElements
      },
      { withinMs: 15_000 },
    )
  return total
}

/**
 * Kills nodes while a stream of the SDK watches the messages of a device: the node that serves the stream, and the node that the device
 * sends to. Every acknowledged message must arrive once, or a `gap` must report that messages are missing.
 */
import assert from 'node:assert/strict'
import { createClient } from '../../sdk/src/index.ts'
import { sleep } from '../../src/kernel/clock.ts'
import { newId } from '../../src/kernel/ids.ts'
import { eventually } from '../harness/eventually.ts'
import { nodeDirectories, type RunningPlatform, startPlatform, usedDatabase } from '../harness/platform.ts'
import { seededRandom } from '../harness/seeded-random.ts'
import { startUndisturbedTime } from '../harness/undisturbed-time.ts'
import { killAll } from './kill.ts'

export interface LiveKillReport {
  rounds: number
  acknowledged: number
  /** Messages that did not arrive in the stream but were found in the list after a `gap`. */
  afterGap: number
  gaps: number
  /** Seconds from the kill of the node that serves the stream until the stream is open on the other node. */
  slowestResumptionSeconds: number
}

interface Watched {
  /** How often the stream delivered each message, by the number of the message. */
  numbers: Map<number, number>
  gaps: number
  opened: number
}

const numberOf = (payload: unknown) => Number(/"n":(\d+)/.exec(String(payload))?.[1])

export async function killLiveNodes(options: { rounds: number; seed: number }): Promise<LiveKillReport> {
  const random = seededRandom(options.seed)
  const { environment } = await usedDatabase()
  const directories = nodeDirectories(2)
  const start = (index: number) =>
    startPlatform({ directory: directories[index]!, environment: { ...environment, WAYPOST_LOG_LEVEL: 'fatal' } })
  const nodes: RunningPlatform[] = [await start(0), await start(1)]
  const { key, version, endpointId, token } = await provision(nodes[0]!)
  /** Index of the node to which the SDK opens new connections of the stream. */
  let serving = 0
  const fetchFromServingNode: typeof fetch = (url, init) =>
    fetch(String(url).replace('http://any', nodes[serving]!.baseUrl), init)
  const client = createClient({ url: 'http://any', auth: { apiKey: key }, fetch: fetchFromServingNode })
  const watched: Watched = { numbers: new Map(), gaps: 0, opened: 0 }
  const stop = new AbortController()
  const watching = watch(client, endpointId, watched, stop.signal)
  const report: LiveKillReport = {
    rounds: options.rounds,
    acknowledged: 0,
    afterGap: 0,
    gaps: 0,
    slowestResumptionSeconds: 0,
  }
  const acknowledged = new Set<number>()
  let next = 0
  async function send(index: number, until: () => boolean) {
    while (!until()) {
      const n = next++
      try {
        const url = `${nodes[index]!.baseUrl}/kp1/${version}/dcx/${token}/json`
        const answer = await fetch(url, {
          method: 'POST',
          body: JSON.stringify([{ n }]),
          signal: AbortSignal.timeout(5000),
        })
        if (answer.status === 200) acknowledged.add(n)
        await answer.arrayBuffer()
      } catch {
        // The node was killed before it responded.
      }
    }
  }

  await eventually(() => assert.equal(watched.opened, 1))
  for (let round = 0; round < options.rounds; round++) {
    const killsServing = round % 2 === 0
    const victim = killsServing ? serving : 1 - serving
    let isOver = false
    const sending = send(killsServing ? 1 - serving : victim, () => isOver)
    const otherSending = killsServing ? Promise.resolve() : send(serving, () => isOver)
    await sleep(300 + random() * 500)
    const openedBefore = watched.opened
    await killAll(nodes[victim]!)
    const undisturbedMs = startUndisturbedTime()
    if (killsServing) {
      serving = 1 - serving
      await eventually(() => assert.ok(watched.opened > openedBefore), { everyMs: 10 })
      report.slowestResumptionSeconds = Math.max(report.slowestResumptionSeconds, undisturbedMs() / 1000)
    }
    await sleep(200)
    isOver = true
    await Promise.all([sending, otherSending])
    nodes[victim] = await start(victim)
    await everythingArrived(client, endpointId, watched, acknowledged, report)
  }
  stop.abort()
  await watching
  return { ...report, acknowledged: acknowledged.size, gaps: watched.gaps }
}

async function provision(platform: RunningPlatform) {
  const ask = await platform.asService(platform.bootstrap.default)
  const expectSuccess = async (operation: string, body: unknown) => {
    const answer = await ask(operation, body)
    assert.equal(answer.status, 201, answer.text)
    return answer.body
  }
  const app = `live-${newId().slice(0, 8)}`
  await expectSuccess('POST /api/v1/applications', { name: app })
  await expectSuccess(`POST /api/v1/applications/${app}/app-versions`, { nameSuffix: 'v1' })
  const { endpointId, token } = await expectSuccess('POST /epr/api/v1/endpoints', { appVersion: { name: `${app}-v1` } })
  const { key } = await expectSuccess('POST /iam/api/v1/api-keys', { name: app })
  return { key, version: `${app}-v1`, endpointId, token } as Record<'key' | 'version' | 'endpointId' | 'token', string>
}

async function watch(
  client: ReturnType<typeof createClient>,
  endpointId: string,
  watched: Watched,
  signal: AbortSignal,
) {
  const subscriptions = [{ id: 'in', topic: 'traffic', endpointIds: [endpointId], directions: ['INBOUND'] }]
  for await (const event of client.live.stream(subscriptions, { signal })) {
    if (event.type === 'subscribed') watched.opened++
    else if (event.type === 'gap') watched.gaps++
    else if (event.type === 'ended') assert.fail(event.message)
    else if (event.type === 'items')
      for (const { payload } of event.items) {
        const n = numberOf(payload)
        watched.numbers.set(n, (watched.numbers.get(n) ?? 0) + 1)
      }
  }
}

/**
 * Waits until the stream has delivered each acknowledged message. After a `gap`, the list of messages must contain the missing
 * messages.
 */
async function everythingArrived(
  client: ReturnType<typeof createClient>,
  endpointId: string,
  watched: Watched,
  acknowledged: Set<number>,
  report: LiveKillReport,
) {
  const missing = () => [...acknowledged].filter((n) => !watched.numbers.has(n))
  await eventually(
    () =>
      assert.ok(
        missing().length === 0 || watched.gaps > 0,
        `${missing().length} acknowledged messages are missing in the stream`,
      ),
    {
      withinMs: 20_000,
    },
  )
  if (missing().length > 0) {
    const listed = new Set<number>()
    for await (const { payload } of client.traffic.list({ endpointIds: [endpointId] })) listed.add(numberOf(payload))
    for (const n of missing()) {
      assert.ok(listed.has(n), `message ${n} is neither in the stream nor in the list`)
      watched.numbers.set(n, 1)
      report.afterGap++
    }
  }
  const repeated = [...watched.numbers].filter(([, times]) => times > 1)
  assert.deepEqual(repeated, [], 'the SDK must not deliver an event twice')
}

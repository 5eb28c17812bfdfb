/**
 * Kills one of two nodes with SIGKILL, again and again, while a LoRaWAN network publishes uplinks. After each restart, the test sends a
 * command. It asserts that each uplink becomes one sample, that each command is sent, and that the other node takes over the MQTT session
 * within 10 seconds, plus 2 seconds for the test to find the stored uplink.
 */
import assert from 'node:assert/strict'
import { sleep } from '../../src/kernel/clock.ts'
import type { Ask } from '../harness/client.ts'
import { eventually } from '../harness/eventually.ts'
import { aBroker, type Network } from '../harness/mosquitto.ts'
import { nodeDirectories, type RunningPlatform, startPlatform, usedDatabase } from '../harness/platform.ts'
import { seededRandom } from '../harness/seeded-random.ts'
import { killAll } from './kill.ts'

export interface LorawanKillReport {
  rounds: number
  /** Rounds in which the killed node had the session. The test recognises such a round: no uplink is stored for more than 3 seconds. */
  takeovers: number
  slowestTakeoverSeconds: number
  uplinks: number
  commands: number
}

const username = 'plant@ttn'
const app = 'plant'
const deviceCount = 20
const takeoverMax = 10

export async function killLorawanRounds(options: { rounds: number; seed: number }): Promise<LorawanKillReport> {
  const random = seededRandom(options.seed)
  const broker = await aBroker([username])
  const network = await broker.network()
  const environment = {
    ...(await usedDatabase()).environment,
    WAYPOST_ALLOW_PRIVATE_ADDRESSES: 'on',
    WAYPOST_LOG_LEVEL: 'error',
  }
  const directories = nodeDirectories(2)
  const start = (index: number) => startPlatform({ directory: directories[index]!, environment })
  const nodes: RunningPlatform[] = [await start(0)]
  nodes.push(await start(1))
  const secrets = nodes[0]!.bootstrap.default
  const ask = (index: number) => nodes[index]!.asService(secrets)
  const { path, devices } = await prepare(await ask(0), broker.port)
  const load = startLoad(network)
  let [takeovers, slowest, commands] = [0, 0, 0]
  for (let round = 0; round < options.rounds; round++) {
    await sleep(500 + random() * 1000)
    const victim = Math.floor(random() * 2)
    const survivor = 1 - victim
    const stored = await storedCount(await ask(survivor), path)
    await killAll(nodes[victim]!)
    const killedAt = performance.now()
    // An uplink that was published after the kill is stored only when the surviving node has the session.
    await eventually(async () => assert.ok((await storedCount(await ask(survivor), path)) > stored + deviceCount), {
      withinMs: 20_000,
    })
    const seconds = (performance.now() - killedAt) / 1000
    if (seconds > 3) takeovers++
    slowest = Math.max(slowest, seconds)
    assert.ok(seconds < takeoverMax + 2, `no node had the session for ${seconds} s`)
    nodes[victim] = await start(victim)
    const device = devices[round % deviceCount]!
    const invoked = await (await ask(victim))(
      `POST /cex/api/v1/endpoints/${device.endpointId}/commands/set?awaitTimeout=0`,
      { round },
    )
    assert.equal(invoked.status, 202, invoked.text)
    await eventually(() => assert.ok(network.pushed.some(({ downlink }) => downlink.decoded_payload.round === round)), {
      withinMs: 15_000,
    })
    commands++
  }
  const counters = await load.stop()
  const admin = await ask(0)
  await eventually(async () => verify(await valuesOf(admin), devices, counters), { withinMs: 30_000 })
  for (const node of nodes) assert.equal(await node.kill('SIGTERM'), 0)
  await broker.kill()
  const uplinks = counters.reduce((sum, count) => sum + count, 0)
  return { rounds: options.rounds, takeovers, slowestTakeoverSeconds: slowest, uplinks, commands }
}

interface Device {
  id: number
  endpointId: string
}

async function expectStatus(ask: Ask, status: number, operation: string, body?: unknown) {
  const answer = await ask(operation, body)
  assert.equal(answer.status, status, `${operation}: ${answer.text}`)
  return answer.body
}

async function prepare(ask: Ask, port: number) {
  await expectStatus(ask, 201, 'POST /api/v1/applications', { name: app })
  await expectStatus(ask, 201, `POST /api/v1/applications/${app}/app-versions`, { nameSuffix: 'v1' })
  const { id } = await expectStatus(ask, 201, 'POST /api/v1/integrations', {
    appName: app,
    netUsername: username,
    netApiKeyId: 'NNSXS.SECRET-KEY.ABCDEF',
    netIdentityServerHost: 'http://127.0.0.1:1',
    netPlainMqttServerUrl: `mqtt://127.0.0.1:${port}`,
    name: app,
  })
  const path = `/api/v1/integrations/${id}`
  const devices = Array.from({ length: deviceCount }, (_, n) => ({ netDeviceId: `d${n}`, name: `d${n}` }))
  const { created } = await expectStatus(ask, 201, `POST ${path}/devices`, { appVersionName: `${app}-v1`, devices })
  await eventually(async () =>
    assert.equal((await expectStatus(ask, 200, `GET ${path}`)).netConnectionState, 'CONNECTED'),
  )
  return { path, devices: created as Device[] }
}

/** Publishes one uplink of every device, again and again. The value of an uplink is its frame counter. */
function startLoad(network: Network) {
  const counters = Array.from({ length: deviceCount }, () => 0)
  let isRunning = true
  const running = (async () => {
    while (isRunning) {
      await Promise.all(
        counters.map((count, n) => network.uplink(username, `d${n}`, { f_cnt: count, decoded_payload: { n: count } })),
      )
      for (const [n] of counters.entries()) counters[n]!++
      await sleep(200)
    }
  })()
  return {
    async stop() {
      isRunning = false
      await running
      return counters
    },
  }
}

async function storedCount(ask: Ask, path: string): Promise<number> {
  const { content } = await expectStatus(ask, 200, `GET ${path}/devices?limit=0`)
  return content.reduce((sum: number, { statistics }: { statistics: { stored: number } }) => sum + statistics.stored, 0)
}

async function valuesOf(ask: Ask): Promise<Map<string, number[]>> {
  const dates = 'fromDate=2000-01-01T00:00:00Z&toDate=2100-01-01T00:00:00Z'
  const body = await expectStatus(
    ask,
    200,
    `GET /epts/api/v1/applications/${app}/time-series/data?timeSeriesName=auto~n&${dates}`,
  )
  const values = new Map<string, number[]>()
  for (const part of body as Record<string, Record<string, { values: { value: number } }[]>>[])
    for (const [endpointId, series] of Object.entries(part))
      values.set(endpointId, [
        ...(values.get(endpointId) ?? []),
        ...series['auto~n']!.map(({ values: { value } }) => value),
      ])
  return values
}

function verify(values: Map<string, number[]>, devices: Device[], counters: number[]) {
  for (const [n, { endpointId }] of devices.entries()) {
    const found = (values.get(endpointId) ?? []).toSorted((a, b) => a - b)
    assert.deepEqual(
      found,
      Array.from({ length: counters[n]! }, (_, count) => count),
      `device ${n}`,
    )
  }
}

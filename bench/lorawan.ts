/** Measures the LoRaWAN connector: latency of uplinks, a thousand devices, idle sessions and decoding. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { connectAsync, type MqttClient } from 'mqtt'
import { sleep } from '../src/kernel/clock.ts'
import { createSandbox } from '../src/sandbox/sandbox.ts'
import { createCodecs } from '../src/services/lorawan/contract.ts'
import { aBroker } from '../test/harness/mosquitto.ts'
import { type NetworkServer, startNetworkServer } from './lorawan/network-server.ts'
import { once, runParts } from './parts.ts'
import { type BenchPlatform, openBenchPlatform } from './register/bench-platform.ts'
import { type Figure, median } from './report.ts'
import { settledHeapKb, withGarbageCollection } from './settled-memory.ts'

const seconds = Number(process.env.BENCH_SECONDS ?? 15)
const idleCount = Number(process.env.BENCH_SESSIONS ?? 1000)
const deviceCount = 1000
const rate = 200
const username = 'bench@ttn'
const codec = readFileSync(new URL('../examples/codecs/dragino-lht65.js', import.meta.url), 'utf8')
const frame = 'y/YLDQN2AQrdf/8='

export async function lorawan(): Promise<Figure[]> {
  const open = once(async () => ({
    bench: await openBenchPlatform({ WAYPOST_ALLOW_PRIVATE_ADDRESSES: 'on', ...withGarbageCollection }),
    network: await startNetworkServer(),
  }))
  try {
    return await runParts({
      decoding: measureDecoding,
      latency: async () => await measureLatency(await open()),
      fleet: async () => await measureFleet(await open()),
      idle: async () => await measureIdle(await open()),
    })
  } finally {
    if (open.isCalled()) {
      const { bench, network } = await open()
      network.close()
      await bench.close()
    }
  }
}

interface Opened {
  bench: BenchPlatform
  network: NetworkServer
}

async function expectStatus(bench: BenchPlatform, status: number, operation: string, body?: unknown) {
  const answer = await bench.ask(operation, body)
  if (answer.status !== status) throw new Error(`${operation}: ${answer.status} ${answer.text}`)
  return answer.body
}

const connectionOf = (netUsername: string, port: number) => ({
  netUsername,
  netApiKeyId: 'NNSXS.SECRET-KEY.ABCDEF',
  netIdentityServerHost: 'http://127.0.0.1:1',
  netPlainMqttServerUrl: `mqtt://127.0.0.1:${port}`,
  name: 'bench',
})

/** Creates an application with an integration and a thousand devices. */
async function anIntegration(bench: BenchPlatform, appName: string, netUsername: string, port: number) {
  await expectStatus(bench, 201, 'POST /api/v1/applications', { name: appName })
  await expectStatus(bench, 201, `POST /api/v1/applications/${appName}/app-versions`, { nameSuffix: 'v1' })
  const { id } = await expectStatus(bench, 201, 'POST /api/v1/integrations', {
    appName,
    ...connectionOf(netUsername, port),
  })
  const path = `/api/v1/integrations/${id}`
  for (let from = 0; from < deviceCount; from += 500) {
    const devices = Array.from({ length: 500 }, (_, n) => ({
      netDeviceId: `d${from + n}`,
      name: `d${from + n}`,
      formatter: codec,
    }))
    await expectStatus(bench, 201, `POST ${path}/devices`, { appVersionName: `${appName}-v1`, devices })
  }
  while ((await expectStatus(bench, 200, `GET ${path}`)).netConnectionState !== 'CONNECTED') await sleep(100)
  return path
}

const uplinkOf = (count: number) => ({
  received_at: new Date().toISOString(),
  uplink_message: { session_key_id: 'bench', f_port: 2, f_cnt: count, frm_payload: frame },
})

const percentile = (values: number[], part: number) =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * part))]!

/** Calls `work` at a fixed rate for `during` seconds. Returns the number of calls. */
async function atRate(perSecond: number, during: number, work: (nth: number) => void): Promise<number> {
  const began = performance.now()
  let count = 0
  while (performance.now() - began < during * 1000) {
    const due = Math.floor(((performance.now() - began) / 1000) * perSecond)
    for (; count < due; count++) work(count)
    await sleep(2)
  }
  return count
}

/** Sends uplinks, and alternately device messages over MQTT with the same sample. Both latencies are measured until the PUBACK. */
async function measureLatency({ bench, network }: Opened): Promise<Figure[]> {
  await anIntegration(bench, 'latency', username, network.port)
  const token = 'bench-device'
  const endpoint = { appVersion: { name: 'latency-v1' }, endpointId: 'bench-device', endpointToken: token }
  await expectStatus(bench, 201, 'POST /epr/api/v1/endpoints', endpoint)
  const device = await connectAsync(bench.platform.mqttUrl, { protocolVersion: 4 })
  const topic = `kp1/latency-v1/dcx/${token}/json`
  const sample = JSON.stringify({ BatV: 3.062, TempC_SHT: 28.29, Hum_SHT: 88.6, TempC_DS: 27.81 })
  let sent = 0
  const uplinks: number[][] = []
  const messages: number[][] = []
  for (let round = 0; round < 9; round++) {
    await atRate(rate, seconds / 3, () => {
      network.send(username, `d${sent % deviceCount}`, uplinkOf(Math.floor(sent / deviceCount)))
      sent++
    })
    while (network.pending() > 0) await sleep(10)
    const latencies = network.takeLatencies()
    const own = await deviceLatencies(device, topic, sample)
    // The first round is left out, because it fills caches.
    if (round === 0) continue
    uplinks.push(latencies)
    messages.push(own)
  }
  await device.endAsync()
  // The figures are medians over the rounds, because one pause of a shared machine would determine an average.
  const medianPercentile = (rounds: number[][], part: number) => median(rounds.map((round) => percentile(round, part)))
  const [ours, own] = [medianPercentile(uplinks, 0.99), medianPercentile(messages, 0.99)]
  return [
    {
      name: `Uplink at the broker → durable sample, p50 at ${rate}/s, with a formatter`,
      value: medianPercentile(uplinks, 0.5),
      unit: 'ms',
    },
    { name: '… p99', value: ours, unit: 'ms' },
    {
      name: "A device's own MQTT message → PUBACK, p50 at the same rate",
      value: medianPercentile(messages, 0.5),
      unit: 'ms',
    },
    { name: '… p99', value: own, unit: 'ms' },
    { name: '… p99 of an uplink against p99 of a message', value: ours / own, unit: 'times', limit: { max: 3 } },
  ]
}

async function deviceLatencies(device: MqttClient, topic: string, sample: string): Promise<number[]> {
  const latencies: number[] = []
  const open = new Set<Promise<unknown>>()
  await atRate(rate, seconds / 3, () => {
    const began = performance.now()
    const run = device
      .publishAsync(topic, sample, { qos: 1 })
      .then(() => latencies.push(performance.now() - began))
      .finally(() => open.delete(run))
    open.add(run)
  })
  await Promise.all(open)
  return latencies
}

/** A thousand devices send over mosquitto. Every twentieth uplink is sent twice, but every uplink must become exactly one sample. */
async function measureFleet({ bench }: Opened): Promise<Figure[]> {
  const broker = await aBroker(['fleet@ttn'])
  const network = await broker.network()
  const path = await anIntegration(bench, 'fleet', 'fleet@ttn', broker.port)
  const published: Promise<void>[] = []
  let repeated = 0
  const count = await atRate(rate, seconds * 2, (nth) => {
    const uplink = { f_port: 2, f_cnt: Math.floor(nth / deviceCount), frm_payload: frame }
    const copies = nth % 20 === 0 ? 2 : 1
    repeated += copies - 1
    for (let n = 0; n < copies; n++) published.push(network.uplink('fleet@ttn', `d${nth % deviceCount}`, uplink))
  })
  await Promise.all(published)
  const publishedAt = performance.now()
  const totals = async () => {
    const { content } = await expectStatus(bench, 200, `GET ${path}/devices?limit=0`)
    const sum = { received: 0, stored: 0, duplicates: 0, dropped: 0 }
    for (const { statistics } of content)
      for (const key of Object.keys(sum) as (keyof typeof sum)[]) sum[key] += statistics[key]
    return sum
  }
  const isDone = ({ stored, duplicates, dropped }: Awaited<ReturnType<typeof totals>>) =>
    stored + duplicates + dropped === count + repeated
  while (!isDone(await totals())) {
    assert.ok(performance.now() - publishedAt < 60_000, JSON.stringify(await totals()))
    await sleep(200)
  }
  const drained = (performance.now() - publishedAt) / 1000
  assert.deepEqual(await totals(), { received: count + repeated, stored: count, duplicates: repeated, dropped: 0 })
  const points = await pointsOf(bench, 'fleet')
  await network.end()
  await broker.kill()
  return [
    { name: `${deviceCount} devices at ${rate} uplinks/s over mosquitto: uplinks`, value: count, unit: '' },
    { name: '… sent twice', value: repeated, unit: '' },
    { name: '… points that are missing or stored twice', value: Math.abs(points - count), unit: '', limit: { max: 0 } },
    { name: '… time until the last uplink is counted', value: drained, unit: 's', limit: { max: 5 } },
  ]
}

async function pointsOf(bench: BenchPlatform, app: string): Promise<number> {
  const dates = 'fromDate=2000-01-01T00:00:00Z&toDate=2100-01-01T00:00:00Z'
  const series = 'auto~TempC_SHT'
  const body = await expectStatus(
    bench,
    200,
    `GET /epts/api/v1/applications/${app}/time-series/data?timeSeriesName=${series}&${dates}`,
  )
  let points = 0
  for (const part of body as Record<string, Record<string, unknown[]>>[])
    for (const bySeries of Object.values(part)) points += bySeries[series]?.length ?? 0
  return points
}

/** Measures the memory of the platform with idle sessions, and with the same integrations suspended. */
async function measureIdle({ bench, network }: Opened): Promise<Figure[]> {
  const ids: number[] = []
  for (let n = 0; n < idleCount; n++) {
    const appName = `idle-${n}`
    await expectStatus(bench, 201, 'POST /api/v1/applications', { name: appName })
    const { id } = await expectStatus(bench, 201, 'POST /api/v1/integrations', {
      appName,
      ...connectionOf(`idle-${n}@ttn`, network.port),
    })
    await expectStatus(bench, 204, `PUT /api/v1/integrations/${id}/status`, { status: 'SUSPENDED' })
    ids.push(id)
  }
  while (network.ready() > 1) await sleep(100)
  const before = await settledHeapKb(bench.platform)
  for (const id of ids) await expectStatus(bench, 204, `PUT /api/v1/integrations/${id}/status`, { status: 'ACTIVE' })
  while (network.ready() < idleCount) await sleep(100)
  const after = await settledHeapKb(bench.platform)
  const program = new URL('./lorawan/idle-sessions.ts', import.meta.url).pathname
  const args = ['--expose-gc', program, String(network.port), String(idleCount)]
  const { stdout } = await promisify(execFile)(process.execPath, args)
  return [
    {
      name: `${idleCount} idle sessions in a process of their own, memory of each`,
      value: Number(stdout),
      unit: 'KB',
      limit: { max: 30 },
    },
    {
      name: '… in the platform: additional memory used by JavaScript for each, compared with suspended integrations',
      value: (after - before) / idleCount,
      unit: 'KB',
      limit: { max: 30 },
    },
  ]
}

/** Decodes uplinks with the codecs of the platform, and alternately runs the same script with the same input in the sandbox alone. */
async function measureDecoding(): Promise<Figure[]> {
  const tenantId = 'default'
  const bytes = Buffer.from(frame, 'base64')
  const recvTime = new Date('2026-05-05T10:00:00Z')
  const codecs = createCodecs((error) => assert.fail(String(error)))
  const sandbox = createSandbox({ onError: (error) => assert.fail(String(error)) })
  const input = `{"bytes":[${bytes.join()}],"fPort":2}`
  const bare = () => sandbox.run({ tenantId, input, script: codec, entry: 'decodeUplink' })
  const ours = () => codecs.decode({ tenantId, formatter: codec, bytes, fPort: 2, recvTime })
  const rates = { bare: [] as number[], ours: [] as number[] }
  for (let round = 0; round < 6; round++)
    for (const [name, work] of [
      ['bare', bare],
      ['ours', ours],
    ] as const) {
      const perSecond = await rateOf(work)
      if (round > 0) rates[name].push(perSecond)
    }
  await Promise.all([codecs.stop(), sandbox.stop()])
  const [ownRate, bareRate] = [percentile(rates.ours, 0.5), percentile(rates.bare, 0.5)]
  return [
    { name: 'Decoding in the sandbox', value: ownRate, unit: '/s' },
    { name: 'The same script in the bare sandbox', value: bareRate, unit: '/s' },
    { name: '… decoding against the bare sandbox', value: ownRate / bareRate, unit: 'times', limit: { min: 0.7 } },
  ]
}

const concurrent = 200

async function rateOf(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now()
  let count = 0
  await Promise.all(
    Array.from({ length: concurrent }, async () => {
      while (performance.now() - began < 2000) {
        await work()
        count++
      }
    }),
  )
  return (count * 1000) / (performance.now() - began)
}

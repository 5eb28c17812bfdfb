/** Measures how fast ten thousand connected endpoints of a filter get a configuration. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { connectAsync, type MqttClient } from 'mqtt'
import type { Ask } from '../test/harness/client.ts'
import { type BenchPlatform, openBenchPlatform, versionNames } from './register/bench-platform.ts'
import { type Figure, median } from './report.ts'

const endpoints = Number(process.env.BENCH_ENDPOINTS ?? 10_000)
const perConnection = 250
const rounds = 5
const versionName = versionNames[0]!
const filters = '/epr/api/v1/applications/bench/filters'

export async function configuration(): Promise<Figure[]> {
  const bench = await openBenchPlatform()
  try {
    return await measure(bench)
  } finally {
    await bench.close()
  }
}

async function measure(bench: BenchPlatform): Promise<Figure[]> {
  const { ask } = bench
  const tokens = await registerAll(ask)
  const filterId = await createFilter(ask)
  const received = new Map<string, number>()
  const devices = await connectAll(bench, tokens, received)
  const probe = await startProbe(bench)
  await probe.during(1000)
  const unloaded = await probe.during(4000)

  const puts: number[] = []
  const plain: number[] = []
  const arrivals: number[] = []
  const busy: number[] = []
  for (let round = 0; round < rounds; round++) {
    plain.push(await plainInsert(bench))
    const name = `round-${round}`
    const probing = await probe.start()
    const began = performance.now()
    const put = await expectStatus(
      ask,
      200,
      `PUT /ecr/api/v1/endpoints/filters/${filterId}?name=${name}`,
      configOf(round),
    )
    puts.push(performance.now() - began)
    if (put.endpointsCount !== endpoints) throw new Error(`${put.endpointsCount} endpoints instead of ${endpoints}`)
    while ((received.get(name) ?? 0) < endpoints) {
      if (performance.now() - began > 60_000)
        throw new Error(`only ${received.get(name) ?? 0} devices received the configuration within a minute`)
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
    arrivals.push(performance.now() - began)
    busy.push(...(await probing()))
  }
  probe.end()
  await Promise.all(devices.map((device) => device.endAsync()))
  return [
    { name: `configuration put by filter to ${endpoints} endpoints`, value: median(puts), unit: 'ms' },
    { name: 'plain insert … select of the same rows', value: median(plain), unit: 'ms' },
    { name: '… put against plain insert', value: median(puts) / median(plain), unit: 'times', limit: { max: 2 } },
    {
      name: 'until the last device has the configuration',
      value: median(arrivals) / 1000,
      unit: 's',
      limit: { max: 5 },
    },
    { name: 'p99 of other requests, without load', value: percentile(unloaded, 0.99), unit: 'ms' },
    { name: 'p99 of other requests during the put', value: percentile(busy, 0.99), unit: 'ms' },
    {
      name: 'p99 of other requests, during the put against no load',
      value: percentile(busy, 0.99) / percentile(unloaded, 0.99),
      unit: 'times',
      limit: { max: 3 },
    },
  ]
}

const configOf = (round: number) => ({
  round,
  interval: 60,
  thresholds: { low: 1.5, high: 80 },
  labels: ['a', 'b', 'c'],
})

async function expectStatus(ask: Ask, status: number, operation: string, body?: unknown) {
  const answer = await ask(operation, body)
  if (answer.status !== status) throw new Error(`${operation}: ${answer.status} ${answer.text}`)
  return answer.body
}

/** Registers the endpoints in batches of a thousand. Returns their tokens. */
async function registerAll(ask: Ask): Promise<string[]> {
  const tokens = Array.from({ length: endpoints }, (_, n) => `bench-token-${n}`)
  for (let at = 0; at < endpoints; at += 1000) {
    const part = tokens
      .slice(at, at + 1000)
      .map((endpointToken, n) => ({ endpointToken, endpointId: `bench-${at + n}` }))
    await expectStatus(ask, 202, 'POST /epr/api/v1/endpoints/batch', {
      appVersion: { name: versionName },
      endpoints: part,
    })
  }
  while ((await expectStatus(ask, 200, 'GET /epr/api/v1/endpoints?limit=1')).totalElements < endpoints)
    await new Promise((resolve) => setTimeout(resolve, 200))
  return tokens
}

async function createFilter(ask: Ask): Promise<string> {
  const { id } = await expectStatus(ask, 201, `POST ${filters}`, { name: 'all', documentQuery: {} })
  while ((await expectStatus(ask, 200, `GET ${filters}/${id}`)).status !== 'active')
    await new Promise((resolve) => setTimeout(resolve, 200))
  return id
}

/** Connects the endpoints with many endpoints on each connection, as behind a field gateway. Counts the arriving configurations by name. */
async function connectAll({ platform }: BenchPlatform, tokens: string[], received: Map<string, number>) {
  async function connectSome(some: string[]): Promise<MqttClient> {
    const device = await connectAsync(platform.mqttUrl)
    device.on('message', (topic) => {
      const name = /\/config\/json\/([^/]+)\/status$/.exec(topic)?.[1]
      if (name) received.set(name, (received.get(name) ?? 0) + 1)
    })
    await Promise.all(some.map((token) => device.publishAsync(`kp1/${versionName}/tsx/${token}`, '', { qos: 1 })))
    return device
  }
  const devices: MqttClient[] = []
  for (let at = 0; at < tokens.length; at += perConnection)
    devices.push(await connectSome(tokens.slice(at, at + perConnection)))
  return devices
}

/**
 * Inserts a row for each endpoint into a table with the columns and indexes of the platform's table. Returns the duration in milliseconds.
 */
async function plainInsert({ sql }: BenchPlatform): Promise<number> {
  await sql.unsafe('drop table if exists public.bench_rows')
  await sql.unsafe('create table public.bench_rows (like configuration.endpoint_configs including all)')
  const began = performance.now()
  await sql.unsafe(`
    insert into public.bench_rows
      (tenant_id, endpoint_id, version_name, name, application_name, config_id, created_date, updated_date)
    select tenant_id, endpoint_id, version_name, 'default', application_name, 'c', now(), now()
    from register.endpoints`)
  return performance.now() - began
}

/**
 * Starts a process that can send other requests at a steady rate. Returns functions that make it send requests for some time and return the
 * durations of these requests.
 */
async function startProbe({ platform, token }: BenchPlatform) {
  const file = join(import.meta.dirname, 'configuration/probe-process.ts')
  const child = spawn(process.execPath, [file, platform.baseUrl, await token(), String(endpoints)], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  const answer = () => once(child, 'message').then(([message]) => message)
  await answer()
  const sendOrder = async (message: 'start' | 'stop') => {
    const response = answer()
    child.send(message)
    return await response
  }
  const start = async () => {
    await sendOrder('start')
    return async () => (await sendOrder('stop')) as number[]
  }
  return {
    start,
    async during(ms: number) {
      const stop = await start()
      await new Promise((resolve) => setTimeout(resolve, ms))
      return await stop()
    },
    end: () => child.disconnect(),
  }
}

const percentile = (values: number[], share: number) =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * share))] ?? 0

/** Prepares a data directory with an application and the endpoints of 10,000 devices, and starts the platform on it. */
import { sleep } from '../../src/kernel/clock.ts'
import { type Ask, bearer, client } from '../../test/harness/client.ts'
import { nameOf, processTree } from '../../test/harness/processes.ts'
import { pinToCore } from '../load.ts'
import { type StartedPlatform, serviceToken, startPlatform, temporaryDirectory } from '../platform.ts'
import { loadCore, serverCore } from './generator.ts'
import type { Server } from './servers.ts'

export const applicationName = 'bench'
export const versionName = 'bench-v1'

export interface PreparedData {
  directory: string
  tokens: string[]
}

export interface BenchPlatform extends Server {
  platform: StartedPlatform
  token(): Promise<string>
}

/** Settings without rate limits, because the maximum speed is measured. */
export const withoutLimits = {
  WAYPOST_DEVICE_MESSAGES_PER_CONNECTION: '0',
  WAYPOST_DEVICE_MESSAGES_PER_TENANT: '0',
  WAYPOST_DEVICE_BYTES_PER_CONNECTION: '0',
  WAYPOST_DEVICE_BYTES_PER_TENANT: '0',
  WAYPOST_MQTT_STRANGERS_PER_ADDRESS: '20000',
}

const perBatch = 1000
const register = '/epr/api/v1/endpoints/batch'

export async function prepareData(devices = 10_000): Promise<PreparedData> {
  const directory = temporaryDirectory()
  const platform = await startPlatform(directory)
  const ask = client(platform.baseUrl, bearer(await serviceToken(platform, platform.bootstrap.default)))
  const tokens = await createEndpoints(ask, devices)
  await platform.stop()
  return { directory, tokens }
}

/** Creates the application with a version, and endpoints `bench-<token>`; returns their tokens. */
export async function createEndpoints(ask: Ask, devices: number): Promise<string[]> {
  await create(ask, 'POST /api/v1/applications', { name: applicationName }, 201)
  await create(ask, `POST /api/v1/applications/${applicationName}/app-versions`, { nameSuffix: 'v1' }, 201)
  const tokens = Array.from({ length: devices }, (_, n) => `device${String(n).padStart(6, '0')}`)
  for (let from = 0; from < devices; from += perBatch) await registerAll(ask, tokens.slice(from, from + perBatch))
  return tokens
}

/** Starts the platform alone on the first core, and its database with the load on the second. */
export async function startBenchPlatform(
  name: string,
  { directory, tokens }: PreparedData,
  environment = {},
): Promise<BenchPlatform> {
  const platform = await startPlatform(directory, { ...withoutLimits, ...environment })
  const isDatabase = (pid: number) => nameOf(pid).startsWith('postgres')
  for (const pid of processTree(platform.pid)) pinToCore(pid, isDatabase(pid) ? loadCore : serverCore)
  return {
    name,
    port: Number(new URL(platform.mqttUrl).port),
    pids: [platform.pid],
    expecting: 'answered',
    versionName,
    tokens,
    collectGarbage: async () => {},
    platform,
    token: () => serviceToken(platform, platform.bootstrap.default),
    stop: async () => void (await platform.stop()),
  }
}

async function create(ask: Ask, operation: string, body: unknown, expected: number) {
  const answer = await ask(operation, body)
  if (answer.status !== expected) throw new Error(`${operation}: ${answer.status} ${answer.text}`)
  return answer.body
}

async function registerAll(ask: Ask, tokens: string[]) {
  const endpoints = tokens.map((token) => ({ endpointId: `bench-${token}`, endpointToken: token }))
  const { taskId } = await create(ask, `POST ${register}`, { appVersion: { name: versionName }, endpoints }, 202)
  for (;;) {
    const { body } = await ask(`GET ${register}/status?taskId=${taskId}`)
    if (body.failedCount > 0) throw new Error(body.failed[0].statusReason)
    if (body.createdCount === tokens.length) return
    await sleep(50)
  }
}

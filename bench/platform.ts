/** Starts the platform as an operator does, and measures it from outside. */
import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { sleep } from '../src/kernel/clock.ts'
import { memoryMb, processTree } from '../test/harness/processes.ts'

const program = resolve(import.meta.dirname, '../bin/waypost')

export interface StartedPlatform {
  pid: number
  baseUrl: string
  managementUrl: string
  mqttUrl: string
  mqttsUrl: string
  readySeconds: number
  bootstrap: { default: Realm; platform: Realm }
  memoryMb(): number
  stop(): Promise<{ seconds: number; code: number | null }>
}

interface Realm {
  tenantId: string
  backendClient: { id: string; secret: string }
  frontendClient: { id: string }
  admin: { username: string; password?: string }
}

export const temporaryDirectory = () => mkdtempSync(join(tmpdir(), 'waypost-bench-'))
export const removeDirectory = (directory: string) => rmSync(directory, { recursive: true, force: true })

/** Runs work with a temporary directory. */
export async function withTemporaryDirectory<T>(work: (directory: string) => Promise<T>): Promise<T> {
  const directory = temporaryDirectory()
  try {
    return await work(directory)
  } finally {
    removeDirectory(directory)
  }
}

export async function startPlatform(
  directory: string,
  environment: Record<string, string> = {},
): Promise<StartedPlatform> {
  const file = join(directory, 'bootstrap.json')
  rmSync(file, { force: true })
  const started = performance.now()
  const child = spawn(program, ['start'], {
    env: {
      ...process.env,
      WAYPOST_DATA: directory,
      WAYPOST_PORT: '0',
      WAYPOST_MANAGEMENT_PORT: '0',
      WAYPOST_MQTT_PORT: '0',
      WAYPOST_MQTTS_PORT: '0',
      WAYPOST_LOG_LEVEL: 'warn',
      WAYPOST_RATE_LIMIT_PER_ADDRESS: '0',
      WAYPOST_RATE_LIMIT_PER_CREDENTIAL: '0',
      WAYPOST_RATE_LIMIT_PER_TENANT: '0',
      ...environment,
    },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const closed = new Promise<number | null>((done) => child.on('close', done))
  while (!existsSync(file)) {
    if (child.exitCode !== null) throw new Error('the platform did not start')
    await sleep(5)
  }
  const { baseUrl, managementUrl, mqttUrl, mqttsUrl, ...bootstrap } = JSON.parse(readFileSync(file, 'utf8'))
  const { status } = await fetch(`${managementUrl}/health/ready`)
  if (status !== 200) throw new Error(`not ready: ${status}`)
  return {
    pid: child.pid!,
    baseUrl,
    managementUrl,
    mqttUrl,
    mqttsUrl,
    readySeconds: (performance.now() - started) / 1000,
    bootstrap,
    memoryMb: () => memoryMb(processTree(child.pid!)),
    async stop() {
      const stopRequestedAt = performance.now()
      child.kill('SIGTERM')
      const code = await closed
      return { seconds: (performance.now() - stopRequestedAt) / 1000, code }
    },
  }
}

export async function serviceToken({ baseUrl }: StartedPlatform, realm: Realm): Promise<string> {
  const { id, secret } = realm.backendClient
  const response = await fetch(`${baseUrl}/auth/realms/${realm.tenantId}/protocol/openid-connect/token`, {
    method: 'POST',
    body: new URLSearchParams({ grant_type: 'client_credentials', client_id: id, client_secret: secret }),
  })
  const { access_token } = (await response.json()) as { access_token: string }
  return access_token
}

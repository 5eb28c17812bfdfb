/** Starts the measured servers on the first core, each in one or two processes of its own. */

import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import net from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sleep } from '../../src/kernel/clock.ts'
import { freePort } from '../../test/harness/free-port.ts'
import type { ExpectedReply } from './fleet.ts'
import { onCore, requestFrom, serverCore } from './generator.ts'

export interface Server {
  name: string
  port: number
  /** Processes whose processor time and memory are measured. */
  pids: number[]
  expecting: ExpectedReply
  subscribes?: boolean
  versionName?: string
  tokens?: string[]
  /** Collects garbage, if the server supports this. */
  collectGarbage(): Promise<void>
  stop(): Promise<void>
}

export const exited = (child: ChildProcess) =>
  child.exitCode !== null ? Promise.resolve() : new Promise<void>((done) => void child.once('exit', () => done()))

/** Starts a file of peers/ in its own Node.js process. */
export async function startPeer(
  name: string,
  file: string,
  expecting: ExpectedReply,
  environment: Record<string, string> = {},
  core: number | 'any' = serverCore,
): Promise<Server> {
  const path = join(import.meta.dirname, 'peers', file)
  const [command, ...args] = onCore(core, [process.execPath, '--expose-gc', path])
  const child = spawn(command, args, {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    env: { ...process.env, ...environment },
  })
  const port = await new Promise<number>((resolve, reject) => {
    child.once('message', ({ done }: { done: number }) => resolve(done))
    child.once('exit', (code) => reject(new Error(`${name} ended with ${code}`)))
  })
  return {
    name,
    port,
    pids: [child.pid!],
    expecting,
    collectGarbage: async () => void (await requestFrom(child, { collect: true })),
    async stop() {
      child.disconnect()
      await exited(child)
    },
  }
}

export const isInstalled = (command: string) => spawnSync('sh', ['-c', `command -v ${command}`]).status === 0

/** Checks that Mosquitto is installed; installs it from Debian when run as root. */
export function ensureMosquitto() {
  if (isInstalled('mosquitto')) return
  const install = 'apt-get update && apt-get install -y --no-install-recommends mosquitto'
  if (process.getuid?.() === 0 && existsSync('/etc/debian_version')) {
    console.error('Installing mosquitto…')
    const { status } = spawnSync('sh', ['-c', install], {
      stdio: ['ignore', 'ignore', 'inherit'],
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    })
    if (status === 0 && isInstalled('mosquitto')) return
  }
  throw new Error(`the bench needs mosquitto; on Debian, run as root: ${install}`)
}

/** Starts Mosquitto, and a Node.js process that answers each message, because Mosquitto does not answer by itself. */
export async function startMosquitto(): Promise<Server> {
  ensureMosquitto()
  const directory = mkdtempSync(join(tmpdir(), 'waypost-mosquitto-'))
  const port = await freePort()
  const settings = [
    `listener ${port} 127.0.0.1`,
    'allow_anonymous true',
    'persistence false',
    'set_tcp_nodelay true',
    'max_inflight_messages 0',
    'max_queued_messages 0',
    'log_type error',
    ...(process.getuid?.() === 0 ? ['user root'] : []),
  ]
  writeFileSync(join(directory, 'mosquitto.conf'), `${settings.join('\n')}\n`)
  const [command, ...args] = onCore(serverCore, ['mosquitto', '-c', join(directory, 'mosquitto.conf')])
  const broker = spawn(command, args, { stdio: 'ignore' })
  await waitForPort(port)
  const consuming = [process.execPath, join(import.meta.dirname, 'peers/consumer.ts'), String(port)]
  const [first, ...others] = onCore(serverCore, consuming)
  const consumer = spawn(first, others, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  await new Promise<void>((done) => void consumer.once('message', () => done()))
  return {
    name: 'Mosquitto with a Node.js consumer',
    port,
    pids: [broker.pid!, consumer.pid!],
    expecting: 'answered',
    subscribes: true,
    collectGarbage: async () => {},
    async stop() {
      consumer.disconnect()
      await exited(consumer)
      broker.kill()
      await exited(broker)
      rmSync(directory, { recursive: true, force: true })
    },
  }
}

export async function waitForPort(port: number) {
  for (let tries = 0; tries < 200; tries++) {
    const socket = net.connect({ port, host: '127.0.0.1' })
    const open = await new Promise<boolean>((done) => {
      socket.once('connect', () => done(true)).once('error', () => done(false))
    })
    socket.destroy()
    if (open) return
    await sleep(25)
  }
  throw new Error(`nothing listens on port ${port}`)
}

/** Network namespaces for tests of the VPN: one for the server and one for each client. Starts programs in these namespaces. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAllTests, temporaryDirectory } from './database.ts'
import { eventually } from './eventually.ts'
import { environmentOf, programPath } from './platform.ts'

/**
 * Environment for `nft` and `openvpn`, which are in /usr/sbin. The variable PATH of many users does not contain this folder. `waypost vpn`
 * does not need this environment, because it searches the folder itself.
 */
const withSbin = { ...process.env, PATH: `${process.env.PATH}:/usr/sbin` }

/** The address that clients connect to. */
export const serverHost = '198.51.100.1'
/** The ports that peers listen on. */
export const peerPort = 7000

const peerProgram = resolve(import.meta.dirname, 'vpn-peer.mjs')

/** Runs a command. If namespaces or tunnels are not possible on this machine, throws an error that says so. */
function run(command: string, ...args: string[]): string {
  try {
    return execFileSync(command, args, { env: withSbin, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
  } catch (error) {
    const { stderr = '', message } = error as { stderr?: string; message: string }
    throw new Error(
      `tests of the VPN need root, network namespaces and /dev/net/tun; "${command} ${args.join(' ')}" failed: ${stderr.trim() || message}`,
    )
  }
}

export interface Peer {
  connect(to: string, port?: number): Promise<string>
  send(to: string, text: string, options?: { from?: string; port?: number }): Promise<string>
  /** Texts of all datagrams that have arrived. */
  received(): string[]
}

export interface VpnNetwork {
  server: string
  /** Creates the namespace of a client. Programs in it can reach the server. */
  addNamespace(): string
  run(namespace: string, ...command: string[]): string
  spawn(namespace: string, command: string[], env?: NodeJS.ProcessEnv): Program
  peer(namespace: string, name: string, ports?: number[]): Promise<Peer>
  /** Runs `waypost vpn` in the namespace of the server. `through` is a program that starts it, such as `setpriv`. */
  startServer(directory: string, environment: Record<string, string>, through?: string[]): Program
  /** Runs OpenVPN with a profile. */
  startClient(namespace: string, profile: string): Program
}

export interface Program {
  process: ChildProcess
  output(): string
  ended: Promise<number | null>
}

let count = 0

export function createVpnNetwork(): VpnNetwork {
  const tag = `wp${process.pid % 100_000}${String.fromCharCode(97 + (count++ % 26))}`
  const namespaces: string[] = []
  const programs: Program[] = []
  afterAllTests(async () => {
    for (const { process } of programs) process.kill('SIGKILL')
    await Promise.all(programs.map(({ ended }) => ended))
    for (const name of namespaces) run('ip', 'netns', 'delete', name)
  })

  const inside = (namespace: string, ...command: string[]) => run('ip', 'netns', 'exec', namespace, ...command)
  function addNamespace(): string {
    const name = `${tag}-${namespaces.length}`
    run('ip', 'netns', 'add', name)
    namespaces.push(name)
    run('ip', '-netns', name, 'link', 'set', 'lo', 'up')
    return name
  }
  function start(command: string, args: string[], env?: NodeJS.ProcessEnv): Program {
    const child = spawn(command, args, { env: env ?? withSbin, stdio: ['pipe', 'pipe', 'pipe'] })
    let output = ''
    child.stdout!.on('data', (text) => (output += text))
    child.stderr!.on('data', (text) => (output += text))
    child.stdin!.on('error', () => {})
    const ended = new Promise<number | null>((done) => child.on('close', done))
    const program = { process: child, output: () => output, ended }
    programs.push(program)
    return program
  }

  const server = addNamespace()
  run('ip', '-netns', server, 'address', 'add', `${serverHost}/32`, 'dev', 'lo')
  // IP forwarding is on for all networks of the server, so only the firewall keeps packets of other networks away from the VPN.
  inside(server, 'sh', '-c', 'echo 1 > /proc/sys/net/ipv4/ip_forward')
  const spawnIn: VpnNetwork['spawn'] = (namespace, command, env) =>
    start('ip', ['netns', 'exec', namespace, ...command], env)
  return {
    server,
    addNamespace() {
      const name = addNamespace()
      const number = namespaces.length
      const [near, far] = [`192.0.2.${number * 4 + 1}`, `192.0.2.${number * 4 + 2}`]
      run('ip', '-netns', server, 'link', 'add', `v${number}`, 'type', 'veth', 'peer', 'name', 'up0', 'netns', name)
      for (const [namespace, device, address] of [
        [server, `v${number}`, near],
        [name, 'up0', far],
      ] as const) {
        run('ip', '-netns', namespace, 'address', 'add', `${address}/30`, 'dev', device)
        run('ip', '-netns', namespace, 'link', 'set', device, 'up')
      }
      run('ip', '-netns', name, 'route', 'add', 'default', 'via', near)
      return name
    },
    run: inside,
    spawn: spawnIn,
    async peer(namespace, name, ports = [peerPort]) {
      return await controlVpnPeer(spawnIn(namespace, [process.execPath, peerProgram, name, ...ports.map(String)]))
    },
    startServer: (directory, environment, through = []) =>
      spawnIn(
        server,
        [...through, process.execPath, programPath({ sources: true }), 'vpn'],
        environmentOf(directory, environment),
      ),
    startClient(namespace, profile) {
      const file = join(temporaryDirectory(), 'client.ovpn')
      writeFileSync(file, profile, { mode: 0o600 })
      return spawnIn(namespace, [
        'openvpn',
        '--config',
        file,
        '--dev',
        'tun0',
        '--connect-retry',
        '1',
        '1',
        '--hand-window',
        '6',
      ])
    },
  }
}

/** Time limit of a connection. A response on a busy machine takes less time. A connection that must fail lasts until this limit. */
const connectMs = 1000

async function controlVpnPeer({ process: child, output }: Program): Promise<Peer> {
  const texts: string[] = []
  const waiting = new Map<number, (result: string) => void>()
  let id = 0
  createInterface({ input: child.stdout! }).on('line', (line) => {
    const message = JSON.parse(line)
    if (message.received !== undefined) texts.push(message.received)
    waiting.get(message.id)?.(message.result)
  })
  const run = (command: object) =>
    new Promise<string>((done) => {
      waiting.set(++id, done)
      child.stdin!.write(`${JSON.stringify({ id, ...command })}\n`)
    })
  await eventually(() => {
    if (!output().includes('"ready"')) throw new Error(`the peer did not start: ${output()}`)
  })
  return {
    connect: (to, port = peerPort) => run({ command: 'connect', to, port, ms: connectMs }),
    send: (to, text, { from, port = peerPort } = {}) => run({ command: 'send', to, port, text, ...(from && { from }) }),
    received: () => texts,
  }
}

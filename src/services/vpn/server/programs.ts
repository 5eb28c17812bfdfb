/** Runs the programs that the server needs, and finds out which programs are missing. */
import { spawn, spawnSync } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { accessSync, closeSync, constants, openSync, readFileSync } from 'node:fs'
import { createServer } from 'node:net'

export type Program = 'openvpn' | 'nft' | 'ip'

const packages: Record<Program, string> = { openvpn: 'openvpn', nft: 'nftables', ip: 'iproute2' }
/** Folders to search, because users other than root often have no sbin folder in their path. */
const folders = ['', '/usr/sbin/', '/sbin/', '/usr/local/sbin/']

export type Programs = Record<Program, string>

const found = (command: string) => spawnSync(command, ['--version'], { stdio: 'ignore' }).error === undefined

/** Finds the programs. Missing programs are undefined. */
export const findPrograms = (): Partial<Programs> =>
  Object.fromEntries(
    (Object.keys(packages) as Program[]).map((name) => [name, folders.map((folder) => folder + name).find(found)]),
  )

const netAdmin = 12n

/** Returns texts that describe what is missing on this machine. */
export function missingParts(programs: Partial<Programs>, platform: string = process.platform): string[] {
  if (platform !== 'linux') return [`The VPN server runs on Linux only, this is ${platform}`]
  const problems = (Object.keys(packages) as Program[])
    .filter((name) => programs[name] === undefined)
    .map((name) => `The program ${name} is not installed; on Debian: apt-get install ${packages[name]}`)
  if (!hasCapability(netAdmin))
    problems.push('No right to change the network (CAP_NET_ADMIN); run the command as root, or give it this capability')
  const tun = tunProblem()
  if (tun) problems.push(tun)
  try {
    accessSync('/proc/sys/net/ipv4/conf/all/forwarding', constants.W_OK)
  } catch {
    problems.push('/proc/sys/net cannot be written; in a container, it needs to be mounted for writing')
  }
  return problems
}

function hasCapability(bit: bigint): boolean {
  const [, mask = '0'] = /^CapEff:\s*([0-9a-f]+)/m.exec(readFileSync('/proc/self/status', 'utf8')) ?? []
  return ((BigInt(`0x${mask}`) >> bit) & 1n) === 1n
}

function tunProblem(): string | undefined {
  try {
    closeSync(openSync('/dev/net/tun', 'r+'))
    return undefined
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT')
      return '/dev/net/tun does not exist; create it: mkdir -p /dev/net && mknod /dev/net/tun c 10 200, or give the container this device'
    if (code === 'ENODEV' || code === 'ENXIO') return 'The kernel has no tun device; load its module: modprobe tun'
    return `/dev/net/tun cannot be opened (${code}); run the command as root, or give the container this device`
  }
}

/** Returns the reason why OpenVPN cannot listen on the port; undefined if it can. */
export async function portProblem(protocol: 'tcp' | 'udp', port: number): Promise<string | undefined> {
  const code = protocol === 'udp' ? await bindUdp(port) : await bindTcp(port)
  if (code === undefined) return undefined
  const name = `Port ${port} (${protocol.toUpperCase()}, WAYPOST_VPN_PORT)`
  if (code === 'EADDRINUSE') return `${name} is in use; stop the other program, or choose another port`
  if (code === 'EACCES') return `${name} needs more rights than this user has; choose a port above 1023`
  return `${name} cannot be opened: ${code}`
}

const bindUdp = (port: number) =>
  new Promise<string | undefined>((resolve) => {
    const socket = createSocket('udp4')
    socket.once('error', (error: NodeJS.ErrnoException) => {
      socket.close()
      resolve(error.code ?? error.message)
    })
    socket.bind(port, () => socket.close(() => resolve(undefined)))
  })

const bindTcp = (port: number) =>
  new Promise<string | undefined>((resolve) => {
    const server = createServer()
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
    server.listen({ port, host: '0.0.0.0' }, () => server.close(() => resolve(undefined)))
  })

/** Runs a program with this text as input. If it fails, throws the text that it wrote to standard error. */
export function runProgram(command: string, args: string[], input: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { stdio: ['pipe', 'ignore', 'pipe'] })
    let problem = ''
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      if (problem.length < 2000) problem += text
    })
    child.on('error', reject)
    child.stdin.on('error', () => {}) // The program ended before it had read everything. Its exit code reports the failure.
    child.on('close', (code) =>
      code === 0
        ? resolve()
        : reject(new Error(`${command} ${args.join(' ')} failed: ${problem.trim() || `exit code ${code}`}`)),
    )
    child.stdin.end(input)
  })
}

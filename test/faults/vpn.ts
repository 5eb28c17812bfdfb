/**
 * Kills one of two nodes or the VPN server with SIGKILL, again and again, while VPN clients are created and revoked at both nodes. Asserts
 * that no address is assigned twice, and that acknowledged creations and revocations are stored. A real OpenVPN server must accept active
 * clients and refuse revoked clients.
 */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { sleep } from '../../src/kernel/clock.ts'
import { connect } from '../../src/kernel/db.ts'
import type { Ask } from '../harness/client.ts'
import { eventually } from '../harness/eventually.ts'
import { freePort } from '../harness/free-port.ts'
import { nodeDirectories, type RunningPlatform, startPlatform } from '../harness/platform.ts'
import { startPostgresServer } from '../harness/postgres-server.ts'
import { processTree } from '../harness/processes.ts'
import { seededRandom } from '../harness/seeded-random.ts'
import { createVpnNetwork, type Program, serverHost } from '../harness/vpn-network.ts'
import { killAll } from './kill.ts'

export interface VpnKillReport {
  rounds: number
  /** Rounds in which the VPN server was killed. */
  serverKills: number
  created: number
  revoked: number
  /** Attempts of revoked clients to connect. The server refused all of them. */
  refused: number
  /** Connections of active clients. */
  accepted: number
}

const root = '/vpms/api/v1/vpnclient'
const writers = 4
const connected = 'Initialization Sequence Completed'
/** A revoked client tries to connect for at least this many milliseconds, or longer if an active client needs longer. */
const attemptMs = 3000

interface Clients {
  active: Map<string, string>
  revoked: Map<string, string>
}

export async function killVpnRounds(options: {
  rounds: number
  seed: number
  directory: string
}): Promise<VpnKillReport> {
  const random = seededRandom(options.seed)
  const database = await startPostgresServer(join(options.directory, 'database'))
  const environment = {
    WAYPOST_DATABASE_URL: database.url,
    WAYPOST_MASTER_KEY: 'k'.repeat(40),
    WAYPOST_VPN_HOST: serverHost,
    WAYPOST_LOG_LEVEL: 'error',
  }
  const directories = nodeDirectories(3)
  const start = (index: number) => startPlatform({ directory: directories[index]!, environment })
  const nodes: RunningPlatform[] = [await start(0)]
  nodes.push(await start(1))
  const { bootstrap } = nodes[0]!
  const ask = (index: number) => nodes[index]!.asService(bootstrap.default)
  const network = createVpnNetwork()
  const url = new URL(database.url)
  const startServer = async () => {
    const port = await proxyInside(network, database.connection())
    url.port = String(port)
    return network.startServer(directories[2]!, { ...environment, WAYPOST_DATABASE_URL: url.href })
  }
  let server = await startServer()
  const namespaces = [network.addNamespace(), network.addNamespace()] as const
  const load = startLoad(ask, random)
  const report = { rounds: options.rounds, serverKills: 0, refused: 0, accepted: 0 }
  for (let round = 0; round < options.rounds; round++) {
    await sleep(300 + random() * 1000)
    const victim = Math.floor(random() * 3)
    if (victim === 2) {
      report.serverKills++
      for (const pid of processTree(server.process.pid!)) process.kill(pid, 'SIGKILL')
      await server.ended
      server = await startServer()
    } else {
      await killAll(nodes[victim]!)
      nodes[victim] = await start(victim)
    }
    const { active, revoked } = load.clients
    const [revokedId] = [...revoked.keys()].slice(-1 - Math.floor(random() * Math.min(5, revoked.size)))
    const activeId = await load.keep()
    const profileOf = async (id: string) => (await (await ask(victim % 2))(`GET ${root}/${id}/config`)).text
    const profiles = [active.has(activeId) ? await profileOf(activeId) : '', revoked.get(revokedId!) ?? ''] as const
    await attempt(network, namespaces, profiles, () => server.output())
    report.accepted++
    if (profiles[1] !== '') report.refused++
    load.release(activeId)
  }
  const clients = await load.stop()
  await verify(await ask(0), database, clients)
  for (const node of nodes) assert.equal(await node.kill('SIGTERM'), 0)
  server.process.kill('SIGTERM')
  await server.ended
  await database.stop()
  return { ...report, created: clients.active.size + clients.revoked.size, revoked: clients.revoked.size }
}

/**
 * Starts a TCP proxy to the database inside the network namespace of the VPN server. Programs in this namespace cannot reach loopback
 * addresses of the test, but can reach the Unix socket of the database.
 */
async function proxyInside(
  network: ReturnType<typeof createVpnNetwork>,
  target: { host: string; port: number },
): Promise<number> {
  const port = await freePort()
  const socket = join(target.host, `.s.PGSQL.${target.port}`)
  const program = `const { connect, createServer } = require('node:net')
    createServer((from) => {
      const to = connect(${JSON.stringify(socket)})
      for (const [one, other] of [[from, to], [to, from]]) one.on('error', () => other.destroy()).pipe(other)
    }).listen(${port}, '127.0.0.1', () => console.log('ready'))`
  const { output } = network.spawn(network.server, [process.execPath, '-e', program])
  await eventually(() => assert.match(output(), /ready/))
  return port
}

/** Connects an active client, and at the same time tries to connect a revoked client. */
async function attempt(
  network: ReturnType<typeof createVpnNetwork>,
  namespaces: readonly [string, string],
  [activeProfile, revokedProfile]: readonly [string, string],
  serverOutput: () => string,
) {
  const programs: Program[] = [network.startClient(namespaces[0], activeProfile)]
  if (revokedProfile !== '') programs.push(network.startClient(namespaces[1], revokedProfile))
  const began = performance.now()
  const isIn = (program: Program | undefined) => program?.output().includes(connected) === true
  await eventually(
    () => {
      assert.ok(!isIn(programs[1]), 'a revoked client must not connect')
      assert.ok(
        isIn(programs[0]),
        `the VPN server did not accept an active client: ${programs[0]!.output()}\n${serverOutput()}`,
      )
    },
    { withinMs: 60_000 },
  )
  await sleep(Math.max(0, attemptMs - (performance.now() - began)))
  assert.ok(!isIn(programs[1]), 'a revoked client must not connect')
  for (const program of programs) program.process.kill('SIGKILL')
  await Promise.all(programs.map(({ ended }) => ended))
}

/** Creates clients and revokes some of them at both nodes. The outcome of a request without a response counts as unknown. */
function startLoad(ask: (index: number) => Promise<Ask>, random: () => number) {
  /** Addresses of active clients and profiles of revoked clients, by id. */
  const clients: Clients = { active: new Map(), revoked: new Map() }
  const [kept, unknown] = [new Set<string>(), new Set<string>()]
  let isRunning = true

  async function createOne() {
    const node = await ask(Math.floor(random() * 2))
    const { status, body, text } = await node(`POST ${root}`, { name: 'c', type: 'device' })
    assert.ok(status === 201 || status >= 500, text)
    if (status === 201) clients.active.set(body.data.id, body.data.ipAddress)
  }
  async function revokeOne() {
    const free = [...clients.active.keys()].filter((id) => !kept.has(id) && !unknown.has(id))
    const id = free[Math.floor(random() * free.length)]
    if (id === undefined || free.length < 3) return
    unknown.add(id)
    const node = await ask(Math.floor(random() * 2))
    const profile = await node(`GET ${root}/${id}/config`)
    if (profile.status !== 200) return
    const { status, text } = await node(`DELETE ${root}/${id}`)
    assert.ok(status < 300 || status >= 500, text)
    if (status >= 300) return
    clients.active.delete(id)
    clients.revoked.set(id, profile.text)
  }
  const running = Array.from({ length: writers }, async () => {
    while (isRunning) {
      try {
        await (random() < 0.6 ? createOne() : revokeOne())
      } catch (error) {
        if (error instanceof assert.AssertionError) throw error
        // The request failed, because the node was killed while it processed the request.
      }
      await sleep(20 + random() * 80)
    }
  })
  const failed = Promise.all(running)
  failed.catch(() => {})
  return {
    clients,
    /** Chooses an active client that is not revoked until the test releases it. */
    keep: () =>
      eventually(() => {
        const id = [...clients.active.keys()].findLast((one) => !unknown.has(one))
        assert.ok(id !== undefined)
        kept.add(id)
        return id
      }),
    release: (id: string) => void kept.delete(id),
    async stop() {
      isRunning = false
      await failed
      for (const id of unknown) if (!clients.revoked.has(id)) clients.active.delete(id)
      return clients
    },
  }
}

async function verify(
  ask: Ask,
  database: Awaited<ReturnType<typeof startPostgresServer>>,
  { active, revoked }: Clients,
) {
  const sql = connect(database.connection(), { max: 1, name: 'faults' })
  try {
    const rows = await sql<{ id: string; state: string; address: string }[]>`
      select id, state, host(address) as address from vpn.clients`
    const byId = new Map(rows.map((row) => [row.id, row]))
    for (const [id, address] of active)
      assert.deepEqual([byId.get(id)?.state, byId.get(id)?.address], ['active', address], `client ${id}`)
    for (const id of revoked.keys()) assert.equal(byId.get(id)?.state, 'revoked', `client ${id}`)
    const assignedAddresses = rows.filter(({ state }) => state === 'active').map(({ address }) => address)
    assert.equal(
      new Set(assignedAddresses).size,
      assignedAddresses.length,
      'an address must be assigned to one active client only',
    )
    const [id] = active.keys()
    if (id !== undefined) assert.equal((await ask(`GET ${root}/${id}`)).status, 200)
  } finally {
    await sql.end({ timeout: 5 })
  }
}

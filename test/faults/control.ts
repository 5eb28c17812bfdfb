/**
 * Kills one of two nodes with SIGKILL, again and again, while commands, configurations, rollouts and uploads run. Asserts that no
 * acknowledged command is lost or delivered after its expiry; that no caller gets the result of another command; that no device gets a
 * command whose result was already acknowledged; that every endpoint has the right configuration and software; that files are complete.
 */
import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { sleep } from '../../src/kernel/clock.ts'
import { connect, type Pool } from '../../src/kernel/db.ts'
import { type Answer, type Ask, bearer, client } from '../harness/client.ts'
import { eventually } from '../harness/eventually.ts'
import { nodeDirectories, type RunningPlatform, startPlatform } from '../harness/platform.ts'
import { startPostgresServer } from '../harness/postgres-server.ts'
import { seededRandom } from '../harness/seeded-random.ts'
import { type ControlDevice, type Protocol, startControlDevice } from './control-device.ts'
import { killAll } from './kill.ts'

export interface ControlKillReport {
  rounds: number
  /** Commands whose caller got a response. */
  commands: number
  executed: number
  expired: number
  /** Commands whose caller waited for the result and got it in the response. */
  awaited: number
  configurations: number
  versions: number
  uploads: number
  downloads: number
}

const app = 'plant'
const version = `${app}-v1`
const software = `/otao/api/v1/applications/${app}/software`
const protocols: Protocol[] = ['mqtt 3.1.1', 'mqtt 5', 'http', 'mqtt 3.1.1', 'mqtt 5', 'http']
const callersCount = 3
/** Allowed milliseconds between the expiry of a command and its arrival at the device, because delivery is slow on a busy machine. */
const slackMs = 1000

interface Load {
  nodes: RunningPlatform[]
  random(): number
  /**
   * Access tokens by node. A token is valid only at the node that issued it, because each node has a different address and therefore a
   * different issuer.
   */
  tokens: WeakMap<RunningPlatform, string>
  isRunning: boolean
  /** Key: number of the command. Value: its endpoint, and its id if the caller got a response. */
  commands: Map<number, { endpointId: string; id?: number; isAwaited?: boolean }>
  /** Key: endpoint. Value: the number of the last acknowledged configuration and the number of the last configuration that was sent. */
  own: Map<string, { acknowledged: number; sent: number }>
  fleet: { acknowledged: number; sent: number }
  versions: string[]
  /** Key: software version. Value: checksum of its acknowledged file. */
  uploads: Map<string, string>
}

export async function killControlRounds(options: {
  rounds: number
  seed: number
  directory: string
}): Promise<ControlKillReport> {
  const random = seededRandom(options.seed)
  const database = await startPostgresServer(join(options.directory, 'database'))
  const environment = {
    WAYPOST_DATABASE_URL: database.url,
    WAYPOST_MASTER_KEY: 'k'.repeat(40),
    WAYPOST_LOG_LEVEL: 'fatal',
    WAYPOST_RATE_LIMIT_PER_CREDENTIAL: '0',
    WAYPOST_RATE_LIMIT_PER_ADDRESS: '0',
  }
  const directories = nodeDirectories(2)
  const start = (index: number) => startPlatform({ directory: directories[index]!, environment })
  const nodes = [await start(0)]
  nodes.push(await start(1))
  const secrets = nodes[0]!.bootstrap.default
  const tokenOf = async (node: RunningPlatform) =>
    (await node.authorizationOf(secrets)).authorization.slice('Bearer '.length)
  const load = newLoad(nodes, random)
  for (const node of nodes) load.tokens.set(node, await tokenOf(node))
  await prepare(await nodes[0]!.asService(secrets))
  const devices = protocols.map((protocol, n) =>
    startControlDevice({ nodes, random, version }, { endpointId: `d${n}`, token: `token-${n}`, protocol }),
  )
  const running = Promise.all([
    ...Array.from({ length: callersCount }, () => invokeCommands(load)),
    configure(load),
    configureFleet(load),
    release(load),
  ])
  // An error of the load is handled later, when the test awaits `running`.
  running.catch(() => {})
  for (let round = 0; round < options.rounds; round++) {
    await sleep(300 + random() * 1200)
    const victim = Math.floor(random() * 2)
    await killAll(nodes[victim]!)
    const started = await start(victim)
    load.tokens.set(started, await tokenOf(started))
    nodes[victim] = started
  }
  load.isRunning = false
  await running
  const sql = connect(database.connection(), { max: 2, name: 'faults' })
  try {
    await verifyEndpoints(() => nodes[0]!.asService(secrets), load, devices)
    const counts = await verifyCommands(sql, load, devices)
    await verifyFiles(nodes[1]!, await tokenOf(nodes[1]!), load, devices)
    for (const device of devices) await device.stop()
    for (const node of nodes) assert.equal(await node.kill('SIGTERM'), 0)
    return {
      rounds: options.rounds,
      ...counts,
      configurations: [...load.own.values()].reduce((sum, { acknowledged }) => sum + acknowledged, 0),
      versions: load.versions.length,
      uploads: load.uploads.size,
      downloads: devices.reduce((sum, { downloads }) => sum + downloads.size, 0),
    }
  } finally {
    for (const device of devices) await device.stop()
    await sql.end({ timeout: 5 })
    await database.stop()
  }
}

const newLoad = (nodes: RunningPlatform[], random: () => number): Load => ({
  nodes,
  random,
  tokens: new WeakMap(),
  isRunning: true,
  commands: new Map(),
  own: new Map(protocols.map((_, n) => [`d${n}`, { acknowledged: 0, sent: 0 }])),
  fleet: { acknowledged: 0, sent: 0 },
  versions: ['1.0.0'],
  uploads: new Map(),
})

async function prepare(ask: Ask) {
  const expectSuccess = async (operation: string, body: unknown) => {
    const { status, text } = await ask(operation, body)
    assert.equal(status, 201, `${operation}: ${text}`)
  }
  await expectSuccess('POST /api/v1/applications', { name: app })
  await expectSuccess(`POST /api/v1/applications/${app}/app-versions`, { nameSuffix: 'v1' })
  for (const n of protocols.keys())
    await expectSuccess('POST /epr/api/v1/endpoints', {
      appVersion: { name: version },
      endpointId: `d${n}`,
      endpointToken: `token-${n}`,
    })
  await expectSuccess(`POST ${software}/1.0.0`, { rolloutStrategy: 'suspended' })
}

/** Sends a request to a random node. Returns undefined if there was no response, or if the response says that nothing was changed. */
async function request(
  { nodes, random, tokens }: Load,
  operation: string,
  body?: unknown,
): Promise<Answer | undefined> {
  const node = nodes[Math.floor(random() * nodes.length)]!
  const answer = await client(node.baseUrl, bearer(tokens.get(node)!))(operation, body).catch(() => undefined)
  if (answer?.status === 503) return undefined
  assert.ok(answer === undefined || answer.status < 500, `${operation}: ${answer?.status} ${answer?.text}`)
  return answer
}

let nextCommand = 0

async function invokeCommands(load: Load) {
  while (load.isRunning) {
    const n = ++nextCommand
    const endpointId = `d${Math.floor(load.random() * protocols.length)}`
    const command: { endpointId: string; id?: number; isAwaited?: boolean } = { endpointId }
    load.commands.set(n, command)
    const ttlMs = load.random() < 0.3 ? 300 : 15_000
    const path = `/cex/api/v1/endpoints/${endpointId}/commands/blink?awaitTimeout=3&commandTtl=${ttlMs}`
    const answer = await request(load, `POST ${path}`, { n })
    if (!answer) {
      await sleep(50)
      continue
    }
    assert.ok(answer.status === 200 || answer.status === 202, `${answer.status} ${answer.text}`)
    command.id = Number(answer.headers.get('location')!.split('/').at(-1))
    if (answer.status === 202) continue
    assert.deepEqual(answer.body, { n }, 'a caller must get the result of its own command')
    command.isAwaited = true
  }
}

async function configure(load: Load) {
  while (load.isRunning)
    for (const [endpointId, numbers] of load.own) {
      const n = ++numbers.sent
      const path = `/ecr/api/v1/endpoints/${endpointId}/app-versions/${version}?name=own`
      const answer = await request(load, `PUT ${path}`, { n })
      if (answer) assert.equal(answer.status, 200, answer.text)
      if (answer) numbers.acknowledged = n
      await sleep(50)
    }
}

async function configureFleet(load: Load) {
  const endpoints = { [version]: [...load.own.keys()] }
  while (load.isRunning) {
    const n = ++load.fleet.sent
    const answer = await request(load, 'PUT /ecr/api/v1/endpoints/batch?name=fleet', {
      configPayload: { n },
      endpoints,
    })
    if (answer) assert.equal(answer.status, 200, answer.text)
    if (answer) load.fleet.acknowledged = n
    await sleep(200)
  }
}

const checksum = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')

/** Creates software versions for all endpoints and uploads a file for each version. Repeats a request that got no response. */
async function release(load: Load) {
  for (let n = 1; load.isRunning; n++) {
    const name = `1.0.${n}`
    const repeat = async (operation: string, body: unknown, accepted: number[]) => {
      for (;;) {
        const answer = await request(load, operation, body)
        if (answer && accepted.includes(answer.status)) return
        if (answer) assert.fail(`${operation}: ${answer.status} ${answer.text}`)
        await sleep(50)
      }
    }
    const fields = {
      rolloutStrategy: 'general',
      upgradableFrom: load.versions,
      skipDispatchingToEndpoint: true,
      filename: 'f.bin',
    }
    await repeat(`POST ${software}/${name}`, fields, [201, 409])
    const content = randomBytes(1_500_000)
    await repeat(`PUT ${software}/${name}/file?filename=f.bin`, content, [204])
    load.uploads.set(name, checksum(content))
    load.versions.push(name)
    await sleep(1000 + load.random() * 1000)
  }
}

/** Waits until every device has the last configuration and the last version, and compares them with the API. */
async function verifyEndpoints(signIn: () => Promise<Ask>, { own, fleet, versions }: Load, devices: ControlDevice[]) {
  const newest = versions.at(-1)!
  await eventually(
    async () => {
      // On a busy machine, the attempts take longer than an access token is valid, so each attempt signs in again.
      const ask = await signIn()
      const { body } = await ask(`GET ${software}/endpoints?limit=100`)
      for (const { endpointId, configurations, software: installed } of devices) {
        const effective = async (name: string) => {
          const path = `/ecr/api/v1/endpoints/${endpointId}/app-versions/${version}?name=${name}`
          const answer = await ask(`GET ${path}`)
          assert.equal(answer.status, 200, `${path}: ${answer.text}`)
          return JSON.parse(answer.body.config) as { n: number }
        }
        for (const [name, numbers] of [['own', own.get(endpointId)!] as const, ['fleet', fleet] as const]) {
          const { n } = await effective(name)
          assert.ok(
            n >= numbers.acknowledged && n <= numbers.sent,
            `${endpointId}: configuration ${name} has number ${n}, expected ${numbers.acknowledged} to ${numbers.sent}`,
          )
          assert.deepEqual(configurations.get(name), { n }, `${endpointId}, ${name}`)
        }
        assert.equal(installed, newest, endpointId)
        const listed = body.find((one: { endpointId: string }) => one.endpointId === endpointId)
        assert.equal(listed?.currentVersion, newest, endpointId)
      }
    },
    { withinMs: 60_000, everyMs: 500 },
  )
}

async function verifyCommands(sql: Pool, { commands }: Load, devices: ControlDevice[]) {
  await eventually(
    async () => {
      const [row] = await sql`
        select count(*)::int as pending from commands.commands where status_code is null and ends_at > now()`
      assert.equal(row!.pending, 0)
    },
    { withinMs: 30_000 },
  )
  const rows = await sql<{ endpointId: string; id: number; n: number; result: string | null; endsAt: Date }[]>`
    select endpoint_id, command_id as id, (payload::jsonb ->> 'n')::int as n, result, ends_at from commands.commands`
  const stored = new Map(rows.map((row) => [row.n, row]))
  assert.equal(stored.size, rows.length, 'a command must be stored once')
  for (const [n, { endpointId, id, isAwaited }] of commands) {
    if (id === undefined) continue
    const row = stored.get(n)
    assert.deepEqual(row && { endpointId: row.endpointId, id: row.id }, { endpointId, id }, `command ${n} is lost`)
    if (isAwaited) assert.deepEqual(JSON.parse(row!.result ?? 'null'), { n }, `result of command ${n}`)
  }
  const arrived = new Set<number>()
  for (const { endpointId, arrivals, repeated } of devices) {
    assert.deepEqual(repeated, [], `${endpointId} got commands again`)
    for (const { n, id, at } of arrivals) {
      const row = stored.get(n)!
      assert.deepEqual({ endpointId: row.endpointId, id: row.id }, { endpointId, id })
      if (row.result === null) assert.ok(at <= row.endsAt.getTime() + slackMs, `command ${n} arrived after its expiry`)
      arrived.add(n)
    }
  }
  for (const { n, result } of rows)
    if (result !== null) {
      assert.deepEqual(JSON.parse(result), { n })
      assert.ok(arrived.has(n), `command ${n} has a result that no device has sent`)
    }
  const acknowledged = [...commands.values()].filter(({ id }) => id !== undefined)
  return {
    commands: acknowledged.length,
    executed: rows.filter(({ result }) => result !== null).length,
    expired: rows.filter(({ result }) => result === null).length,
    awaited: acknowledged.filter(({ isAwaited }) => isAwaited).length,
  }
}

async function verifyFiles({ baseUrl }: RunningPlatform, token: string, { uploads }: Load, devices: ControlDevice[]) {
  for (const [name, expected] of uploads) {
    const answer = await fetch(`${baseUrl}${software}/${name}/file`, { headers: bearer(token) })
    assert.equal(answer.status, 200, name)
    assert.equal(checksum(new Uint8Array(await answer.arrayBuffer())), expected, name)
    for (const { endpointId, downloads } of devices)
      if (downloads.has(name)) assert.equal(downloads.get(name), expected, `${endpointId}, ${name}`)
  }
}

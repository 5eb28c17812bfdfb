/**
 * Kills every process of the platform with SIGKILL at random moments while tenants and applications are written. Each time, the platform
 * is restarted on the same directory. Finally the stored data is compared with the acknowledged writes.
 */

import assert from 'node:assert/strict'
import { sleep } from '../../src/kernel/clock.ts'
import { type Ask, tokenOf } from '../harness/client.ts'
import { eventually } from '../harness/eventually.ts'
import { type RunningPlatform, startPlatform } from '../harness/platform.ts'
import { processTree } from '../harness/processes.ts'
import { seededRandom } from '../harness/seeded-random.ts'

interface Acknowledged {
  tenants: { tenantId: string; pk: string }[]
  /** Name → the descriptions that the application may have: the last acknowledged description, or a description that was sent later. */
  applications: Map<string, string[]>
}

export interface KillReport {
  rounds: number
  tenants: number
  applications: number
  slowestStartSeconds: number
}

/** Additional writes during the rounds, and their verification. */
export interface AdditionalLoad {
  /** Writes until the platform is killed. `begun` resolves when at least one write is acknowledged. */
  write(platform: RunningPlatform, round: number): Promise<{ begun: Promise<unknown>; ended: Promise<unknown> }>
  /** Called after each start. Verifies the writes since the last call, or all writes if `isLast` is true. */
  verify(platform: RunningPlatform, isLast: boolean): Promise<void>
}

export interface KillOptions {
  rounds: number
  seed: number
  directory: string
  /** Maximum milliseconds from the time when each kind of load has an acknowledged write until the kill. */
  withinMs?: number
  additionalLoad?: AdditionalLoad
}

export async function killRounds(options: KillOptions): Promise<KillReport> {
  const { rounds, directory, withinMs = 1000, additionalLoad } = options
  const random = seededRandom(options.seed)
  const acknowledged: Acknowledged = { tenants: [], applications: new Map() }
  let slowest = 0
  const start = async (isLast = false) => {
    const began = performance.now()
    const platform = await startPlatform({ directory, environment: { WAYPOST_LOG_LEVEL: 'fatal' } })
    slowest = Math.max(slowest, (performance.now() - began) / 1000)
    await additionalLoad?.verify(platform, isLast)
    return platform
  }
  for (let round = 0; round < rounds; round++) {
    const platform = await start()
    const writers = await writersOf(platform)
    // Every fifth round kills the platform without any writes.
    const isIdle = round % 5 === 4
    const known = { tenants: acknowledged.tenants.length, applications: acknowledged.applications.size }
    const writing = isIdle ? undefined : write(writers, round, acknowledged)
    const other = isIdle ? undefined : await additionalLoad?.write(platform, round)
    const hasBegun = () =>
      acknowledged.tenants.length > known.tenants && acknowledged.applications.size > known.applications
    if (!isIdle) await eventually(() => assert.ok(hasBegun()), { everyMs: 5 })
    await other?.begun
    await sleep(random() * withinMs)
    await killAll(platform)
    await Promise.all([writing, other?.ended])
  }
  await verify(await start(true), acknowledged)
  return {
    rounds,
    tenants: acknowledged.tenants.length,
    applications: acknowledged.applications.size,
    slowestStartSeconds: slowest,
  }
}

export async function killAll(platform: RunningPlatform) {
  const ended = new Promise((done) => platform.process.once('close', done))
  for (const pid of processTree(platform.process.pid!)) process.kill(pid, 'SIGKILL')
  await ended
}

interface Writers {
  asPlatform: Ask
  asDefault: Ask
}

const writersOf = async ({ asService, bootstrap }: RunningPlatform): Promise<Writers> => ({
  asPlatform: await asService(bootstrap.platform),
  asDefault: await asService(bootstrap.default),
})

/** Writes until the platform is killed; only acknowledged writes are recorded. */
async function write({ asPlatform, asDefault }: Writers, round: number, acknowledged: Acknowledged) {
  await Promise.all([
    ...[0, 1].map((writer) => writeTenants(asPlatform, `r${round}-${writer}`, acknowledged)),
    ...[0, 1].map((writer) => writeApplications(asDefault, `r${round}-${writer}`, acknowledged)),
  ])
}

/** Returns the result of the call, or undefined if it fails because the platform was killed. */
async function undefinedIfDown<T>(call: () => Promise<T>): Promise<T | undefined> {
  try {
    return await call()
  } catch {
    return undefined
  }
}

async function writeTenants(ask: Ask, prefix: string, { tenants }: Acknowledged) {
  for (let n = 0; ; n++) {
    const tenantId = `${prefix}-${n}`
    const admin = { email: 'a@example.org', username: 'admin', first_name: 'A', last_name: 'B' }
    const answer = await undefinedIfDown(() =>
      ask('POST /tenant-manager/api/v2/tenants', { name: tenantId, tenant_id: tenantId, admin }),
    )
    if (!answer) return
    if (answer.status === 202) tenants.push({ tenantId, pk: answer.body.id })
    else assert.equal(answer.status, 503, answer.text)
  }
}

async function writeApplications(ask: Ask, prefix: string, { applications }: Acknowledged) {
  for (let n = 0; ; n++) {
    const name = `${prefix}-${n}`
    const answer = await undefinedIfDown(() => ask('POST /api/v1/applications', { name, description: '0' }))
    if (!answer) return
    if (answer.status !== 201) {
      assert.equal(answer.status, 503, answer.text)
      continue
    }
    applications.set(name, ['0'])
    for (let change = 1; change <= 3; change++) {
      const sent = applications.get(name)!
      sent.push(String(change))
      const changed = await undefinedIfDown(() =>
        ask(`PATCH /api/v1/applications/${name}`, { description: String(change) }),
      )
      if (!changed) return
      if (changed.status === 204) applications.set(name, [String(change)])
      else assert.equal(changed.status, 503, changed.text)
    }
  }
}

async function verify(platform: RunningPlatform, { tenants, applications }: Acknowledged) {
  const asDefault = await platform.asService(platform.bootstrap.default)
  const { body } = await asDefault('GET /api/v1/applications')
  const found = new Map(
    (body as { name: string; description: string }[]).map(({ name, description }) => [name, description]),
  )
  for (const [name, texts] of applications)
    assert.ok(
      texts.includes(found.get(name) ?? 'missing'),
      `${name}: ${found.get(name)}, acknowledged ${texts.join(' or ')}`,
    )

  const asPlatform = await platform.asService(platform.bootstrap.platform)
  await eventually(
    async () => {
      for (const status of ['CREATING', 'UPDATING', 'FAILED']) {
        const stuck = await asPlatform(`GET /api/v1/tenants?status=${status}&limit=1`)
        assert.equal(stuck.body.count, 0, `${stuck.body.count} tenants are ${status}`)
      }
    },
    { withinMs: 180_000, everyMs: 500 },
  )
  for (const { tenantId, pk } of tenants) {
    const tenant = await asPlatform(`GET /tenant-manager/api/v2/tenants/${pk}`)
    assert.equal(tenant.body?.status, 'AVAILABLE', `${tenantId}: ${tenant.text}`)
  }
  for (const { tenantId, pk } of tenants.slice(-3)) {
    const { body } = await asPlatform(`GET /tenant-manager/api/v2/tenants/${pk}/credentials`)
    const { client_backend_id: client_id, client_backend_secret: client_secret } = body
    await tokenOf(platform.baseUrl, tenantId, { grant_type: 'client_credentials', client_id, client_secret })
  }
}

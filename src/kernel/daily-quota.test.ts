import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from '../../test/harness/eventually.ts'
import { openTestPlatform } from '../../test/harness/test-platform.ts'
import { createDailyQuota } from './daily-quota.ts'
import { DailyQuotaExceeded } from './errors.ts'
import { createMetrics } from './metrics.ts'
import { createTenantLimits } from './tenant-limits.ts'

const { kit } = await openTestPlatform({ services: [], environment: { WAYPOST_LOG_LEVEL: 'fatal' } })
const { db, log } = kit
const kilobyte = 1000

function aNode(bytesPerDay: number, now = () => new Date('2026-05-04T22:00:00Z')) {
  const limits = createTenantLimits({ bytesPerDay, requestsPerSecond: 0 }, log)
  const metrics = createMetrics()
  return { quota: createDailyQuota({ db, limits, now, log, metrics }), limits, metrics }
}

const isExceeded = ({ quota }: ReturnType<typeof aNode>, tenantId: string) => {
  try {
    quota.requireSamples(tenantId, 0)
    return false
  } catch (error) {
    assert.ok(DailyQuotaExceeded.is(error), String(error))
    return true
  }
}

test('a tenant may store its quota, then gets 429 until midnight in UTC, and other tenants are not affected', async () => {
  let time = new Date('2026-05-04T22:00:00Z')
  const node = aNode(10 * kilobyte, () => time)
  node.quota.requireSamples('a', 6 * kilobyte)
  assert.equal(isExceeded(node, 'a'), false)
  assert.equal(node.quota.allowsRecord('a', 4 * kilobyte), true)
  assert.throws(
    () => node.quota.requireSamples('a', 1),
    (error: unknown) => (error as { headers: Record<string, string> }).headers['retry-after'] === '7200',
  )
  assert.equal(node.quota.allowsRecord('a', 1), false)
  assert.equal(isExceeded(node, 'b'), false)
  assert.equal(node.quota.allowsRecord('b', 0), true)
  const { days } = await node.quota.usage('a', 1)
  assert.deepEqual(
    [...days],
    [
      {
        day: '2026-05-04',
        samples: 6000,
        trafficLog: 4000,
        documents: 0,
        traces: 0,
        alerts: 0,
        refused: 1,
        unrecorded: 1,
        shortened: 0,
      },
    ],
  )
  assert.match(await node.metrics.text(), /waypost_daily_quota_refused_total 1\n/)
  time = new Date('2026-05-05T00:00:00Z')
  assert.equal(isExceeded(node, 'a'), false)
})

test('documents, traces and alerts count towards the quota; above the quota, documents are stored and details are left out', async () => {
  const node = aNode(10 * kilobyte)
  node.quota.requireSamples('rules', kilobyte)
  node.quota.count('rules', 'documents', 4 * kilobyte)
  assert.equal(node.quota.allowsDetails('rules', 'traces', 3 * kilobyte), true)
  assert.equal(node.quota.allowsDetails('rules', 'alerts', 2 * kilobyte), true)
  assert.equal(node.quota.allowsDetails('rules', 'traces', 1), false)
  assert.equal(isExceeded(node, 'rules'), true)
  node.quota.count('rules', 'documents', kilobyte)
  const [today] = (await node.quota.usage('rules', 1)).days
  const { documents, traces, alerts, shortened } = today!
  assert.deepEqual(
    { documents, traces, alerts, shortened },
    { documents: 5000, traces: 3000, alerts: 2000, shortened: 1 },
  )
  assert.match(await node.metrics.text(), /waypost_daily_quota_shortened_total 1\n/)
  const restarted = aNode(10 * kilobyte)
  restarted.quota.count('rules', 'documents', 1)
  await restarted.quota.flush()
  assert.equal(isExceeded(restarted, 'rules'), true)
})

test('nodes share the quota, and each node exceeds it by at most about a hundredth', async () => {
  const nodes = [aNode(1_000_000), aNode(1_000_000), aNode(1_000_000)]
  let stored = 0
  for (let round = 0; round < 10_000; round++) {
    const node = nodes[round % nodes.length]!
    if (isExceeded(node, 'shared')) break
    node.quota.requireSamples('shared', kilobyte)
    stored += kilobyte
    // The test yields to the event loop, so that writes start in the background as for real messages from sockets.
    await new Promise((done) => setImmediate(done))
    if (round % 10 === 0) await node.quota.flush()
  }
  assert.ok(stored >= 1_000_000 && stored <= 1_060_000, String(stored))
  await Promise.all(nodes.map(({ quota }) => quota.flush()))
  // A node reads the usage of the other nodes when it writes its own usage. A rejected message also triggers such a write.
  for (const node of nodes) {
    if (!isExceeded(node, 'shared')) node.quota.requireSamples('shared', 1)
    await node.quota.flush()
    assert.equal(isExceeded(node, 'shared'), true)
  }
})

test('after its first write, a restarted node knows the usage of the present day', async () => {
  const before = aNode(10 * kilobyte)
  before.quota.requireSamples('restarted', 10 * kilobyte)
  await before.quota.flush()
  const after = aNode(10 * kilobyte)
  after.quota.requireSamples('restarted', 1)
  await eventually(() => assert.equal(isExceeded(after, 'restarted'), true))
})

test('a larger quota in the package applies within seconds; with 0 in the package the setting applies; with 0 in both no message is rejected', async () => {
  const node = aNode(kilobyte)
  const ofPackage = { bytesPerDay: 0, requestsPerSecond: 0 }
  node.limits.setSource(async (tenantIds) => new Map(tenantIds.map((tenantId) => [tenantId, ofPackage])))
  node.quota.requireSamples('grows', kilobyte)
  assert.equal(isExceeded(node, 'grows'), true)
  ofPackage.bytesPerDay = 5 * kilobyte
  await eventually(() => assert.equal(isExceeded(node, 'grows'), false))
  const unlimited = aNode(0)
  unlimited.quota.requireSamples('free', 1e12)
  assert.equal(isExceeded(unlimited, 'free'), false)
})

test('counts that could not be written are written later', async () => {
  let fails = true
  const sql = Object.assign((...given: never[]) => {
    if (fails) return Promise.reject(new Error('no database'))
    return (db.sql as unknown as (...given: never[]) => Promise<unknown>)(...given)
  }, db.sql)
  const limits = createTenantLimits({ bytesPerDay: 0, requestsPerSecond: 0 }, log)
  const now = () => new Date('2026-05-04T22:00:00Z')
  const quota = createDailyQuota({ db: { ...db, sql: sql as never }, limits, now, log, metrics: createMetrics() })
  quota.requireSamples('later', 7)
  await quota.flush()
  fails = false
  assert.equal((await quota.usage('later', 1)).days[0]?.samples, 7)
})

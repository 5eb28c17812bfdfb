import assert from 'node:assert/strict'
import { test } from 'node:test'
import { afterAllTests } from '../../../../test/harness/database.ts'
import { eventually } from '../../../../test/harness/eventually.ts'
import { openLive } from '../../../../test/harness/live-time-series.ts'
import { openNode } from '../../../../test/harness/node.ts'
import { aNode, kernelDatabase } from '../../../../test/harness/nodes.ts'
import { sleep } from '../../../kernel/clock.ts'
import { connect } from '../../../kernel/db.ts'
import { postgresTransport } from '../../../kernel/signals.ts'
import { createInterests } from './interests.ts'
import { SetInterest } from './signals.ts'

const environment = { WAYPOST_MASTER_KEY: 'm'.repeat(40) }
const stores = await openLive({ environment })
const { connection } = stores.waypost
const open = () => openLive({ connection, environment })
const watches = await open()
const { unregisteredEndpoint, registerEndpoint, collect } = stores

/** Records the signals between nodes, by channel. */
const sent = { toWatcher: [] as string[], toAll: [] as string[] }
const listener = connect(connection, { max: 1 })
afterAllTests(() => listener.end())
for (const [to, channel] of [
  ['toWatcher', `waypost_node_${watches.waypost.kit.members.nodeId}`],
  ['toAll', 'waypost_all'],
] as const)
  await listener.listen(channel, (frame) => void sent[to].push(frame))
const withPoints = (frames: string[]) => frames.filter((frame) => frame.includes('time-series.live-points')).length

test('points of any length that one node stores are sent to streams of another node; points that no stream watches are not forwarded', async () => {
  const app = await unregisteredEndpoint({ 'time-series': { names: { s: { values: [{ path: 's' }] } } } })
  const [first, second] = [await registerEndpoint(app), await registerEndpoint(app)]
  await collect(first, [{ timestamp: 1, a: 1 }])
  const source = await watches.watch(app, `?endpointId=${first.endpointId}`)
  // Random text cannot be compressed, so the signal for this point consists of many messages.
  const text = Array.from({ length: 3000 }, () => Math.random().toString(36))
    .join('ü😀')
    .slice(0, 60_000)
  await collect(first, [{ timestamp: 3, s: text }])
  await collect(second, [{ timestamp: 3, a: 3 }])
  await eventually(() => assert.ok(source.events.some(({ data }) => data[first.endpointId].s)))
  assert.equal(
    source.events.find(({ data }) => data[first.endpointId].s)!.data[first.endpointId].s[0].values.value,
    text,
  )
  await Promise.all(Array.from({ length: 500 }, (_, n) => collect(first, [{ timestamp: 1000 + n, a: n }])))
  const seen = () => source.events.flatMap(({ data }) => data[first.endpointId]['auto~a'] ?? [])
  await eventually(() => assert.equal(seen().filter(({ timestamp }) => Date.parse(timestamp) >= 1000).length, 500))
  assert.ok(source.events.every(({ event, data }) => event === 'points' && Object.keys(data).length === 1))
  const count = withPoints(sent.toWatcher)
  assert.ok(count > 0 && count < 100, `${count} messages`)

  // A node sends its points in order. When the control point has arrived, every earlier point has been sent or will not be sent.
  const last = await registerEndpoint(app)
  const control = await watches.watch(app, `?endpointId=${last.endpointId}`)
  let marker = 1_000_000
  async function isSent(endpoint: typeof first) {
    const value = ++marker
    await collect(endpoint, [{ timestamp: value, a: value }])
    await collect(last, [{ timestamp: value, a: value }])
    const seen = () => JSON.stringify(control.events.map(({ data }) => data)).includes(`"value":${value}`)
    await eventually(() => assert.ok(seen()))
    return sent.toWatcher.some((frame) => frame.includes(endpoint.endpointId) && frame.includes(`${value}`))
  }
  assert.ok(await isSent(first))
  assert.ok(!(await isSent(second)))
  source.close()
  await eventually(async () => assert.ok(!(await isSent(first))))
  assert.equal(withPoints(sent.toAll), 0, 'points must be sent only to the node with the stream')
  control.close()
})

test('a stream gets every point that another node stores immediately after the stream has opened', async () => {
  const app = await unregisteredEndpoint()
  const all = await Promise.all(Array.from({ length: 12 }, () => registerEndpoint(app)))
  // The test opens some streams one after the other, and some streams concurrently.
  const watchOnce = async (endpoint: (typeof all)[number], n: number) => {
    const source = await watches.watch(app, `?endpointId=${endpoint.endpointId}`)
    await collect(endpoint, [{ timestamp: n, a: n }])
    const { data } = await source.next('points')
    assert.equal(data[endpoint.endpointId]['auto~a'][0].values.value, n)
    assert.ok(source.events.every(({ event }) => event !== 'gap'))
    source.close()
  }
  for (const [n, endpoint] of all.slice(0, 4).entries()) await watchOnce(endpoint, n)
  await Promise.all(all.slice(4).map(watchOnce))
})

test('a stream begins with a `gap` event if a node does not respond; later streams do not wait for that node', async () => {
  const app = await unregisteredEndpoint()
  // The test inserts a node that does not exist into the table of nodes.
  await stores.sql`insert into kernel.nodes (id, version, seen_at) values ('ghost', '', now() + interval '1 hour')`
  await eventually(() => assert.ok(watches.waypost.kit.members.isAlive('ghost')))
  const source = await watches.watch(app)
  assert.equal((await source.next('gap')).data.reason, 'missed')
  source.close()
  const next = await watches.watch(app)
  await collect(await registerEndpoint(app), [{ timestamp: 1, a: 1 }])
  await next.next('points')
  assert.ok(next.events.every(({ event }) => event !== 'gap'))
  await stores.sql`delete from kernel.nodes where id = 'ghost'`
})

test('a stream opens only after all other nodes have acknowledged which points it needs (its interest)', async (t) => {
  const sendGate = Promise.withResolvers<void>()
  let isHeld = false
  // A node cannot stop while the test holds its requests back, so they are released even if the test fails.
  t.after(() => sendGate.resolve())
  const database = await kernelDatabase(t)
  const storing = await aNode(database)
  const asking = await aNode(database, {
    transport(db) {
      const real = postgresTransport(db)
      return {
        ...real,
        async send(messages, rowIds) {
          if (isHeld) await sendGate.promise
          await real.send(messages, rowIds)
        },
      }
    },
  })
  const application = { tenantId: 'default', applicationName: 'somewhere' }
  const storingNodeInterests = createInterests({ ...storing, ownInterests: () => [], onUnacknowledged() {} })
  const interests = createInterests({ ...asking, ownInterests: () => [], onUnacknowledged() {}, timeoutMs: 30_000 })
  await storing.start()
  await asking.start()
  isHeld = true
  let isAcknowledged: boolean | undefined
  const known = interests
    .announce(() => application)
    .then((byAllNodes) => {
      isAcknowledged = byAllNodes
    })
  await sleep(100)
  assert.equal(isAcknowledged, undefined)
  assert.ok(storingNodeInterests.isEmpty())
  sendGate.resolve()
  await known
  assert.equal(isAcknowledged, true)
  assert.deepEqual(storingNodeInterests.nodesFor({ ...application, endpointId: 'any' }), [asking.nodeId])
  // When a node stops, the other nodes delete its interests.
  await asking.stop()
  await eventually(() => assert.ok(storingNodeInterests.isEmpty()))
})

test('a node that was considered dead receives points again, after its streams got a `gap` event', async () => {
  const app = await unregisteredEndpoint()
  const endpoint = await registerEndpoint(app)
  const source = await watches.watch(app)
  const { members } = watches.waypost.kit
  // Skips earlier points: if the watching node writes a heartbeat just after its row is deleted, its stream also gets the first point.
  const pointArrives = async (expected: number) => {
    let value: number
    do value = (await source.next('points')).data[endpoint.endpointId]['auto~a'][0].values.value
    while (value < expected)
    assert.equal(value, expected)
  }
  await stores.sql`delete from kernel.nodes where id = ${members.nodeId}`
  await stores.waypost.kit.members.refresh()
  assert.ok(!stores.waypost.kit.members.isAlive(members.nodeId))
  await collect(endpoint, [{ timestamp: 1, a: 1 }])
  await members.refresh()
  await eventually(() => assert.ok(source.events.some(({ event }) => event === 'gap')))
  while (source.events[0]?.event === 'points') source.events.shift()
  assert.equal((await source.next('gap')).data.reason, 'missed')
  await collect(endpoint, [{ timestamp: 2, a: 2 }])
  await pointArrives(2)
  // The other node detects the return at its next heartbeat. Until it has read the interests again, it keeps the old interests.
  await stores.waypost.kit.members.refresh()
  await collect(endpoint, [{ timestamp: 3, a: 3 }])
  await pointArrives(3)
  source.close()
})

test('when a node dies, the other nodes remove its interests and forward no more points to it', async () => {
  const app = await unregisteredEndpoint()
  const endpoint = await registerEndpoint(app)
  const dying = await openNode(connection)
  const { nodeId } = dying
  const frames: string[] = []
  await listener.listen(`waypost_node_${nodeId}`, (frame) => void frames.push(frame))
  await dying.signals.start()
  const { tenantId, applicationName } = app
  const storingNode = stores.waypost.kit.members
  await dying.signals.request(storingNode.nodeId, SetInterest, { tenantId, applicationName })
  await collect(endpoint, [{ timestamp: 1, a: 1 }])
  await eventually(() => assert.equal(withPoints(frames), 1))
  // The test ends the connections of the node and makes its heartbeat a minute old, as after kill -9.
  await dying.db.close()
  await stores.sql`update kernel.nodes set seen_at = now() - interval '1 minute' where id = ${nodeId}`
  await storingNode.refresh()
  const control = await watches.watch(app)
  await collect(endpoint, [{ timestamp: 2, a: 2 }])
  await control.next('points')
  assert.equal(withPoints(frames), 1)
  const remainingRows = await stores.sql`
    select from kernel.signals where address = ${`node/${nodeId}`}
    union all select from time_series.latest_marks where node = ${nodeId}`
  assert.equal(remainingRows.length, 0)
  const isKnown = async () => (await stores.sql`select from kernel.nodes where id = ${nodeId}`).length > 0
  await eventually(async () => assert.ok(!(await isKnown())), { withinMs: 15_000 })
  await dying.signals.stop()
  control.close()
})

test('a node that starts reads the interests of the other nodes; a node that lost signals sends its streams a `gap` event', async () => {
  const app = await unregisteredEndpoint()
  const endpoint = await registerEndpoint(app)
  await collect(endpoint, [{ timestamp: 1, a: 1 }])
  const source = await watches.watch(app)
  const third = await open()
  await eventually(async () => {
    await third.collect(endpoint, [{ timestamp: 2, a: 2 }])
    assert.ok(source.events.length > 0)
  })
  const late = await watches.watch(app, '?initial=true')
  assert.equal((await late.next('points')).data[endpoint.endpointId]['auto~a'][0].values.value, 2)
  await stores.waypost.kit.db.sql`
    select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and query ilike 'listen%' and pid <> pg_backend_pid()`
  await eventually(
    () => assert.ok(late.events.some(({ event, data }) => event === 'gap' && data.reason === 'missed')),
    {
      withinMs: 15_000,
    },
  )
  await eventually(async () => {
    late.events.splice(0)
    await third.collect(endpoint, [{ timestamp: 3, a: 3 }])
    await new Promise((done) => setTimeout(done, 100))
    assert.ok(late.events.some(({ event }) => event === 'points'))
  })
})

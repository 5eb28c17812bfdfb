import assert from 'node:assert/strict'
import { test } from 'node:test'
import { afterAllTests } from '../../../test/harness/database.ts'
import { eventually } from '../../../test/harness/eventually.ts'
import { services } from '../../../test/harness/gateway.ts'
import { openStreams } from '../../../test/harness/live-streams.ts'
import { migratedDatabase } from '../../../test/harness/test-platform.ts'
import { connect } from '../../kernel/db.ts'
import { newId } from '../../kernel/ids.ts'
import timeSeries from '../time-series/index.ts'
import { TrafficLog } from '../traffic-log/contract.ts'
import live from './index.ts'

const connection = await migratedDatabase([...services, timeSeries, live])
const options = { connection, environment: { WAYPOST_MASTER_KEY: 'm'.repeat(40) } }
const writes = await openStreams(options)
const streams = await openStreams(options)
await eventually(() => assert.ok(writes.waypost.kit.members.others().length === 1))

const listener = connect(connection, { max: 1 })
afterAllTests(() => listener.end())
const forwarded: string[] = []
await listener.listen(`waypost_node_${streams.waypost.kit.members.nodeId}`, (frame) => {
  if (frame.includes('kernel.live-events')) forwarded.push(frame)
})

const record = (endpoint: { app: string; version: string; endpointId: string }, payload: string) =>
  writes.waypost.ask(TrafficLog).record({
    correlationId: newId(),
    direction: 'INBOUND',
    tenantId: 'default',
    applicationName: endpoint.app,
    versionName: endpoint.version,
    endpointId: endpoint.endpointId,
    extension: 'dcx',
    resourcePath: '/json',
    payload: Buffer.from(payload),
    createdAt: new Date(),
  })

test('a stream gets events of another node; events that no stream has subscribed to are not forwarded', async () => {
  const [first, second] = [await writes.aProvisionedEndpoint(), await writes.aProvisionedEndpoint()]
  const source = await streams.stream([
    { id: 'traffic', topic: 'traffic', endpointIds: [first.endpointId] },
    { id: 'points', topic: 'series', applicationName: first.app },
    { id: 'connected', topic: 'connection', applicationName: first.app },
    { id: 'refused', topic: 'refusals' },
  ])
  await source.active('traffic', 'points', 'connected', 'refused')
  const device = await writes.device()
  await device.publish(`kp1/${first.version}/dcx/${first.token}/json/1`, [{ timestamp: 1000, a: 1 }])
  await device.end()
  writes.waypost
    .ask(TrafficLog)
    .recordRefusal({ tenantId: 'default', transport: 'mqtt', address: '1.2.3.4', reason: 'far_away' })
  await record(second, 'unwatched')
  await eventually(() => assert.equal(source.items('points').length, 1))
  await eventually(() => assert.equal(source.items('connected').length, 2))
  await eventually(() => assert.ok(source.items('traffic').some(({ direction }) => direction === 'INBOUND')))
  await eventually(() => assert.equal(source.items('refused')[0]?.reason, 'far_away'))
  assert.deepEqual(source.gaps(), [])
  assert.ok(forwarded.length > 0)
  assert.ok(!forwarded.some((frame) => frame.includes(second.endpointId)))
  source.close()
  // When the stream has ended, the other node no longer forwards its events.
  await eventually(async () => {
    const before = forwarded.length
    await record(first, 'late')
    const marker = await streams.stream([{ id: 'marker', topic: 'traffic', endpointIds: [second.endpointId] }])
    await marker.active('marker')
    await record(second, 'marker')
    await eventually(() => assert.equal(marker.items('marker').length, 1))
    marker.close()
    assert.ok(!forwarded.slice(before).some((frame) => frame.includes(first.endpointId)))
  })
})

test('a stream gets every event that another node stores after a subscription has become active', async () => {
  const endpoints = await Promise.all(Array.from({ length: 8 }, () => writes.aProvisionedEndpoint()))
  const { headers } = streams.aReplaceableCaller()
  const source = await streams.stream([], headers)
  const subscriptions = []
  for (const [n, endpoint] of endpoints.entries()) {
    subscriptions.push({ id: `s${n}`, topic: 'traffic', endpointIds: [endpoint.endpointId] })
    assert.equal((await streams.change(source.streamId, subscriptions, headers)).status, 200)
    await source.active(`s${n}`)
    await record(endpoint, `payload ${n}`)
    await eventually(() => assert.equal(source.items(`s${n}`)[0]?.payload, `payload ${n}`))
  }
  assert.deepEqual(source.gaps(), [])
  source.close()
})

test('the subscriptions of a stream can be changed at any node, but only by the caller of the stream', async () => {
  const endpoint = await writes.aProvisionedEndpoint()
  const here = streams.aReplaceableCaller()
  const source = await streams.stream([], here.headers)
  const subscriptions = [{ id: 'all', topic: 'traffic', endpointIds: [endpoint.endpointId] }]
  const otherCaller = writes.aReplaceableCaller()
  assert.equal((await writes.change(source.streamId, subscriptions, otherCaller.headers)).status, 404)
  const same = writes.aReplaceableCaller(here.caller)
  assert.equal((await writes.change(source.streamId, subscriptions, same.headers)).status, 200)
  await source.active('all')
  await record(endpoint, 'changed')
  await eventually(() => assert.equal(source.items('all')[0]?.payload, 'changed'))
  const invalid = await writes.change(source.streamId, [{ id: 'a', topic: 'series' }], same.headers)
  assert.equal(invalid.status, 400)
  source.close()
  await eventually(async () => assert.equal((await writes.change(source.streamId, [], same.headers)).status, 404))
})

test('a stream that resumes at another node gets every event', async () => {
  const endpoint = await writes.aProvisionedEndpoint()
  const subscriptions = [{ id: 'all', topic: 'traffic', endpointIds: [endpoint.endpointId] }]
  const first = await streams.stream(subscriptions)
  await first.active('all')
  await record(endpoint, '1')
  await eventually(() => assert.equal(first.items('all').length, 1))
  const id = await eventually(() => first.lastId() ?? assert.fail('no position'))
  first.close()
  await record(endpoint, '2')
  const second = await writes.stream(subscriptions, { 'last-event-id': id })
  await second.active('all')
  await record(endpoint, '3')
  await eventually(() =>
    assert.deepEqual(
      second.items('all').map(({ payload }) => payload),
      ['1', '2', '3'],
    ),
  )
  second.close()
})

test('streams get no `gap` event when a node stops, and get a `gap` event when a node dies', async () => {
  const third = await openStreams(options)
  const source = await streams.stream([{ id: 'all', topic: 'traffic' }])
  await source.active('all')
  await eventually(() => assert.equal(streams.waypost.kit.members.others().length, 2))
  await third.waypost.close()
  await eventually(() => assert.equal(streams.waypost.kit.members.others().length, 1))
  // The test inserts a node that does not exist into the table of nodes, as if it had died.
  const { sql } = streams.waypost.kit.db
  await sql`insert into kernel.nodes (id, version, seen_at) values ('ghost', '', now() + interval '1 hour')`
  await eventually(() => assert.ok(streams.waypost.kit.members.isAlive('ghost')))
  await eventually(() =>
    assert.deepEqual(
      source.gaps(),
      ['missed'],
      'the stream must get a gap, because the dead node does not acknowledge',
    ),
  )
  await sql`delete from kernel.nodes where id = 'ghost'`
  await eventually(() => assert.deepEqual(source.gaps(), ['missed', 'missed']))
  source.close()
})

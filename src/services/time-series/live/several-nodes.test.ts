import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freshDatabase } from '../../../../test/harness/database.ts'
import { eventually } from '../../../../test/harness/eventually.ts'
import { openLive } from '../../../../test/harness/live.ts'
import { overheardEvents } from '../../../../test/harness/nodes.ts'
import { addRealms } from '../../../../test/harness/realm-state.ts'
import { LiveAsked } from '../events.ts'
import { createPeers } from './peers.ts'

const connection = await freshDatabase()
const open = () => openLive({ connection, environment: { WAYPOST_MASTER_KEY: 'm'.repeat(40) } })
const stores = await open()
await addRealms(stores.house, 'platform', 'default', 'other')
const watches = await open()
const { endpoint, registered, collect } = stores

const messages = await overheardEvents(connection)
const sent = () => messages.filter(({ event }) => event === 'time-series.live.points-sent').length

test('what one process stores is watched in another, however long it is, and nothing is sent that nobody watches', async () => {
  const app = await endpoint({ 'time-series': { names: { s: { values: [{ path: 's' }] } } } })
  const [one, two] = [await registered(app), await registered(app)]
  await collect(one, [{ timestamp: 1, a: 1 }])
  const source = await watches.watch(app, `?endpointId=${one.endpointId}`)
  // Random text cannot be made shorter: so long a point takes many messages.
  const text = Array.from({ length: 3000 }, () => Math.random().toString(36))
    .join('ü😀')
    .slice(0, 60_000)
  await collect(one, [{ timestamp: 3, s: text }])
  await collect(two, [{ timestamp: 3, a: 3 }])
  await eventually(() => assert.ok(source.events.some(({ data }) => data[one.endpointId].s)))
  assert.equal(source.events.find(({ data }) => data[one.endpointId].s)!.data[one.endpointId].s[0].values.value, text)
  await Promise.all(Array.from({ length: 500 }, (_, n) => collect(one, [{ timestamp: 1000 + n, a: n }])))
  const seen = () => source.events.flatMap(({ data }) => data[one.endpointId]['auto~a'] ?? [])
  await eventually(() => assert.equal(seen().filter(({ timestamp }) => Date.parse(timestamp) >= 1000).length, 500))
  assert.ok(source.events.every(({ event, data }) => event === 'points' && Object.keys(data).length === 1))

  const before = sent()
  assert.ok(before > 0 && before < 100, `${before} messages`)
  await collect(two, [{ timestamp: 4, a: 4 }])
  source.close()
  await eventually(() => {
    const told = messages.findLast(({ event }) => event === 'time-series.live.wanted')!
    assert.deepEqual(told.payload.endpointIds, [])
  })
  await collect(one, [{ timestamp: 5, a: 5 }])
  await stores.house.kit.bus.settled()
  await new Promise((done) => setTimeout(done, 120))
  assert.equal(sent(), before)
})

test('what another process stores is never missed, not even in the moment in which a stream has opened', async () => {
  const app = await endpoint()
  const all = await Promise.all(Array.from({ length: 12 }, () => registered(app)))
  // Some one after the other, some at once: the last to be told must not be the first to have asked.
  const once = async (one: (typeof all)[number], n: number) => {
    const source = await watches.watch(app, `?endpointId=${one.endpointId}`)
    await collect(one, [{ timestamp: n, a: n }])
    const { data } = await source.next('points')
    assert.equal(data[one.endpointId]['auto~a'][0].values.value, n)
    assert.ok(source.events.every(({ event }) => event !== 'gap'))
    source.close()
  }
  for (const [n, one] of all.slice(0, 4).entries()) await once(one, n)
  await Promise.all(all.slice(4).map(once))
})

test('who waits for a process that does not answer says that points may be missing, once', async () => {
  const app = await endpoint()
  const { db, bus } = stores.house.kit
  await db.tx((sql) => bus.publish(sql, LiveAsked, { tenantId: 'platform', node: 'ghost' }))
  const answers = () => messages.filter(({ event, payload }) => event.endsWith('.heard') && payload.to === 'ghost')
  await eventually(() => assert.equal(answers().length, 2, 'both processes have heard of it'))
  const source = await watches.watch(app)
  assert.equal((await source.next('gap')).data.reason, 'missed')
  source.close()
  const next = await watches.watch(app)
  await collect(await registered(app), [{ timestamp: 1, a: 1 }])
  await next.next('points')
  assert.ok(next.events.every(({ event }) => event !== 'gap'))
})

test('who begins to watch waits until the others know of it, however long a message takes', async () => {
  const of = { tenantId: 'default', applicationName: 'somewhere' }
  const { promise: isSlow, resolve: goOn } = Promise.withResolvers<void>()
  const { bus } = watches.house.kit
  const slowBus: typeof bus = {
    ...bus,
    async publishAll(sql, event, payloads) {
      await isSlow
      await bus.publishAll(sql, event, payloads)
    },
  }
  const here = { deliver() {}, missed() {} }
  const all = () => [{ ...of, endpointIds: undefined }]
  const asking = createPeers({ ...watches.house.kit, bus: slowBus }, 'asking', { ...here, wanted: all })
  const storing = createPeers(stores.house.kit, 'storing', { ...here, wanted: () => [] })
  await asking.start()
  await storing.start()
  const met = () => messages.some(({ payload }) => payload.node === 'asking' && payload.to === 'storing')
  await eventually(() => assert.ok(met(), 'they have met'))
  let isKnown: boolean | undefined
  const known = asking.more(of).then((everybody) => {
    isKnown = everybody
  })
  await collect(await registered(await endpoint()), [{ a: 1 }])
  assert.equal(isKnown, undefined)
  assert.equal(storing.wants({ ...of, endpointId: 'any' }), false)
  goOn()
  await known
  assert.equal(isKnown, true)
  assert.ok(storing.wants({ ...of, endpointId: 'any' }))
  await Promise.all([asking.stop(), storing.stop()])
})

test('a process that starts later asks what is watched, and one that lost sight of the others says so', async () => {
  const app = await endpoint()
  const one = await registered(app)
  await collect(one, [{ timestamp: 1, a: 1 }])
  const source = await watches.watch(app)
  const third = await open()
  await eventually(async () => {
    await third.collect(one, [{ timestamp: 2, a: 2 }])
    assert.ok(source.events.length > 0)
  })
  const late = await watches.watch(app, '?initial=true')
  assert.equal((await late.next('points')).data[one.endpointId]['auto~a'][0].values.value, 2)
  await stores.house.kit.db.sql`
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
    await third.collect(one, [{ timestamp: 3, a: 3 }])
    await new Promise((done) => setTimeout(done, 100))
    assert.ok(late.events.some(({ event }) => event === 'points'))
  })
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { eventually } from '../../test/harness/eventually.ts'
import { openTestPlatform } from '../../test/harness/test-platform.ts'
import { defineEvent, splitForEvents } from './bus.ts'
import { contract } from './contract.ts'
import type { Kit } from './define-service.ts'
import { defineService } from './define-service.ts'

interface Said {
  tenantId: string
  thing: string
  n: number
}
const Said = defineEvent<Said>('test.thing.said', { description: 'for tests', key: ({ thing }) => thing })

const Recorded = defineEvent<{ tenantId: string; applicationName: string; endpointId: string }>('test.recorded', {
  description: 'for tests',
})

const aService = (build: (kit: Kit) => void) =>
  defineService({
    name: 'test',
    provides: contract<object>('test'),
    build(kit) {
      build(kit)
      return { api: {} }
    },
  })

const publishThing = (kit: Kit, thing: string, n: number) =>
  kit.db.tx((sql) => kit.bus.publish(sql, Said, { tenantId: 't', thing, n }))

test('an event handler gets all events of a key in order, and none of a rolled back transaction', async () => {
  const got: Said[] = []
  const { kit } = await openTestPlatform({
    services: [aService((it) => it.bus.handle('test.collect', Said, async (_, event) => void got.push(event)))],
  })
  for (let n = 0; n < 20; n++) await publishThing(kit, n % 2 === 0 ? 'even' : 'odd', n)
  await assert.rejects(
    kit.db.tx(async (sql) => {
      await kit.bus.publish(sql, Said, { tenantId: 't', thing: 'even', n: 99 })
      throw new Error('rolled back')
    }),
    /rolled back/,
  )
  await kit.bus.settled()
  for (const thing of ['even', 'odd']) {
    const numbers = got.filter((event) => event.thing === thing).map(({ n }) => n)
    assert.deepEqual(
      numbers,
      numbers.toSorted((a, b) => a - b),
    )
    assert.equal(numbers.length, 10)
  }
})

test('a failing event handler delays only its own key and is retried', async () => {
  const got: string[] = []
  let failures = 2
  const { kit } = await openTestPlatform({
    services: [
      aService((it) =>
        it.bus.handle('test.fail', Said, async (_, { thing, n }) => {
          if (thing === 'bad' && failures-- > 0) throw new Error('not yet')
          got.push(`${thing}${n}`)
        }),
      ),
    ],
    environment: { WAYPOST_LOG_LEVEL: 'silent' },
  })
  await publishThing(kit, 'bad', 1)
  await publishThing(kit, 'bad', 2)
  await publishThing(kit, 'good', 1)
  await eventually(() => assert.deepEqual(got, ['good1']))
  await eventually(() => assert.deepEqual(got, ['good1', 'bad1', 'bad2']), { withinMs: 15_000 })
})

test('`delivered` waits until the handlers have processed the committed events of a key; it does not wait for other keys or failing handlers', async () => {
  const got: string[] = []
  const { kit } = await openTestPlatform({
    services: [
      aService(({ bus }) => {
        for (const name of ['first', 'second'])
          bus.handle(`test.delivered-${name}`, Said, async (_, { thing, n }) => {
            if (thing === 'bad') throw new Error('never')
            await sleep(50)
            got.push(`${name} ${thing}${n}`)
          })
      }),
    ],
    environment: { WAYPOST_LOG_LEVEL: 'silent' },
  })
  await publishThing(kit, 'bad', 1)
  await publishThing(kit, 'good', 1)
  await publishThing(kit, 'good', 2)
  await kit.bus.delivered(Said, 'good')
  assert.deepEqual(got.toSorted(), ['first good1', 'first good2', 'second good1', 'second good2'])
  const began = performance.now()
  await kit.bus.delivered(Said, 'absent')
  await kit.bus.delivered(Recorded, 'good')
  assert.ok(performance.now() - began < 500, 'nothing waits')
  await kit.bus.delivered(Said, 'bad')
  assert.ok(performance.now() - began < 1000, 'a handler that has failed is not awaited')
  assert.equal(got.length, 4)
})

test('delivered resolves as soon as the last handler has committed, and does not wait for the retry of a handler that fails', async () => {
  let release = () => {}
  const held = new Promise<void>((resolve) => (release = resolve))
  const { kit } = await openTestPlatform({
    services: [
      aService(({ bus }) => {
        bus.handle('test.held', Said, async () => held)
        bus.handle('test.failing', Said, async () => {
          await sleep(100)
          throw new Error('never')
        })
      }),
    ],
    environment: { WAYPOST_LOG_LEVEL: 'silent' },
  })
  await publishThing(kit, 'held', 1)
  let isOver = false
  const over = kit.bus.delivered(Said, 'held').then(() => (isOver = true))
  await sleep(700)
  assert.equal(isOver, false)
  const began = performance.now()
  release()
  await over
  assert.ok(performance.now() - began < 60, `${performance.now() - began} ms`)
})

test('the writes of an event handler and its delivery commit together', async () => {
  let attempts = 0
  const { kit } = await openTestPlatform({
    services: [
      aService((it) =>
        it.bus.handle('test.write', Said, async (sql, { thing }) => {
          await sql`insert into kernel.vault (name, sealed) values (${thing}, 'x')`
          if (attempts++ === 0) throw new Error('after the write')
        }),
      ),
    ],
    environment: { WAYPOST_LOG_LEVEL: 'silent' },
  })
  await publishThing(kit, 'once', 1)
  await eventually(async () => assert.equal((await kit.db.sql`select from kernel.vault`).length, 1), {
    withinMs: 15_000,
  })
  assert.equal(attempts, 2)
  assert.equal((await kit.db.sql`select from kernel.outbox`).length, 0)
})

test('a subscriber is called after the commit and before the transaction returns', async () => {
  const received: number[] = []
  const { kit } = await openTestPlatform({
    services: [aService((it) => it.bus.subscribe(Said, ({ n }) => received.push(n)))],
  })
  await kit.db.tx(async (sql) => {
    await kit.bus.publish(sql, Said, { tenantId: 't', thing: 'a', n: 7 })
    assert.deepEqual(received, [])
  })
  assert.deepEqual(received, [7])
})

test('publishAll delivers each event to all subscribers in order after the commit, and no event after a rollback', async () => {
  const received: number[] = []
  const reacted: Record<string, Said[]> = { one: [], two: [] }
  const { kit } = await openTestPlatform({
    services: [
      aService(({ bus }) => {
        bus.subscribe(Said, ({ n }) => received.push(n))
        for (const name of ['one', 'two'])
          bus.handle(`test.all-${name}`, Said, async (_, event) => void reacted[name]!.push(event))
      }),
    ],
  })
  // JSON and PostgreSQL arrays escape these texts differently.
  const things = ['a', 'b,{}"\\', 'é\n', 'NULL', '']
  const all = Array.from({ length: 60 }, (_, n) => ({ tenantId: 't', thing: things[n % things.length]!, n }))
  await kit.db.tx(async (sql) => {
    await kit.bus.publishAll(sql, Said, all)
    await kit.bus.publishAll(sql, Said, [])
    assert.deepEqual(received, [])
  })
  assert.deepEqual(
    received,
    all.map(({ n }) => n),
  )
  await assert.rejects(
    kit.db.tx(async (sql) => {
      await kit.bus.publishAll(sql, Said, [{ tenantId: 't', thing: 'a', n: 99 }])
      throw new Error('rolled back')
    }),
    /rolled back/,
  )
  await kit.bus.settled()
  for (const got of Object.values(reacted))
    for (const thing of things)
      assert.deepEqual(
        got.filter((event) => event.thing === thing),
        all.filter((event) => event.thing === thing),
      )
  assert.equal(reacted.one!.length + reacted.two!.length, 120)
  assert.equal(received.length, 60)
})

test('splitForEvents splits a list into parts of limited size and keeps the order', () => {
  const ids = Array.from({ length: 1000 }, (_, n) => `${n}-${'é'.repeat(n % 40)}`)
  const parts = [...splitForEvents(ids)]
  assert.deepEqual(parts.flat(), ids)
  const bytes = parts.map((part) => Buffer.byteLength(JSON.stringify(part)))
  assert.ok(Math.max(...bytes) <= 6001 && Math.min(...bytes.slice(0, -1)) > 5900, `${bytes}`)
  assert.deepEqual(
    [...splitForEvents(['x'.repeat(7000), 'y'])].map(({ length }) => length),
    [1, 1],
    'an item that is larger than a part must not be split',
  )
  const changes = ids.map((id) => ({ id, at: new Date(0) }))
  assert.deepEqual(
    [...splitForEvents(changes, ({ id }) => id)].map((part) => part.map(({ id }) => id)),
    parts,
    'the size must count only the part of an item that the event contains',
  )
  assert.deepEqual([...splitForEvents([])], [])
})

test('a recorder stores the events that it selects in the transaction of the publisher', async () => {
  const { kit } = await openTestPlatform({ services: [aService(() => {})] })
  const { bus, db } = kit
  const recorded: string[] = []
  bus.record(Recorded, {
    wants: ({ applicationName }) => applicationName !== 'other',
    async record(sql, payloads) {
      await sql`select 1`
      recorded.push(...payloads.map(({ endpointId }) => endpointId))
    },
  })
  const endpointOf = (applicationName: string, endpointId: string) => ({ tenantId: 't', applicationName, endpointId })
  assert.equal(bus.isWanted(Recorded, endpointOf('one', 'a')), true)
  assert.equal(bus.isWanted(Recorded, endpointOf('other', 'a')), false)
  assert.equal(bus.hasSubscribers(Recorded), true)
  await db.tx((sql) =>
    bus.publishAll(sql, Recorded, [endpointOf('one', 'a'), endpointOf('other', 'b'), endpointOf('one', 'c')]),
  )
  await db.tx((sql) => bus.publish(sql, Recorded, endpointOf('other', 'd')))
  assert.deepEqual(recorded, ['a', 'c'])
  await assert.rejects(
    db.tx(async (sql) => {
      await bus.publish(sql, Recorded, endpointOf('one', 'e'))
      throw new Error('rolled back')
    }),
  )
  const [row] = await db.sql`select count(*)::int as n from kernel.outbox`
  assert.equal(row!.n, 0)
})

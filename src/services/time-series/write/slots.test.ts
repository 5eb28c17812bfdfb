import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { eventually } from '../../../../test/harness/eventually.ts'
import { openTimeSeries } from '../../../../test/harness/time-series.ts'
import { holdOpenSlot, isSlotClosed } from '../store/samples.ts'

const { waypost, service, unregisteredEndpoint, collect, points, pack, sql } = await openTimeSeries()
const states = async () => (await sql`select slot, state from time_series.slots order by slot`).map((row) => row.state)

suite('slots', () => {
  test('the next slot is created ahead, and closing a slot waits for its writers', async () => {
    await service.slots.rotate()
    assert.deepEqual(await states(), ['open', 'ready'])
    const slot = await service.slots.current()
    const writeGate = Promise.withResolvers<void>()
    const writing = waypost.kit.db.tx(async (tx) => {
      await holdOpenSlot(tx, slot)
      await writeGate.promise
    })
    await eventually(async () => {
      const [row] =
        await sql`select count(*)::int as count from pg_locks where locktype = 'advisory' and objid = ${slot}`
      assert.equal(row!.count, 1)
    })
    const closing = service.slots.rotate(true)
    const firstResult = await Promise.race([
      closing.then(() => 'closed'),
      new Promise((done) => setTimeout(done, 200, 'waits')),
    ])
    assert.equal(firstResult, 'waits')
    writeGate.resolve()
    await writing
    await closing
    assert.deepEqual((await states()).slice(0, 2), ['closed', 'open'])
    await assert.rejects(
      waypost.kit.db.tx((tx) => holdOpenSlot(tx, slot)),
      isSlotClosed,
    )
  })

  test('PostgreSQL collects no statistics for the columns of values', async () => {
    const analysed = await sql`
      select attname::text as name from pg_attribute
      where attrelid = ${`time_series.samples_${await service.slots.current()}`}::regclass and attnum > 0 and attstattarget is distinct from 0
      order by 1`
    assert.deepEqual(
      analysed.map(({ name }) => name),
      ['endpoint_no', 'set_id', 'ts'],
    )
  })

  test('if a writer takes too long, closing its slot fails and the slot stays open', async () => {
    const slot = await service.slots.current()
    const writeGate = Promise.withResolvers<void>()
    const writing = waypost.kit.db.tx(async (tx) => {
      await holdOpenSlot(tx, slot)
      await writeGate.promise
    })
    await eventually(async () => {
      const [row] =
        await sql`select count(*)::int as count from pg_locks where locktype = 'advisory' and objid = ${slot}`
      assert.equal(row!.count, 1)
    })
    await assert.rejects(service.slots.rotate(true), { code: '55P03' })
    assert.equal(await service.slots.current(), slot)
    writeGate.resolve()
    await writing
  })

  test('a node that has an outdated cache of the open slot loses no sample', async () => {
    const endpoint = await unregisteredEndpoint()
    await collect(endpoint, [{ timestamp: 1, a: 1 }])
    const slotBefore = await service.slots.current()
    // Another node closes the slot, while this node still has the slot in its cache.
    await sql`update time_series.slots set state = 'closed' where slot = ${slotBefore}`
    await collect(endpoint, [{ timestamp: 1, a: 2 }])
    await collect(endpoint, [{ timestamp: 2, a: 3 }])
    assert.notEqual(await service.slots.current(), slotBefore)
    assert.deepEqual(await points(endpoint.endpointId), {
      'auto~a/value': [
        [1, 2],
        [2, 3],
      ],
    })
    await pack()
    assert.deepEqual(await points(endpoint.endpointId), {
      'auto~a/value': [
        [1, 2],
        [2, 3],
      ],
    })
  })

  test('a slot is closed after six hours if it has rows', async () => {
    await service.slots.rotate()
    const slot = await service.slots.current()
    await collect(await unregisteredEndpoint(), [{ a: 1 }])
    await service.slots.rotate()
    assert.equal(await service.slots.current(), slot)
    await sql`update time_series.slots set opened_date = now() - interval '7 hours' where slot = ${slot}`
    await service.slots.rotate()
    assert.notEqual(await service.slots.current(), slot)
  })
})

/** Tests the limits of waiting events in memory and in the database, and the order of events that wait for events at other nodes. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from '../../../../../test/harness/eventually.ts'
import { rulesServices } from '../../../../../test/harness/rules.ts'
import { migratedDatabase } from '../../../../../test/harness/test-platform.ts'
import { createDb } from '../../../../kernel/db.ts'
import { createLog } from '../../../../kernel/log.ts'
import { deleteEvents, insertEvents } from '../store/events.ts'
import { createQueue } from './queue.ts'
import type { StoredRow } from './recorder.ts'
import { bucketOf, type RuleEvent } from './rule-event.ts'

test('events above the limit fail; events below the limit run, even if they do not fit into memory', async () => {
  const db = createDb(await migratedDatabase(rulesServices), { max: 2 })
  const log = await createLog({ level: 'error', format: 'json' })
  const blocker = Promise.withResolvers<void>()
  const [ran, rejected]: [number[], number[]] = [[], []]
  const end = async (row: StoredRow) => void (await deleteEvents(db.sql, [row.id]))
  const queue = createQueue({
    kit: { db, log, members: { nodeId: 'one', isAlone: () => true } },
    async run(row) {
      await blocker.promise
      ran.push(row.id)
      return []
    },
    ended: end,
    async reject(row) {
      rejected.push(row.id)
      await end(row)
    },
    limits: { waiting: 10, bytes: 300 },
  })
  const add = async () => {
    const event: RuleEvent = {
      type: 'endpoint-data-samples-received',
      eventId: 'e',
      at: 0,
      endpoint: { endpointId: 'ep', applicationName: 'a', versionName: 'v' },
      payload: { dataSamples: [{ t: 1 }] },
    }
    const content = JSON.stringify([event])
    const [id] = await insertEvents(db.sql, 'one', [{ tenantId: 'acme', buckets: [], content }])
    const row = { tenantId: 'acme', events: [event], bytes: content.length, isTakenOver: false }
    queue.add([{ ...row, id: id! }])
    return id!
  }
  const ids: number[] = []
  for (let n = 0; n < 15; n++) ids.push(await add())
  await eventually(() => assert.deepEqual(rejected, ids.slice(10)))
  assert.ok(queue.size < 10, 'only a part of the events may be in memory')
  blocker.resolve()
  await eventually(() => assert.deepEqual(ran, ids.slice(0, 10)))
  ids.push(await add())
  await eventually(() => assert.deepEqual(ran, [...ids.slice(0, 10), ids[15]]))
  await queue.stop()
  await db.close()
})

test('events that wait for another node are checked with one statement, and run in order', async () => {
  const db = createDb(await migratedDatabase(rulesServices), { max: 2 })
  const log = await createLog({ level: 'error', format: 'json' })
  const ran: number[] = []
  let statements = 0
  const countedDb = {
    ...db,
    sql: Object.assign((...given: Parameters<typeof db.sql>) => {
      statements++
      return db.sql(...given)
    }, db.sql),
  } as typeof db
  const queue = createQueue({
    kit: { db: countedDb, log, members: { nodeId: 'one', isAlone: () => false } },
    async run({ id }) {
      ran.push(id)
      return []
    },
    ended: async ({ id }) => void (await deleteEvents(db.sql, [id])),
    reject: async () => assert.fail('no event may be rejected'),
  })
  const event = (endpointId: string): RuleEvent => ({
    type: 'endpoint-data-samples-received',
    eventId: 'e',
    at: 0,
    endpoint: { endpointId, applicationName: 'a', versionName: 'v' },
    payload: { dataSamples: [{ t: 1 }] },
  })
  const store = async (nodeId: string, endpointIds: string[]): Promise<StoredRow[]> => {
    const events = endpointIds.map(event)
    const rows = events.map((one) => ({
      tenantId: 'acme',
      buckets: [bucketOf(one.endpoint!.endpointId)],
      content: JSON.stringify([one]),
    }))
    const ids = await insertEvents(db.sql, nodeId, rows)
    return events.map((one, n) => ({
      id: ids[n]!,
      tenantId: 'acme',
      events: [one],
      bytes: 1,
      isTakenOver: false,
    }))
  }
  const [elsewhere] = await store('two', ['moved'])
  const own = await store('one', [...Array.from({ length: 200 }, () => 'moved'), 'stayed'])
  queue.add(own)
  await eventually(() => assert.ok(statements > 3))
  assert.deepEqual(ran, [own.at(-1)!.id], 'only the event of the endpoint without events at another node may run')
  assert.ok(statements < own.length, `${statements} statements for ${own.length} events`)
  await deleteEvents(db.sql, [elsewhere!.id])
  await eventually(() => assert.equal(ran.length, own.length))
  assert.deepEqual(
    ran.slice(1),
    own.slice(0, -1).map(({ id }) => id),
  )
  await queue.stop()
  await db.close()
})

test('rows that are committed during a read are read by the next read', async () => {
  const db = createDb(await migratedDatabase(rulesServices), { max: 2 })
  const log = await createLog({ level: 'error', format: 'json' })
  const ran: number[] = []
  const [isRead, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  let reads = 0
  const delayedDb = {
    ...db,
    sql: Object.assign(async (...given: Parameters<typeof db.sql>) => {
      const rows = await db.sql(...given)
      if (reads++ > 0) return rows
      isRead.resolve()
      await released.promise
      return rows
    }, db.sql),
  } as unknown as typeof db
  const queue = createQueue({
    kit: { db: delayedDb, log, members: { nodeId: 'one', isAlone: () => true } },
    async run({ id }) {
      ran.push(id)
      return []
    },
    ended: async ({ id }) => void (await deleteEvents(db.sql, [id])),
    reject: async () => assert.fail('no event may be rejected'),
  })
  const store = async (): Promise<StoredRow> => {
    const event: RuleEvent = { type: 'cron', eventId: 'e', at: 0, triggerId: 't', payload: {} }
    const content = JSON.stringify([event])
    const [id] = await insertEvents(db.sql, 'one', [{ tenantId: 'acme', buckets: [], content }])
    return { id: id!, tenantId: 'acme', events: [event], bytes: content.length, isTakenOver: false }
  }
  queue.load('acme')
  await isRead.promise
  const own = await store()
  queue.add([own])
  const takenOver = await store()
  queue.load('acme')
  released.resolve()
  await eventually(() => assert.deepEqual(ran, [own.id, takenOver.id]))
  await queue.stop()
  await db.close()
})

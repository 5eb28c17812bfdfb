import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from '../../../../test/harness/eventually.ts'
import { openTimeSeries } from '../../../../test/harness/time-series.ts'
import { createLog } from '../../../kernel/log.ts'
import { createMetrics } from '../../../kernel/metrics.ts'
import { nextWritten } from '../store/latest-marks.ts'
import type { Rows } from './rows.ts'
import { createWriteOrder } from './write-order.ts'
import { createWriter, type WriterOptions } from './writer.ts'

const { collect, unregisteredEndpoint, waypost, pack, points, service } = await openTimeSeries()
const log = await createLog({ level: 'silent', format: 'json' })
const next = () => nextWritten(waypost.kit.db.sql)
const order = createWriteOrder({ next, position: next })
const aWriter = (options: Partial<WriterOptions>) =>
  createWriter({
    db: waypost.kit.db,
    order,
    slots: service.slots,
    log,
    metrics: createMetrics(),
    ...options,
  })

/** Creates an endpoint with a number and a function that writes one of its values. */
async function ready(writer: ReturnType<typeof aWriter>) {
  const endpoint = await unregisteredEndpoint()
  await collect(endpoint, [{ timestamp: 1, a: 0 }])
  const endpointNo = await service.numbers.endpointNo(endpoint)
  const [set] = await service.numbers.setsOf(endpoint, ['auto~a\nvalue'])
  return {
    endpoint,
    write(value: number, arrivedAt?: number) {
      const time = arrivedAt === undefined ? 1 : writer.timeOfArrival(endpointNo, arrivedAt)
      writer.current().add(endpointNo, time, arrivedAt !== undefined, [set!], [value], endpoint)
      return writer.committed()
    },
  }
}

test('a later write still wins over a delayed one that got into a later slot', async () => {
  let [isHeld, attempts] = [true, 0]
  const isFirst = (rows: Rows) => rows.values[0]![0] === 1
  const writer = aWriter({
    duringCommit: {
      isNeeded: () => true,
      async run(_, rows) {
        if (!isFirst(rows) || !isHeld) return
        attempts++
        throw new Error('unreachable')
      },
    },
  })
  const { endpoint, write } = await ready(writer)
  const first = write(1)
  await eventually(() => assert.ok(attempts > 0), { everyMs: 1 })
  await write(2)
  const slot = await service.slots.current()
  await service.slots.rotate(true)
  isHeld = false
  await first
  assert.notEqual(await service.slots.current(), slot)
  assert.deepEqual(await points(endpoint.endpointId), { 'auto~a/value': [[1, 2]] })
  await pack()
  assert.deepEqual(await points(endpoint.endpointId), { 'auto~a/value': [[1, 2]] })
})

test('a write with an unknown outcome is repeated without effect', async () => {
  let failures = 2
  const { db } = waypost.kit
  const writer = aWriter({
    newSlotMs: 0,
    db: {
      ...db,
      async copyIn(text, content) {
        await db.copyIn(text, content)
        if (failures-- > 0) throw Object.assign(new Error('lost'), { code: 'CONNECTION_CLOSED' })
      },
    },
  })
  const { endpoint, write } = await ready(writer)
  await write(7)
  assert.equal(failures, -1)
  // A stamped sample is not moved because of its own earlier attempt.
  failures = 2
  await write(8, 5000)
  assert.equal(failures, 1, 'the second attempt must find the stored rows')
  failures = 0
  await Promise.all([write(9, 5000), write(10, 5000)])
  await pack()
  assert.deepEqual(await points(endpoint.endpointId), {
    'auto~a/value': [
      [1, 7],
      [5000, 8],
      [5001, 9],
      [5002, 10],
    ],
  })
})

test('a time that is used in an older slot is detected', async () => {
  const [first, second] = [aWriter({}), aWriter({})]
  const prepared = await ready(first)
  const endpointNo = await service.numbers.endpointNo(prepared.endpoint)
  const [set] = await service.numbers.setsOf(prepared.endpoint, ['auto~a\nvalue'])
  await prepared.write(1, 5000)
  await service.slots.rotate(true)
  second.current().add(endpointNo, second.timeOfArrival(endpointNo, 5000), true, [set!], [2], prepared.endpoint)
  await second.committed()
  assert.deepEqual(await points(prepared.endpoint.endpointId), {
    'auto~a/value': [
      [1, 0],
      [5000, 1],
      [5001, 2],
    ],
  })
})

test('callers get an error while the database is unavailable, and later ones are served', async () => {
  let isUnreachable = true
  const writer = aWriter({
    timeoutMs: 300,
    duringCommit: {
      isNeeded: () => true,
      async run() {
        if (isUnreachable) throw Object.assign(new Error('unreachable'), { code: 'ECONNREFUSED' })
      },
    },
  })
  const { endpoint, write } = await ready(writer)
  await assert.rejects(write(5), { status: 503 })
  isUnreachable = false
  await eventually(() => write(6))
  assert.deepEqual(await points(endpoint.endpointId), { 'auto~a/value': [[1, 6]] })
  const before = await order.position()
  await eventually(async () => assert.ok((await writer.storedUpTo()) > before, 'no write must count as unfinished'))
})

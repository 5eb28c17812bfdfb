import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from '../../../../test/harness/eventually.ts'
import { messageOf, openTimeSeries } from '../../../../test/harness/time-series.ts'
import { createLog } from '../../../kernel/log.ts'
import { createMetrics } from '../../../kernel/metrics.ts'
import { Applications } from '../../applications/contract.ts'
import { nextWritten } from '../store/latest-marks.ts'
import { createCollect } from './collect.ts'
import { createExtractionPlans } from './extraction-plan.ts'
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

/** Returns an endpoint that has a number in the database, and a function that writes one of its values. */
async function anEndpointToWrite(writer: ReturnType<typeof aWriter>) {
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

test('if two writes have the same time, the later value is kept, even if the earlier write is delayed and stored in a later slot', async () => {
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
  const { endpoint, write } = await anEndpointToWrite(writer)
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

test('a write with an unknown outcome is repeated, and its rows are stored once', async () => {
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
  const { endpoint, write } = await anEndpointToWrite(writer)
  await write(7)
  assert.equal(failures, -1)
  // A sample that got its time from the platform keeps this time when its write is repeated.
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

test('a sample without a timestamp does not get a time that a sample of its endpoint has in an older slot', async () => {
  const [first, second] = [aWriter({}), aWriter({})]
  const prepared = await anEndpointToWrite(first)
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

test('callers get an error while the database is unavailable, and later callers succeed', async () => {
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
  const { endpoint, write } = await anEndpointToWrite(writer)
  await assert.rejects(write(5), { status: 503 })
  isUnreachable = false
  await eventually(() => write(6))
  assert.deepEqual(await points(endpoint.endpointId), { 'auto~a/value': [[1, 6]] })
  const before = await order.position()
  await eventually(async () => assert.ok((await writer.storedUpTo()) > before, 'no write may count as unfinished'))
})

const unreachable = () => Object.assign(new Error('unreachable'), { code: 'ECONNREFUSED' })

/** Creates a function that collects samples and publishes them if the last parameter is true. */
function aCollect(writer: ReturnType<typeof aWriter>) {
  let isPublished = false
  const send = createCollect({
    plans: createExtractionPlans(waypost.ask(Applications)),
    numbers: service.numbers,
    writer,
    isPublished: () => isPublished,
    quota: { requireSamples() {} },
  })
  return (endpoint: Awaited<ReturnType<typeof unregisteredEndpoint>>, samples: unknown[], published: boolean) => {
    const message = messageOf(endpoint)
    isPublished = published
    return send(message, samples, published ? { message, samples, cause: undefined, bytes: 100 } : undefined)
  }
}

test('a failing or hanging event of one endpoint does not delay other endpoints, and the messages of that endpoint keep their order', async () => {
  const [published, attempts]: [unknown[], number[]] = [[], []]
  let isBroken = true
  const hanging = Promise.withResolvers<void>()
  const writer = aWriter({
    async publishReceived(_, { received }) {
      const samples = received.flatMap((one) => one.samples) as { a: number }[]
      for (const { a } of samples) attempts.push(a)
      if (isBroken && samples.some(({ a }) => a === 1)) throw unreachable()
      if (samples.some(({ a }) => a === 2)) await hanging.promise
      published.push(...samples.map(({ a }) => a))
    },
  })
  const send = aCollect(writer)
  const [failing, slow, third, fourth] = await Promise.all([0, 1, 2, 3].map(() => unregisteredEndpoint()))
  for (const endpoint of [failing, slow, third, fourth]) await collect(endpoint!, [{ timestamp: 1, a: 0 }])
  const sample = (a: number) => [{ timestamp: 1, a }]
  const first = send(failing!, sample(1), true)
  await eventually(() => assert.ok(attempts.includes(1)), { everyMs: 1 })
  const second = send(slow!, sample(2), true)
  await eventually(() => assert.ok(attempts.includes(2)), { everyMs: 1 })
  // These samples wait for the earlier samples of their endpoint, whether they are published (11, 12) or not (21).
  const laterSends = [
    send(failing!, sample(11), true),
    send(failing!, sample(12), true),
    send(slow!, sample(21), false),
  ]
  await send(fourth!, sample(3), false)
  await send(third!, sample(4), true)
  await send(fourth!, sample(5), true)
  assert.deepEqual(published, [4, 5])
  assert.ok(!attempts.includes(11))
  isBroken = false
  hanging.resolve()
  await Promise.all([first, second, ...laterSends])
  assert.deepEqual(
    published.filter((a) => a === 1 || a === 11 || a === 12),
    [1, 11, 12],
  )
  const stored = await Promise.all([failing, slow, third, fourth].map((one) => points(one!.endpointId)))
  assert.deepEqual(
    stored.map((series) => series['auto~a/value']),
    [[[1, 12]], [[1, 21]], [[1, 4]], [[1, 5]]],
  )
})

test('if many samples have the same time, the last sample is kept, with and without published samples, even across slots', async () => {
  const published = new Map<string, number[]>()
  let failures = 0
  const writer = aWriter({
    async publishReceived(sql, { received }) {
      if (failures < 5 && Math.random() < 0.2) {
        failures++
        throw unreachable()
      }
      waypost.kit.db.afterCommit(sql, () => {
        for (const { message, samples } of received)
          published.set(message.endpoint.endpointId, [
            ...(published.get(message.endpoint.endpointId) ?? []),
            (samples[0] as { a: number }).a,
          ])
      })
    },
  })
  const send = aCollect(writer)
  const sent = new Map<string, number[]>()
  const devices = Array.from({ length: 4 }, async () => {
    const endpoint = await unregisteredEndpoint()
    const own: number[] = []
    sent.set(endpoint.endpointId, own)
    let open: Promise<void>[] = []
    for (let a = 1; a <= 60; a++) {
      const isPublished = Math.random() < 0.5
      open.push(send(endpoint, [{ timestamp: 1, a }], isPublished))
      if (isPublished) own.push(a)
      if (Math.random() > 0.3) continue
      await Promise.all(open)
      open = []
      assert.deepEqual(await points(endpoint.endpointId), { 'auto~a/value': [[1, a]] })
    }
    await Promise.all(open)
    assert.deepEqual(await points(endpoint.endpointId), { 'auto~a/value': [[1, 60]] })
  })
  await service.slots.rotate(true)
  await Promise.all(devices)
  assert.deepEqual(Object.fromEntries(published), Object.fromEntries(sent))
  assert.ok(writer.isIdle())
})

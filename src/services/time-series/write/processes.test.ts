import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freshDatabase } from '../../../../test/harness/database.ts'
import { openTimeSeries } from '../../../../test/harness/time-series.ts'
import { monotonicMs } from '../../../kernel/clock.ts'
import { dayMs } from '../pack/builder.ts'

const connection = await freshDatabase()
const open = () => openTimeSeries({ connection, environment: { WAYPOST_MASTER_KEY: 'm'.repeat(40) } })
const processes = [await open(), await open()]
const endpointOf = (name: string) => ({
  tenantId: 'default',
  applicationName: 'shared',
  versionName: 'shared-v1',
  endpointId: name,
})

test('two processes write, end slots and pack at the same time, and nothing is lost', async () => {
  const model = new Map<string, Map<number, number>>()
  let ended = false
  const failures = new Set<string>()
  const packing = processes.map(async ({ pack }) => {
    while (!ended)
      try {
        await pack()
      } catch (error) {
        // Who reads or writes goes first; it is tried again.
        failures.add((error as { code?: string }).code ?? String(error))
      }
  })
  const writing = processes.flatMap(({ collect }, process) =>
    Array.from({ length: 5 }, async (_, index) => {
      const endpoint = endpointOf(`e-${process}-${index}`)
      const own = new Map<number, number>()
      model.set(endpoint.endpointId, own)
      for (let message = 0; message < 150; message++) {
        const time = (message % 3) * dayMs + (message % 40) * 1000
        const sent = [1, 2, 3].map((more) => collect(endpoint, [{ timestamp: time, v: message + more / 10 }]))
        own.set(time, message + 0.3)
        await Promise.all(sent)
      }
    }),
  )
  await Promise.all(writing)
  ended = true
  await Promise.all(packing)
  assert.deepEqual(
    [...failures].filter((code) => code !== '55P03'),
    [],
  )
  for (const [endpointId, own] of model) {
    const expected = [...own].sort(([a], [b]) => a - b)
    for (const { points } of processes) assert.deepEqual(await points(endpointId), { 'auto~v/value': expected })
  }
  const [first] = processes
  await first!.pack()
  assert.deepEqual(await first!.points('e-1-0'), {
    'auto~v/value': [...model.get('e-1-0')!].sort(([a], [b]) => a - b),
  })
})

test('who packs ends within a second when it is told to, and leaves the work to others', async () => {
  const [first, second] = processes as [(typeof processes)[0], (typeof processes)[0]]
  const endpoint = endpointOf('busy')
  const samples = Array.from({ length: 20_000 }, (_, index) => ({ timestamp: index * 1000, a: index, b: index / 3 }))
  await first.collect(endpoint, samples)
  await first.service.slots.rotate(true)
  first.service.packer.start()
  await new Promise((done) => setTimeout(done, 60))
  const began = monotonicMs()
  await first.service.packer.stop()
  assert.ok(monotonicMs() - began < 1000)
  const read = async () => (await second.points('busy'))['auto~a/value']!.length
  assert.equal(await read(), 20_000)
  await second.service.packer.round()
  assert.equal(await read(), 20_000)
  const [hot] = await second.sql`select count(*)::int as count from time_series.samples`
  assert.equal(hot!.count, 0)
})

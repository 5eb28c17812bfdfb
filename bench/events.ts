import { eventRounds } from '../test/faults/events.ts'
import { oneByOneRate, outboxRate, withDatabase } from './events/delivery.ts'
import { idleTransactions } from './events/idle.ts'
import { writesRatio } from './events/writes.ts'
import { inDirectory } from './platform.ts'
import type { Figure } from './report.ts'

const few = 1000
const many = 100_000
const rounds = Number(process.env.BENCH_ROUNDS ?? 30)
const seconds = Number(process.env.BENCH_SECONDS ?? 10)
const seed = Number(process.env.BENCH_SEED ?? 1)

/** Measures the delivery of waiting events, the load of an idle platform, writes with a second node, and kill -9. */
export async function events(): Promise<Figure[]> {
  const rate = (measure: typeof outboxRate, waiting: number) =>
    inDirectory((directory) => withDatabase(directory, (connection) => measure(connection, waiting, seconds)))
  const [oldMany, newMany] = [await rate(oneByOneRate, many), await rate(outboxRate, many)]
  const newFew = await rate(outboxRate, few)
  const idle = await inDirectory((directory) => idleTransactions(directory, Math.max(20, seconds)))
  const writes = await inDirectory((directory) => writesRatio(directory, seconds / 2))
  const killed = await inDirectory((directory) =>
    withDatabase(directory, (connection) => eventRounds({ rounds, seed, connection })),
  )
  return [
    {
      name: 'Delivery with 100,000 waiting events against the way of version 0.1',
      value: newMany / oldMany,
      unit: 'times',
      limit: { least: 20 },
    },
    {
      name: 'Delivery with 100,000 waiting events against 1,000',
      value: newMany / newFew,
      unit: 'times',
      limit: { least: 0.7 },
    },
    { name: 'Events delivered with 100,000 waiting', value: newMany, unit: '/s' },
    { name: 'Transactions of an idle node', value: idle, unit: '/s', limit: { most: 6 } },
    {
      name: 'API writes of 32 callers with another node against a node alone',
      value: writes.ratio,
      unit: 'times',
      limit: { least: 0.85 },
    },
    { name: 'API writes of 32 callers with another node', value: writes.perSecond, unit: '/s' },
    {
      name: 'Rounds of kill -9 of either of two nodes, each event delivered once',
      value: killed.rounds,
      unit: 'rounds',
      limit: { least: 30 },
    },
    { name: 'Events published in them', value: killed.published, unit: '' },
  ]
}

import { eventRounds } from '../test/faults/events.ts'
import { oneByOneRate, outboxRate, withDatabase } from './events/delivery.ts'
import { idleTransactions } from './events/idle.ts'
import { writesRatio } from './events/writes.ts'
import { withTemporaryDirectory } from './platform.ts'
import type { Figure } from './report.ts'

const few = 1000
const many = 100_000
const rounds = Number(process.env.BENCH_ROUNDS ?? 30)
const seconds = Number(process.env.BENCH_SECONDS ?? 10)
const seed = Number(process.env.BENCH_SEED ?? 1)

/** Runs all parts, or the parts that BENCH_PARTS names. */
export async function events(): Promise<Figure[]> {
  const selected = process.env.BENCH_PARTS?.split(',') ?? Object.keys(parts)
  const figures: Figure[] = []
  for (const name of selected) {
    const part = parts[name]
    if (!part) throw new Error(`no part ${name}; there are ${Object.keys(parts).join(', ')}`)
    figures.push(...(await part()))
  }
  return figures
}

const parts: Record<string, () => Promise<Figure[]>> = {
  async delivery() {
    const rate = (measure: typeof outboxRate, waiting: number) =>
      withTemporaryDirectory((directory) =>
        withDatabase(directory, (connection) => measure(connection, waiting, seconds)),
      )
    const [oneByOneMany, outboxMany] = [await rate(oneByOneRate, many), await rate(outboxRate, many)]
    const outboxFew = await rate(outboxRate, few)
    return [
      {
        name: 'Delivery with 100,000 waiting events, against the outbox of version 0.1',
        value: outboxMany / oneByOneMany,
        unit: 'times',
        limit: { min: 20 },
      },
      {
        name: 'Delivery with 100,000 waiting events against 1,000',
        value: outboxMany / outboxFew,
        unit: 'times',
        limit: { min: 0.7 },
      },
      { name: 'Events delivered with 100,000 waiting', value: outboxMany, unit: '/s' },
    ]
  },

  async idle() {
    const idle = (nodes: number) =>
      withTemporaryDirectory((directory) => idleTransactions(directory, nodes, Math.max(20, seconds)))
    return [
      { name: 'Transactions of an idle node', value: await idle(1), unit: '/s', limit: { max: 6 } },
      { name: 'Transactions of each of two idle nodes', value: await idle(2), unit: '/s', limit: { max: 6 } },
    ]
  },

  async writes() {
    const { ratio, perSecond } = await withTemporaryDirectory((directory) => writesRatio(directory, seconds / 2))
    return [
      {
        name: 'API writes of 32 callers: two nodes against one',
        value: ratio,
        unit: 'times',
        limit: { min: 0.85 },
      },
      { name: 'API writes of 32 callers, two nodes', value: perSecond, unit: '/s' },
    ]
  },

  async kills() {
    const { rounds: done, published } = await withTemporaryDirectory((directory) =>
      withDatabase(directory, (connection) => eventRounds({ rounds, seed, connection })),
    )
    return [
      {
        name: 'Rounds of kill -9 of either of two nodes; each event is delivered once',
        value: done,
        unit: 'rounds',
        limit: { min: 30 },
      },
      { name: 'Events published in these rounds', value: published, unit: '' },
    ]
  },
}

/** Waits for the outcomes of pushes, by push id. Other nodes report them with `PushSettled`. */
import { monotonicMs } from '../kernel/clock.ts'
import type { Delivery } from './contract.ts'

export interface PushOutcomes {
  expect(id: string): Promise<Delivery>
  settle(id: string, delivery: Delivery): void
}

/** Time to wait for an outcome. After this time, the outcome is `sent`. */
const waitMs = 30_000
const waitingMax = 100_000

export function createPushOutcomes(): PushOutcomes {
  /** Pushes in the order of sending. */
  const waiting = new Map<string, { until: number; resolve(delivery: Delivery): void }>()
  let timer: NodeJS.Timeout | undefined

  function settle(id: string, delivery: Delivery) {
    waiting.get(id)?.resolve(delivery)
    waiting.delete(id)
  }

  function expire() {
    timer = undefined
    const now = monotonicMs()
    for (const [id, { until }] of waiting) {
      if (until > now) break
      settle(id, 'sent')
    }
    startTimer()
  }

  function startTimer() {
    const [first] = waiting.values()
    if (!timer && first) timer = setTimeout(expire, Math.max(10, first.until - monotonicMs())).unref()
  }

  return {
    expect: (id) =>
      new Promise((resolve) => {
        if (waiting.size >= waitingMax) settle(waiting.keys().next().value!, 'sent')
        waiting.set(id, { until: monotonicMs() + waitMs, resolve })
        startTimer()
      }),
    settle,
  }
}

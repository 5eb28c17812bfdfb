/**
 * Collects the newest value of each endpoint, and stores all of them after some seconds. A crash loses the values that are not stored yet.
 */
import type { Kit } from '../../../kernel/define-service.ts'
import { deferredWriteFailed } from '../log-messages.ts'

export interface DeferredWrites<T> {
  /** Adds a value and returns immediately. An older value does not replace a newer value. */
  add(value: T): void
  /** Stores everything that was added. */
  flush(): Promise<void>
}

interface OfEndpoint {
  endpointId: string
  at: Date
}

const flushMs = 5000
const rowsPerStatement = 1000
/** Maximum number of endpoints with a collected value. Values of further endpoints are dropped until the next flush. */
const endpointsMax = 200_000

export function createDeferredWrites<T extends OfEndpoint>(
  { log }: Pick<Kit, 'log'>,
  save: (values: T[]) => Promise<void>,
): DeferredWrites<T> {
  let collected = new Map<string, T>()
  let timer: NodeJS.Timeout | undefined
  let running: Promise<void> = Promise.resolve()

  async function saveAll(values: T[]) {
    for (let start = 0; start < values.length; start += rowsPerStatement)
      await save(values.slice(start, start + rowsPerStatement))
  }

  async function flush() {
    clearTimeout(timer)
    timer = undefined
    const values = [...collected.values()]
    collected = new Map()
    running = running.then(() => saveAll(values)).catch((err) => deferredWriteFailed(log, { err }))
    await running
  }

  return {
    add(value) {
      const known = collected.get(value.endpointId)
      if (known ? known.at > value.at : collected.size >= endpointsMax) return
      collected.set(value.endpointId, value)
      timer ??= setTimeout(() => void flush(), flushMs).unref()
    },
    flush,
  }
}

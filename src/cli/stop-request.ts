import { monotonicMs } from '../kernel/clock.ts'

export interface StopRequest {
  /** Aborts with the first signal; its reason is the signal's name. */
  signal: AbortSignal
  /** Resolves with the name of the first signal. */
  received: Promise<NodeJS.Signals>
}

const repeatMs = 1000

/**
 * Listens for SIGTERM, SIGINT and SIGHUP. One Ctrl-C arrives several times, because npm forwards what the terminal has sent to the whole
 * group; repeats are ignored. A SIGINT more than a second after the first signal ends the process at once.
 */
export function listenForStop(): StopRequest {
  const controller = new AbortController()
  const { promise: received, resolve } = Promise.withResolvers<NodeJS.Signals>()
  let firstMs: number | undefined
  const handle = (name: NodeJS.Signals) => {
    if (firstMs === undefined) {
      firstMs = monotonicMs()
      controller.abort(name)
      resolve(name)
    } else if (name === 'SIGINT' && monotonicMs() - firstMs > repeatMs) process.exit(130)
  }
  for (const name of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(name, handle)
  return { signal: controller.signal, received }
}

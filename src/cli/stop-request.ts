import { monotonicMs } from '../kernel/clock.ts'

export interface StopRequest {
  /** Aborts at the first signal. Its reason is the name of the signal. */
  signal: AbortSignal
  /** Resolves with the name of the first signal. */
  received: Promise<NodeJS.Signals>
}

const repeatMs = 1000

/**
 * Listens for SIGTERM, SIGINT and SIGHUP. One Ctrl-C arrives several times, because npm forwards the signal that the terminal has sent to
 * the whole process group. Repeated signals are ignored, except a SIGINT more than a second after the first signal, which ends the process
 * immediately.
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

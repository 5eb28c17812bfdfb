/** Calls the handlers of signals on this node. The error of a handler is logged, and the next handlers are still called. */
import type { Log } from '../log.ts'
import type { Handler, Signal } from './define.ts'
import { resetListenerFailed, signalHandlerFailed } from './log-messages.ts'

export interface Handlers {
  on<P>(signal: Signal<P>, handler: Handler<P>): void
  onReset(listener: () => void): void
  /** Calls all handlers; resolves when they are done, and never rejects. */
  dispatch(topic: string, payload: unknown, from: string): Promise<unknown>
  reset(): void
}

export function createHandlers(log: Log): Handlers {
  const handlers = new Map<string, Handler<never>[]>()
  const resets: (() => void)[] = []
  return {
    on: ({ name }, handler) => void handlers.set(name, [...(handlers.get(name) ?? []), handler]),
    onReset: (listener) => void resets.push(listener),
    dispatch(topic, payload, from) {
      const running: Promise<void>[] = []
      const failed = (error: unknown) => signalHandlerFailed(log, { err: error, topic })
      for (const handler of handlers.get(topic) ?? [])
        try {
          const result = handler(payload as never, from)
          if (result) running.push(result.catch(failed))
        } catch (error) {
          failed(error)
        }
      return Promise.all(running)
    },
    reset() {
      for (const listener of resets)
        try {
          listener()
        } catch (error) {
          resetListenerFailed(log, { err: error })
        }
    },
  }
}

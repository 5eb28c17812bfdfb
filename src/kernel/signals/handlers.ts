/** Calls what this node does with signals. A handler that fails is logged and keeps nobody else from being called. */
import type { Log } from '../log.ts'
import type { Handler, Signal } from './define.ts'

export interface Handlers {
  on<P>(signal: Signal<P>, handler: Handler<P>): void
  onReset(listener: () => void): void
  /** Resolves when all handlers are done; never rejects. */
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
      const failed = (error: unknown) => log.error({ err: error, topic }, 'a signal handler failed')
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
          log.error({ err: error }, 'a listener for lost signals failed')
        }
    },
  }
}

/** Creates `ctx.signal` of requests. A signal is created on first use, because most requests never use it. */
import type { ServerResponse } from 'node:http'
import { CallerDisconnected, DeadlinePassed, ProcessStopping } from '../errors.ts'
import { createOpenItems } from '../open-items.ts'

export type AbortListener = (reason: Error) => void

export interface RequestSignals {
  /** Aborts when the connection closes before the response is sent, the deadline passes or the process stops. */
  create(response: ServerResponse, deadlineSeconds?: number): AbortSignal
  /** Calls the listener once when the signal of `create` would abort. Returns a function that removes the listener. */
  listen(response: ServerResponse, deadlineSeconds: number | undefined, listener: AbortListener): () => void
  stop(): void
}

export function createRequestSignals(): RequestSignals {
  const open = createOpenItems<AbortListener>()
  let isStopping = false

  function listen(response: ServerResponse, deadlineSeconds: number | undefined, listener: AbortListener) {
    const ended = response.closed ? CallerDisconnected() : isStopping ? ProcessStopping() : undefined
    if (ended) {
      listener(ended)
      return () => {}
    }
    const abort = (reason: Error) => {
      end()
      listener(reason)
    }
    const closed = () => {
      if (response.writableFinished) end()
      else abort(CallerDisconnected())
    }
    const remove = open.add(abort)
    const deadline = deadlineSeconds && setTimeout(() => abort(DeadlinePassed()), deadlineSeconds * 1000)
    response.on('close', closed)
    function end() {
      remove()
      clearTimeout(deadline)
      response.off('close', closed)
    }
    return end
  }

  return {
    create(response, deadlineSeconds) {
      const controller = new AbortController()
      listen(response, deadlineSeconds, (reason) => controller.abort(reason))
      return controller.signal
    },
    listen,
    stop() {
      isStopping = true
      for (const abort of open) abort(ProcessStopping())
    },
  }
}

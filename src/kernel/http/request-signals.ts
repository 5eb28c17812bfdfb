/** Creates `ctx.signal` of requests. A signal is created on first use, because most requests never use it. */
import type { ServerResponse } from 'node:http'
import { CallerDisconnected, DeadlinePassed, ProcessStopping } from '../errors.ts'
import { createOpenItems } from '../open-items.ts'

export interface RequestSignals {
  /** Aborts when the connection closes before the response is sent, the deadline passes or the process stops. */
  create(response: ServerResponse, deadlineSeconds?: number): AbortSignal
  stop(): void
}

export function createRequestSignals(): RequestSignals {
  const open = createOpenItems<AbortController>()
  let isStopping = false

  return {
    create(response, deadlineSeconds) {
      const controller = new AbortController()
      if (response.closed) controller.abort(CallerDisconnected())
      else if (isStopping) controller.abort(ProcessStopping())
      else watch(controller, response, deadlineSeconds)
      return controller.signal
    },
    stop() {
      isStopping = true
      for (const controller of open) controller.abort(ProcessStopping())
    },
  }

  function watch(controller: AbortController, response: ServerResponse, deadlineSeconds: number | undefined) {
    const remove = open.add(controller)
    const deadline =
      deadlineSeconds === undefined
        ? undefined
        : setTimeout(() => controller.abort(DeadlinePassed()), deadlineSeconds * 1000)
    response.once('close', () => {
      remove()
      clearTimeout(deadline)
      if (!response.writableFinished) controller.abort(CallerDisconnected())
    })
  }
}

/** Requests to one node and their replies. They use signals, which may be lost, so each request has a time-out. */
import { newId } from '../ids.ts'
import { defineSignal, type Handler, type Request, type Signal } from './define.ts'

export interface Requests {
  /** Sends a request. Rejects after `timeoutMs` (default: 5 s), or if the handler throws. */
  request<P, R>(nodeId: string, request: Request<P, R>, payload: P, options?: { timeoutMs?: number }): Promise<R>
  /** Registers the handler of a request on this node. */
  answer<P, R>(request: Request<P, R>, handler: (payload: P, from: string) => R | Promise<R>): void
}

type Answer = (payload: never, from: string) => unknown

const RequestSent = defineSignal<{ id: string; name: string; payload: unknown }>('kernel.request')
const ReplySent = defineSignal<{ id: string; reply?: unknown; error?: string }>('kernel.reply')

const defaultTimeoutMs = 5000

export function createRequests(signals: {
  sendNow<P>(to: `node/${string}`, signal: Signal<P>, payload: P): Promise<boolean>
  on<P>(signal: Signal<P>, handler: Handler<P>): void
}): Requests {
  const waiting = new Map<string, { resolve(reply: never): void; reject(error: Error): void }>()
  const answers = new Map<string, Answer>()

  async function answerTo(name: string, payload: unknown, from: string) {
    const answer = answers.get(name)
    if (!answer) return { error: `this node has no handler for ${name}` }
    try {
      return { reply: await answer(payload as never, from) }
    } catch (error) {
      return { error: (error as Error).message }
    }
  }

  signals.on(RequestSent, async ({ id, name, payload }, from) => {
    await signals.sendNow(`node/${from}`, ReplySent, { id, ...(await answerTo(name, payload, from)) })
  })

  signals.on(ReplySent, ({ id, reply, error }) => {
    const request = waiting.get(id)
    if (error === undefined) request?.resolve(reply as never)
    else request?.reject(new Error(error))
  })

  return {
    answer: ({ name }, handler) => void answers.set(name, handler as Answer),
    async request(nodeId, { name }, payload, { timeoutMs = defaultTimeoutMs } = {}) {
      const id = newId()
      const timer = setTimeout(() => {
        waiting.get(id)?.reject(withoutStack(`node ${nodeId} did not answer ${name} within ${timeoutMs} ms`))
      }, timeoutMs)
      try {
        return await new Promise<never>((resolve, reject) => {
          waiting.set(id, { resolve, reject })
          signals.sendNow(`node/${nodeId}`, RequestSent, { id, name, payload }).then((sent) => {
            if (!sent) reject(new Error(`${name} could not be sent to node ${nodeId}`))
          }, reject)
        })
      } finally {
        clearTimeout(timer)
        waiting.delete(id)
      }
    },
  }
}

/** Creates the error for a node that does not answer. This is expected after a crash, and the stack would show only a timer. */
function withoutStack(message: string): Error {
  const error = new Error(message)
  delete error.stack
  return error
}

/**
 * Runs requests with the same key in shared transactions. Requests that arrive while a transaction runs share the next transaction, which
 * starts before the answers of the running transaction are delivered. If a shared transaction fails, each request runs in its own
 * transaction, so that no request fails because of another.
 */
import { isDatabaseUnavailable } from '../../../kernel/db.ts'

interface Waiting<Q, A> {
  request: Q
  resolve(answer: A): void
  reject(error: unknown): void
}

export interface SharedTransactionsOptions<Q, A> {
  keyOf(request: Q): string
  /** Requests with the same id are never in the same transaction. */
  idOf(request: Q): string
  /** Returns an answer for each request, in order. */
  together(requests: Q[]): Promise<A[]>
  alone(request: Q): Promise<A>
}

const requestsMax = 64

export function createSharedTransactions<Q, A>(options: SharedTransactionsOptions<Q, A>) {
  const queues = new Map<string, Waiting<Q, A>[]>()

  async function run(key: string, queue: Waiting<Q, A>[]) {
    // The answers are delivered later, so that the next transaction can send its first statement before them. PostgreSQL runs that
    // statement while the answers are delivered.
    while (queue.length > 0) setImmediate(await settle(options, takeDistinct(queue, options.idOf)))
    queues.delete(key)
  }

  return (request: Q): Promise<A> =>
    new Promise((resolve, reject) => {
      const key = options.keyOf(request)
      const waiting = { request, resolve, reject }
      const queue = queues.get(key)
      if (queue) return void queue.push(waiting)
      const newQueue = [waiting]
      queues.set(key, newQueue)
      void run(key, newQueue)
    })
}

/** Takes the first requests with distinct ids out of the queue. The remaining requests keep their order. */
function takeDistinct<Q, A>(queue: Waiting<Q, A>[], idOf: (request: Q) => string): Waiting<Q, A>[] {
  const ids = new Set<string>()
  const taken: Waiting<Q, A>[] = []
  const rest: Waiting<Q, A>[] = []
  for (const waiting of queue.splice(0)) {
    const id = idOf(waiting.request)
    if (taken.length === requestsMax || ids.has(id)) rest.push(waiting)
    else taken.push(waiting)
    ids.add(id)
  }
  queue.push(...rest)
  return taken
}

/** Delivers the answers of a shared transaction to its callers. */
type Deliver = () => void

async function settle<Q, A>(
  { together, alone }: SharedTransactionsOptions<Q, A>,
  group: Waiting<Q, A>[],
): Promise<Deliver> {
  if (group.length > 1)
    try {
      const answers = await together(group.map(({ request }) => request))
      return () => {
        for (const [index, { resolve }] of group.entries()) resolve(answers[index]!)
      }
    } catch (error) {
      // A transaction whose connection broke may have been committed, so it is not repeated.
      if (isDatabaseUnavailable(error))
        return () => {
          for (const { reject } of group) reject(error)
        }
    }
  await Promise.all(group.map(({ request, resolve, reject }) => alone(request).then(resolve, reject)))
  return () => {}
}

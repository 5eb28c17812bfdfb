/**
 * Runs requests of the same key together: those that arrive while a transaction runs share the next one. If many wait, it begins
 * before the first one has ended. If it fails, each of them runs on its own, so that a request never fails because of another request.
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
/** Number of transactions of a key at the same time, and of requests that must wait for a further one to begin. */
const transactionsMax = 2
const waitingMin = 6

/** The requests of a key. */
interface Queue<Q, A> {
  waiting: Waiting<Q, A>[]
  /** Ids of the requests in running transactions. */
  runningIds: Set<string>
  running: number
}

export function createSharedTransactions<Q, A>(options: SharedTransactionsOptions<Q, A>) {
  const queues = new Map<string, Queue<Q, A>>()

  async function run(key: string, queue: Queue<Q, A>) {
    queue.running++
    for (let group = takeDistinct(queue, options.idOf); group.length > 0; group = takeDistinct(queue, options.idOf)) {
      const ids = group.map(({ request }) => options.idOf(request))
      for (const id of ids) queue.runningIds.add(id)
      await settle(options, group)
      for (const id of ids) queue.runningIds.delete(id)
    }
    queue.running--
    if (queue.running === 0) queues.delete(key)
  }

  return (request: Q): Promise<A> =>
    new Promise((resolve, reject) => {
      const key = options.keyOf(request)
      const queue = queues.get(key) ?? { waiting: [], runningIds: new Set(), running: 0 }
      queues.set(key, queue)
      queue.waiting.push({ request, resolve, reject })
      const { running, waiting } = queue
      if (running === 0 || (running < transactionsMax && waiting.length >= waitingMin)) void run(key, queue)
    })
}

/** Takes the first requests out of the queue whose ids are distinct and not in a running transaction; the others keep their order. */
function takeDistinct<Q, A>({ waiting, runningIds }: Queue<Q, A>, idOf: (request: Q) => string): Waiting<Q, A>[] {
  const ids = new Set(runningIds)
  const taken: Waiting<Q, A>[] = []
  const rest: Waiting<Q, A>[] = []
  for (const one of waiting.splice(0)) {
    const id = idOf(one.request)
    if (taken.length === requestsMax || ids.has(id)) rest.push(one)
    else taken.push(one)
    ids.add(id)
  }
  waiting.push(...rest)
  return taken
}

async function settle<Q, A>({ together, alone }: SharedTransactionsOptions<Q, A>, group: Waiting<Q, A>[]) {
  if (group.length > 1)
    try {
      const answers = await together(group.map(({ request }) => request))
      for (const [index, { resolve }] of group.entries()) resolve(answers[index]!)
      return
    } catch (error) {
      // A transaction whose connection broke may have been committed, so it is not repeated.
      if (isDatabaseUnavailable(error)) {
        for (const { reject } of group) reject(error)
        return
      }
    }
  await Promise.all(group.map(({ request, resolve, reject }) => alone(request).then(resolve, reject)))
}

/**
 * Queues the requests of each tenant, and gives a tenant one thread at a time. Requests that arrive while the thread is busy form the next
 * batch, because a message to a thread costs as much as several validations.
 */
import { monotonicMs } from '../clock.ts'
import { createConcurrencyLimit } from '../concurrency-limit.ts'
import { TooManyRequests } from '../errors.ts'
import { createSchemaThreads, type SchemaAnswer, type SchemaRequest } from './threads.ts'

export interface SchemaQueue {
  /** Throws 429 if too many requests of the tenant wait, or if the request waits too long. */
  run(tenantId: string, request: SchemaRequest): Promise<SchemaAnswer>
}

const waitingMax = 100
const waitMsMax = 10_000
/** A tenant uses one thread at a time, so that its slow schemas leave threads for other tenants. */
const limits = { total: 4, perTenant: 1, waitMs: waitMsMax }
const batchMax = 64
/** Maximum number of characters in a batch. A longer request gets a thread alone, because the memory of a thread is limited. */
const batchLengthMax = 256 * 1024

interface Waiting {
  request: SchemaRequest
  since: number
  /** True if the request was already in an earlier batch, whose thread ended because of another request. */
  isRepeated?: boolean
  resolve(answer: SchemaAnswer): void
  reject(error: unknown): void
}

const tooMany = () => TooManyRequests({ seconds: 1 }, { headers: { 'retry-after': '1' } })

export function createSchemaQueue(): SchemaQueue {
  const threads = createSchemaThreads()
  const limit = createConcurrencyLimit(limits)
  /** The waiting requests by tenant. A tenant has an entry while it uses a thread or waits for one. */
  const queues = new Map<string, Waiting[]>()

  async function run(tenantId: string, queue: Waiting[]) {
    while (queue.length > 0) {
      const batch = nextBatch(queue)
      if (batch.length === 0) continue
      try {
        const answers = await limit.run(tenantId, () => threads.run(batch.map(({ request }) => request)))
        queue.unshift(...batch.filter((waiting, index) => !settle(waiting, answers[index])).map(repeated))
      } catch (error) {
        for (const { reject } of batch) reject(error)
      }
    }
    queues.delete(tenantId)
  }

  return {
    run: (tenantId, request) =>
      new Promise((resolve, reject) => {
        const waiting: Waiting = { request, since: monotonicMs(), resolve, reject }
        const queue = queues.get(tenantId)
        if (queue && queue.length >= waitingMax) reject(tooMany())
        else if (queue) queue.push(waiting)
        else {
          const started = [waiting]
          queues.set(tenantId, started)
          void run(tenantId, started)
        }
      }),
  }
}

/** Takes the next requests from the queue. Requests that have waited too long are rejected. */
function nextBatch(queue: Waiting[]): Waiting[] {
  const batch: Waiting[] = []
  for (let length = 0; queue.length > 0 && batch.length < batchMax; ) {
    const { schema, data = '' } = queue[0]!.request
    length += schema.length + data.length
    if (batch.length > 0 && length > batchLengthMax) break
    const waiting = queue.shift()!
    if (monotonicMs() - waiting.since > waitMsMax) waiting.reject(tooMany())
    else batch.push(waiting)
  }
  return batch
}

/**
 * Returns the request for its next batch. Its waiting time restarts once, because a slow request of the same batch can take longer than
 * `waitMsMax` on a busy machine. It restarts only once, so that many slow requests do not make it wait forever.
 */
const repeated = (waiting: Waiting): Waiting =>
  waiting.isRepeated ? waiting : { ...waiting, since: monotonicMs(), isRepeated: true }

/**
 * Settles a request. Returns false if it has no answer because the thread ended with another request of the batch. The request is then sent
 * again.
 */
function settle({ resolve, reject }: Waiting, answer: SchemaAnswer | Error | undefined): boolean {
  if (answer === undefined) return false
  if (answer instanceof Error) reject(answer)
  else resolve(answer)
  return true
}

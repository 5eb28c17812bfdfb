/**
 * Runs the pipelines of applications on documents. The documents of an application run in batches, one after the other. They therefore keep
 * their order, and a slow pipeline delays only its own application.
 */
import { monotonicMs } from '../../../kernel/clock.ts'
import type { PipelineSets } from '../service/pipeline-sets.ts'
import type { PipelinePool } from '../workers/pool.ts'
import type { DocumentOutcome } from '../workers/protocol.ts'

export interface PipelineTarget {
  tenantId: string
  applicationName: string
  pipelineId: string
  indexNo: number
}

export interface PipelineQueue {
  /** Returns an outcome for each document. Never throws: the outcome of a document that could not be processed is an error. */
  run(target: PipelineTarget, documents: string[]): Promise<DocumentOutcome[]>
}

interface Entry {
  target: PipelineTarget
  documents: string[]
  enqueuedMs: number
  resolve(outcomes: DocumentOutcome[]): void
}

/** Entries whose documents run together. */
interface Batch {
  entries: Entry[]
  /** Entries that waited too long. They do not run. */
  late: Entry[]
  /** The outcomes of the documents of `entries`. */
  outcomes: Promise<DocumentOutcome[]>
}

/** Documents of one application that wait for their pipeline. */
interface ApplicationQueue {
  waiting: Entry[]
  bytes: number
  isRunning: boolean
}

/** Limits of a batch. Batches are large, because each waits for a turn of the event loop, which may take 30 ms on a busy node. */
const documentsPerBatch = 2000
const bytesPerBatch = 1024 * 1024
/** Limits of an application's queue: its size, and the time that a document waits. Above these limits, documents are stored unprocessed. */
const queueBytesMax = 16 * 1024 * 1024
const waitMs = 5000

type Failure = Extract<DocumentOutcome, { error: unknown }>
const failure = (type: string, reason: string): Failure => ({ error: { processor: '', type, reason } })
const queueFull = failure(
  'es_rejected_execution_exception',
  `the queue of the application is full: ${queueBytesMax / 1024 / 1024} MiB of documents wait for pipelines`,
)
const threadsBusy = failure('es_rejected_execution_exception', 'the queue of the threads that run pipelines is full')
const tooLate = failure('timeout_exception', `the document waited for the pipeline for more than ${waitMs / 1000} s`)

const bytesOf = (documents: string[]) => documents.reduce((sum, { length }) => sum + length, 0)

function settle({ entries, late }: Batch, outcomes: DocumentOutcome[]) {
  let from = 0
  for (const entry of entries) {
    entry.resolve(outcomes.slice(from, from + entry.documents.length))
    from += entry.documents.length
  }
  for (const entry of late) entry.resolve(entry.documents.map(() => tooLate))
}

export function createPipelineQueue({ pool, sets }: { pool: PipelinePool; sets: PipelineSets }): PipelineQueue {
  const queues = new Map<string, ApplicationQueue>()

  async function process(applicationName: string, queue: ApplicationQueue) {
    queue.isRunning = true
    for (let batch = startNextBatch(queue); batch; ) {
      const outcomes = await batch.outcomes
      // The thread gets the next batch first, because handling the outcomes takes about as long as running the documents.
      const next = startNextBatch(queue)
      settle(batch, outcomes)
      batch = next
    }
    queues.delete(applicationName)
  }

  /** Takes entries of the same pipeline from the queue, and runs them. Returns undefined if the queue is empty. */
  function startNextBatch(queue: ApplicationQueue): Batch | undefined {
    if (queue.waiting.length === 0) return undefined
    const entries: Entry[] = []
    const late: Entry[] = []
    let [count, bytes] = [0, 0]
    while (queue.waiting.length > 0) {
      const entry = queue.waiting[0]!
      const size = bytesOf(entry.documents)
      const isSame = entries.length === 0 || entry.target.pipelineId === entries[0]!.target.pipelineId
      const fits = count + entry.documents.length <= documentsPerBatch && bytes + size <= bytesPerBatch
      if (entries.length > 0 && (!isSame || !fits)) break
      queue.waiting.shift()
      queue.bytes -= size
      if (monotonicMs() - entry.enqueuedMs > waitMs) {
        late.push(entry)
        continue
      }
      entries.push(entry)
      count += entry.documents.length
      bytes += size
    }
    return { entries, late, outcomes: entries.length > 0 ? run(entries) : Promise.resolve([]) }
  }

  async function run(entries: Entry[]): Promise<DocumentOutcome[]> {
    const { tenantId, pipelineId, indexNo } = entries[0]!.target
    const documents = entries.flatMap((entry) => entry.documents)
    try {
      const work = { kind: 'documents', pipelineId, indexNo, count: documents.length } as const
      const set = sets.get(tenantId) ?? (await sets.find(tenantId))
      const result = await pool.run(set, { ...work, documents: documents.join('\n') })
      if (!result) return documents.map(() => threadsBusy)
      if ('outcomes' in result) return result.outcomes as DocumentOutcome[]
      const failed = failure(result.problem.type, result.problem.reason)
      return documents.map(() => failed)
    } catch (error) {
      return documents.map(() => failure('exception', (error as Error).message))
    }
  }

  return {
    run(target, documents) {
      const { applicationName } = target
      let queue = queues.get(applicationName)
      if (!queue) {
        queue = { waiting: [], bytes: 0, isRunning: false }
        queues.set(applicationName, queue)
      }
      const bytes = bytesOf(documents)
      if (queue.bytes + bytes > queueBytesMax && queue.waiting.length > 0)
        return Promise.resolve(documents.map(() => queueFull))
      queue.bytes += bytes
      const { promise, resolve } = Promise.withResolvers<DocumentOutcome[]>()
      queue.waiting.push({ target, documents, enqueuedMs: monotonicMs(), resolve })
      // The queue is processed after the current turn of the event loop, so that messages that arrived together share a batch.
      if (!queue.isRunning) {
        queue.isRunning = true
        setImmediate(() => void process(applicationName, queue))
      }
      return promise
    },
  }
}

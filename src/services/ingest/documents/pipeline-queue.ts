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

export function createPipelineQueue({ pool, sets }: { pool: PipelinePool; sets: PipelineSets }): PipelineQueue {
  const queues = new Map<string, ApplicationQueue>()

  async function process(applicationName: string, queue: ApplicationQueue) {
    queue.isRunning = true
    while (queue.waiting.length > 0) {
      const entries = nextBatch(queue)
      await runBatch(entries)
    }
    queues.delete(applicationName)
  }

  /** Takes entries of the same pipeline from the queue. Entries that waited too long get an error as their outcome and are left out. */
  function nextBatch(queue: ApplicationQueue): Entry[] {
    const entries: Entry[] = []
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
        entry.resolve(entry.documents.map(() => tooLate))
        continue
      }
      entries.push(entry)
      count += entry.documents.length
      bytes += size
    }
    return entries
  }

  async function runBatch(entries: Entry[]) {
    if (entries.length === 0) return
    const { tenantId, pipelineId, indexNo } = entries[0]!.target
    const documents = entries.flatMap((entry) => entry.documents)
    let outcomes: DocumentOutcome[]
    try {
      const result = await pool.run(await sets.find(tenantId), {
        kind: 'documents',
        pipelineId,
        indexNo,
        count: documents.length,
        documents: documents.join('\n'),
      })
      if (!result) outcomes = documents.map(() => threadsBusy)
      else if ('problem' in result) {
        const failed = failure(result.problem.type, result.problem.reason)
        outcomes = documents.map(() => failed)
      } else outcomes = result.outcomes as DocumentOutcome[]
    } catch (error) {
      outcomes = documents.map(() => failure('exception', (error as Error).message))
    }
    let from = 0
    for (const entry of entries) {
      entry.resolve(outcomes.slice(from, from + entry.documents.length))
      from += entry.documents.length
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

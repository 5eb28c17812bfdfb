/**
 * Runs the pipelines of applications over documents. The documents of an application run in batches, one after the other, so that they
 * keep their order and a slow pipeline delays its own application only.
 */
import { monotonicMs } from '../../../kernel/clock.ts'
import type { PipelineSets } from '../service/pipeline-sets.ts'
import type { PipelinePool } from '../workers/pool.ts'
import type { DocumentOutcome } from '../workers/protocol.ts'

interface PipelineOf {
  tenantId: string
  applicationName: string
  pipelineId: string
  indexNo: number
}

export interface PipelineQueue {
  /** Returns an outcome for each document. Never throws: a document that could not be processed has an error. */
  run(of: PipelineOf, documents: string[]): Promise<DocumentOutcome[]>
}

interface Entry {
  of: PipelineOf
  documents: string[]
  since: number
  resolve(outcomes: DocumentOutcome[]): void
}

interface Line {
  waiting: Entry[]
  bytes: number
  isRunning: boolean
}

const documentsPerBatch = 500
const bytesPerBatch = 1024 * 1024
/** Documents beyond these limits are stored unprocessed. */
const waitingBytesMax = 16 * 1024 * 1024
const waitMs = 5000

type Failure = Extract<DocumentOutcome, { error: unknown }>
const failure = (type: string, reason: string): Failure => ({ error: { processor: '', type, reason } })
const tooMany = failure('es_rejected_execution_exception', 'more documents waited for the pipeline than may wait')
const tooLate = failure('timeout_exception', `the document waited for the pipeline for more than ${waitMs / 1000} s`)

const bytesOf = (documents: string[]) => documents.reduce((sum, { length }) => sum + length, 0)

export function createPipelineQueue({ pool, sets }: { pool: PipelinePool; sets: PipelineSets }): PipelineQueue {
  const lines = new Map<string, Line>()

  async function process(name: string, line: Line) {
    line.isRunning = true
    while (line.waiting.length > 0) {
      const entries = nextBatch(line)
      await runBatch(entries)
    }
    lines.delete(name)
  }

  /** Takes entries of the same pipeline; those that waited too long get their outcome now. */
  function nextBatch(line: Line): Entry[] {
    const entries: Entry[] = []
    let [count, bytes] = [0, 0]
    while (line.waiting.length > 0) {
      const entry = line.waiting[0]!
      const size = bytesOf(entry.documents)
      const isSame = entries.length === 0 || entry.of.pipelineId === entries[0]!.of.pipelineId
      const fits = count + entry.documents.length <= documentsPerBatch && bytes + size <= bytesPerBatch
      if (entries.length > 0 && (!isSame || !fits)) break
      line.waiting.shift()
      line.bytes -= size
      if (monotonicMs() - entry.since > waitMs) {
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
    const { of } = entries[0]!
    const documents = entries.flatMap((entry) => entry.documents)
    let outcomes: DocumentOutcome[]
    try {
      const { tenantId, pipelineId, indexNo } = of
      const result = await pool.run(await sets.of(tenantId), {
        kind: 'documents',
        pipelineId,
        indexNo,
        count: documents.length,
        documents: documents.join('\n'),
      })
      if (!result) outcomes = documents.map(() => tooMany)
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
    run(of, documents) {
      const name = of.applicationName
      let line = lines.get(name)
      if (!line) {
        line = { waiting: [], bytes: 0, isRunning: false }
        lines.set(name, line)
      }
      const bytes = bytesOf(documents)
      if (line.bytes + bytes > waitingBytesMax && line.waiting.length > 0)
        return Promise.resolve(documents.map(() => tooMany))
      line.bytes += bytes
      const { promise, resolve } = Promise.withResolvers<DocumentOutcome[]>()
      line.waiting.push({ of, documents, since: monotonicMs(), resolve })
      // After the current turn of the event loop, so that messages that arrived together share a batch.
      if (!line.isRunning) {
        line.isRunning = true
        setImmediate(() => void process(name, line))
      }
      return promise
    },
  }
}

/** Messages between a node and its threads that run pipelines. */
import type { Field } from '../documents/fields.ts'

/** The pipelines of a tenant. */
export interface PipelineSet {
  tenantId: string
  version: number
  /** Definitions as JSON text by id. */
  pipelines: Record<string, string>
}

export interface Problem {
  type: string
  reason: string
  /** The error in the format of the search engine, with the position of each mistake. */
  error?: Record<string, unknown>
  /** True if the node could not run the work. The definition may still be correct. */
  isTemporary?: boolean
}

export type Work =
  /** Compiles a definition. */
  | { kind: 'check'; definition: string }
  /** Runs a stored pipeline on the documents of the body. If `pipelineId` is undefined, the body also contains the pipeline. */
  | { kind: 'simulate'; pipelineId: string | undefined; body: string; isVerbose: boolean }
  /**
   * Runs a stored pipeline on documents. The documents are JSON texts, one in each line, because copying one text is faster than copying
   * many.
   */
  | { kind: 'documents'; pipelineId: string; indexNo: number; count: number; documents: string }

export interface ToThread {
  work: Work
  tenantId: string
  /** The pipelines of the tenant. Omitted if the thread already has them. */
  pipelines?: PipelineSet['pipelines']
  /** A tenant whose pipelines the thread discards. Only the node decides this, so that it knows which pipelines the thread has. */
  evicted?: string
  /** Index of the next document. Earlier documents are done. */
  startAt: number
  /** Documents for which the platform terminated a thread. They fail without being run again. */
  stuck: [index: number, problem: Problem][]
  /** Number of characters of the earlier outcomes. */
  resultLength: number
  now: number
}

/** Maximum number of characters of all outcomes of one `Work`. When it is exceeded, the remaining documents fail without being run. */
export const resultLengthMax = 32 * 1024 * 1024

/** The outcome of one document. `doc` is its JSON text. `ts` is undefined if the pipeline did not change `@timestamp`. */
export type DocumentOutcome =
  | { doc: string; ts: number | null | undefined; envelopeChanged: boolean; fields?: Field[] }
  | { dropped: true }
  | { error: { processor: string; type: string; reason: string } }

export type FromThread =
  | { type: 'ready' }
  /** The work cannot be done at all, because the definition does not compile or the body is invalid. */
  | { type: 'problem'; problem: Problem }
  /** Outcomes of a simulation, starting with `startAt`, as JSON texts. */
  | { type: 'outcomes'; outcomes: string[]; isLast: boolean; resultLength: number }
  | ({ type: 'documents'; isLast: boolean; resultLength: number } & PackedOutcomes)

/**
 * Outcomes of documents. They are one text and arrays of numbers, because copying these is faster than copying an object for each document.
 */
export interface PackedOutcomes {
  /** One line for each document. The line is empty for documents in `others`. */
  texts: string
  times: Float64Array
  /** For each document, the sum of these flags: 1 (it has no time), 2 (`envelopeChanged`), 4 (its time is unchanged). */
  flags: Uint8Array
  /** Outcomes of documents that were dropped or have failed, with their positions in `texts`. */
  others: [index: number, outcome: DocumentOutcome][]
  fields: Field[]
}

export const flagNoTime = 1
export const flagEnvelopeChanged = 2
export const flagSameTime = 4

export function unpack({ texts, times, flags, others, fields }: PackedOutcomes): DocumentOutcome[] {
  const docs = texts.split('\n')
  const outcomes: DocumentOutcome[] = new Array(flags.length)
  for (let index = 0; index < flags.length; index++)
    outcomes[index] = {
      doc: docs[index]!,
      ts: (flags[index]! & flagSameTime) !== 0 ? undefined : (flags[index]! & flagNoTime) !== 0 ? null : times[index]!,
      envelopeChanged: (flags[index]! & flagEnvelopeChanged) !== 0,
    }
  for (const [index, outcome] of others) outcomes[index] = outcome
  const first = outcomes.findIndex((outcome) => 'doc' in outcome)
  if (fields.length > 0 && first >= 0)
    outcomes[first] = { ...(outcomes[first] as Extract<DocumentOutcome, { doc: string }>), fields }
  return outcomes
}

/** Cells of the shared memory. */
export const cells = {
  /** The index of the running document plus one; 0 if no document runs. */
  current: 0,
} as const

/** After this time, a thread returns the outcomes so far, so that tenants take turns. */
export const sliceMs = 50

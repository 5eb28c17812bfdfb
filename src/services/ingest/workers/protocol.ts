/** Messages between a node and its threads that run pipelines. */
import type { Field } from '../documents/fields.ts'

/** The pipelines of a tenant. A thread keeps the last version that it got. */
export interface PipelineSet {
  tenantId: string
  version: number
  /** Definitions as JSON text by id. */
  pipelines: Record<string, string>
}

export interface Problem {
  type: string
  reason: string
  /** The error as the search engine writes it, with the position of each mistake. */
  error?: Record<string, unknown>
  /** True if the node could not run the work; the definition may be right. */
  isTemporary?: boolean
}

export type Work =
  /** Compiles a definition. */
  | { kind: 'check'; definition: string }
  /** Runs a stored pipeline, or the one in the body, over the documents of the body. */
  | { kind: 'simulate'; pipelineId: string | undefined; body: string; isVerbose: boolean }
  /** Runs a stored pipeline over documents: JSON texts, one in each line, because one text is copied faster than many. */
  | { kind: 'documents'; pipelineId: string; indexNo: number; count: number; documents: string }

export interface ToThread {
  work: Work
  set: Omit<PipelineSet, 'pipelines'> & { pipelines?: PipelineSet['pipelines'] }
  /** Documents before this one are done. */
  startAt: number
  /** Documents that made the platform end a thread. They fail without being run again. */
  stuck: [index: number, problem: Problem][]
  now: number
}

/** The outcome of one document: `doc` is its JSON text; `ts` is undefined if the pipeline left `@timestamp` as it was. */
export type DocumentOutcome =
  | { doc: string; ts: number | null | undefined; envelopeChanged: boolean; fields?: Field[] }
  | { dropped: true }
  | { error: { processor: string; type: string; reason: string } }

export type FromThread =
  | { type: 'ready' }
  /** The work cannot be done at all: the definition does not compile, or the body is wrong. */
  | { type: 'problem'; problem: Problem }
  /** Outcomes of a simulation from `startAt` on, as JSON texts. */
  | { type: 'outcomes'; outcomes: string[]; isLast: boolean }
  | ({ type: 'documents'; isLast: boolean } & PackedOutcomes)

/** Outcomes of documents: one text and arrays of numbers, which are copied faster than an object for each. */
export interface PackedOutcomes {
  /** A line for each document; empty for those in `others`. */
  texts: string
  times: Float64Array
  /** A sum for each document, of 1 (it has no time), 2 (`envelopeChanged`) and 4 (its time is as it was). */
  flags: Uint8Array
  /** Outcomes that are not a document. */
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
  /** One more than the index of the document that runs; 0 if none does. */
  current: 0,
} as const

/** A thread returns the outcomes so far after this time, so that tenants take turns. */
export const sliceMs = 50

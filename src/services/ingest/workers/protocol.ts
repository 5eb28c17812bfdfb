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
}

export type Work =
  /** Compiles a definition. */
  | { kind: 'check'; definition: string }
  /** Runs a stored pipeline, or the one in the body, over the documents of the body. */
  | { kind: 'simulate'; pipelineId: string | undefined; body: string }
  /** Runs a stored pipeline over documents, each a JSON text. */
  | { kind: 'documents'; pipelineId: string; indexNo: number; documents: string[] }

export interface ToThread {
  work: Work
  set: Omit<PipelineSet, 'pipelines'> & { pipelines?: PipelineSet['pipelines'] }
  /** Documents before this one are done. */
  startAt: number
  /** Documents because of which a thread was ended; they fail without being run again. */
  stuck: [index: number, problem: Problem][]
  now: number
}

/** The outcome of one document: `doc` is its JSON text. */
export type DocumentOutcome =
  | { doc: string; ts: number | null; envelopeChanged: boolean; fields?: Field[] }
  | { dropped: true }
  | { error: { processor: string; type: string; reason: string } }

export type FromThread =
  | { type: 'ready' }
  /** The work cannot be done at all: the definition does not compile, or the body is wrong. */
  | { type: 'problem'; problem: Problem }
  /** Outcomes from `startAt` on; for a simulation JSON texts. */
  | { type: 'outcomes'; outcomes: (DocumentOutcome | string)[]; isLast: boolean }

/** Cells of the shared memory. */
export const cells = {
  /** One more than the index of the document that runs; 0 if none does. */
  current: 0,
} as const

/** A thread returns what it has after this time, so that tenants take turns. */
export const sliceMs = 50

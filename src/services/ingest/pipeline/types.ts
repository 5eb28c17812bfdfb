import type { Limits } from '../../../painless/meter.ts'
import type { Cause, Failure, ProcessorError, ScriptDetails } from './failure.ts'

/** A document on its way through a pipeline: `ctx` holds its fields, and its metadata where it was changed. */
export interface IngestDocument {
  ctx: Map<unknown, unknown>
  index: string
  type: string
  id: string
  timestamp: string
  /** `_ingest`, made when it is used. */
  ingest: Map<unknown, unknown> | undefined
  dropped: boolean
  /** Names of the pipelines that are running, outermost first. */
  pipelines: string[]
  /**
   * Processors that were skipped (undefined), or whose failure did not stop the pipeline, by position. Only traced runs have it,
   * and only for processors of the pipeline itself.
   */
  notes: Map<string, ProcessorError | undefined> | undefined
}

/** A mistake in the definition of a pipeline. `position` is for example `processors[2].script`. */
export interface Mistake {
  position: string
  type: string
  reason: string
  /** Option of the processor that is wrong. */
  property: string | undefined
  causedBy: Cause | undefined
  script: ScriptDetails | undefined
}

/** A document as a pipeline takes it. `source` is changed in place: keep the text if you need it again. */
export interface PipelineInput {
  index: string
  id: string
  type?: string
  source: Map<unknown, unknown>
  /** ISO 8601 time for `_ingest.timestamp`. */
  timestamp: string
}

export interface PipelineOutput {
  index: string
  type: string
  id: string
  source: Map<unknown, unknown>
}

/** The outcome of a run: the document, null if it was dropped, or the reason why it failed. */
export type Outcome = { document: PipelineOutput } | { document: null } | { failure: Failure }

/** One processor of a traced run: the document after it, or why it failed. */
export interface TracedStep {
  processorType: string
  tag: string | undefined
  status: 'success' | 'skipped' | 'dropped' | 'error' | 'error_ignored'
  failure: Failure | undefined
  /** The document after the processor; it is only valid during the call. */
  document: PipelineOutput | undefined
}

export interface Pipeline {
  /** Runs all processors under one set of limits. */
  run: (input: PipelineInput, limits?: Limits) => Outcome
  /** Runs the processors on a document that another pipeline has open. */
  runInside: (document: IngestDocument) => void
  /** Runs all processors as `run` does, and reports each of them. */
  trace: (input: PipelineInput, report: (step: TracedStep) => void) => void
}

export type CompileResult = { pipeline: Pipeline } | { mistakes: Mistake[] }

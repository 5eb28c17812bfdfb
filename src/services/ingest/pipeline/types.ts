import type { Limits } from '../../../painless/meter.ts'
import type { Cause, Failure, ProcessorError, ScriptDetails } from './failure.ts'

/** A document while a pipeline processes it. `ctx` contains its fields, and the metadata that was changed. */
export interface IngestDocument {
  ctx: Map<unknown, unknown>
  index: string
  type: string
  id: string
  timestamp: string
  /** The value of `_ingest`; created when it is first used. */
  ingest: Map<unknown, unknown> | undefined
  dropped: boolean
  /** Names of the pipelines that are running, outermost first. */
  pipelines: string[]
  /**
   * Outcomes by the position of the processor: undefined if it was skipped, or the failure if that did not stop the pipeline. Present only
   * in traced runs, and only for processors of the pipeline itself.
   */
  notes: Map<string, ProcessorError | undefined> | undefined
}

/** A mistake in the definition of a pipeline. `position` is for example `processors[2].script`. */
export interface Mistake {
  position: string
  type: string
  reason: string
  /** The option of the processor that is wrong. */
  property: string | undefined
  causedBy: Cause | undefined
  script: ScriptDetails | undefined
}

/** The input of a pipeline. `source` is changed in place, so callers that need it again must keep the text. */
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

/** The outcome of a run: the document, null if the document was dropped, or the reason why it failed. */
export type Outcome = { document: PipelineOutput } | { document: null } | { failure: Failure }

/** One processor of a traced run: the document after it, or the reason why it failed. */
export interface TracedStep {
  processorType: string
  tag: string | undefined
  status: 'success' | 'skipped' | 'dropped' | 'error' | 'error_ignored'
  failure: Failure | undefined
  /** The document after the processor. It is valid only during the call. */
  document: PipelineOutput | undefined
}

export interface Pipeline {
  /** Runs all processors under one set of limits. */
  run: (input: PipelineInput, limits?: Limits) => Outcome
  /** Runs the processors on a document that another pipeline has already opened. */
  runInside: (document: IngestDocument) => void
  /** Runs all processors like `run`, and reports each of them. */
  trace: (input: PipelineInput, report: (step: TracedStep) => void) => void
}

export type CompileResult = { pipeline: Pipeline } | { mistakes: Mistake[] }

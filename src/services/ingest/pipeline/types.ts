import type { Limits } from '../../../painless/meter.ts'
import type { Cause, Failure, ProcessorError, ScriptDetails } from './failure.ts'

/**
 * A document while a pipeline processes it. `ctx` contains its fields. If a processor or script assigns a metadata field such as `_index`,
 * the new value is also in `ctx`; `index`, `type` and `id` keep the original values.
 */
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
   * Only in traced runs: outcomes by the position of the processor. The value is undefined for a skipped processor, and the failure for a
   * processor whose failure was ignored or handled. A processor that succeeded has no entry. Processors of called pipelines are left out.
   */
  notes: Map<string, ProcessorError | undefined> | undefined
}

/** A mistake in the definition of a pipeline. `position` is for example `processors.2.script`. */
export interface Mistake {
  position: string
  type: string
  reason: string
  /** The option of the processor that is wrong. */
  property: string | undefined
  causedBy: Cause | undefined
  script: ScriptDetails | undefined
}

/**
 * The input of a pipeline. The pipeline changes `source` in place. A caller that needs the original again must keep the JSON text from
 * which it parsed `source`.
 */
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
  /** The document after the processor. Valid only while `report` runs, because later processors may change its nested values. */
  document: PipelineOutput | undefined
}

export interface Pipeline {
  /** Runs all processors under one set of limits. */
  run: (input: PipelineInput, limits?: Limits) => Outcome
  /** Runs the processors on the document of a running pipeline that calls this pipeline. */
  runInside: (document: IngestDocument) => void
  /** Runs all processors like `run`, and reports each of them. */
  trace: (input: PipelineInput, report: (step: TracedStep) => void) => void
}

export type CompileResult = { pipeline: Pipeline } | { mistakes: Mistake[] }

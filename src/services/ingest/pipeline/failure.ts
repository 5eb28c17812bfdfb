import { asJavaThrow, errorType, type ScriptError } from '../../../painless/errors.ts'

/** The error of a processor. `type` and `reason` are the values that the search engine would report. */
export class ProcessorError extends Error {
  readonly type: string
  readonly causedBy: Cause | undefined
  readonly script: ScriptDetails | undefined

  constructor(type: string, reason: string, causedBy?: Cause, script?: ScriptDetails) {
    super(reason)
    this.type = type
    this.causedBy = causedBy
    this.script = script
  }
}

export interface Cause {
  type: string
  reason: string
}

/** The position of an error in a script. */
export interface ScriptDetails {
  scriptStack: string[]
  script: string
  lang: 'painless'
  line: number
  column: number
  offset: number
}

/** The reason why a document failed. `processor` is the position of the processor, for example `processors.2.script`. */
export interface Failure {
  processor: string
  processorType: string
  tag: string | undefined
  type: string
  reason: string
  causedBy: Cause | undefined
  script: ScriptDetails | undefined
}

export const illegalArgument = (reason: string): ProcessorError =>
  new ProcessorError('illegal_argument_exception', reason)

export const scriptDetails = (error: ScriptError, source: string): ScriptDetails => ({
  scriptStack: error.excerpt,
  script: source,
  lang: 'painless',
  line: error.line,
  column: error.column,
  offset: error.offset,
})

export const scriptError = (error: ScriptError, source: string): ProcessorError =>
  new ProcessorError(
    'script_exception',
    error.phase,
    { type: errorType(error.javaClass), reason: error.message },
    scriptDetails(error, source),
  )

/** Converts an error that a processor threw to an error with type and reason. An unknown error is a bug and is thrown again. */
export function asProcessorError(error: unknown): ProcessorError {
  if (error instanceof ProcessorError) return error
  const javaThrow = error instanceof TypeError ? undefined : asJavaThrow(error)
  if (javaThrow) return new ProcessorError(errorType(javaThrow.javaClass), javaThrow.message)
  throw error
}

/**
 * Returns whether an error ends the whole document. Limits apply to the whole document, so neither `ignore_failure` nor `on_failure` can
 * continue after a limit was reached.
 */
export const isFatal = (error: ProcessorError): boolean =>
  ['painless_error', 'out_of_memory_error', 'stack_overflow_error'].includes(error.causedBy?.type ?? error.type)

/** Returns a failure in the format of the field `ingestError`. */
export const failureSummary = ({ processor, type, reason, causedBy }: Failure) => ({
  processor,
  type,
  reason: causedBy ? `${reason}: ${causedBy.reason}` : reason,
})

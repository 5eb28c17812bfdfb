import { JavaThrow } from '../../../painless/errors.ts'
import { writeDocument } from '../../../painless/json.ts'
import { asProcessorError, type Cause, type Failure, type ScriptDetails } from './failure.ts'
import type { Mistake, Outcome, PipelineOutput } from './types.ts'

/** The outcome of a run, with the document as JSON text. */
export type Written = { document: PipelineOutput; text: string } | { document: null } | { failure: Failure }

/** Writes the document of a run as JSON. A document that cannot be written counts as a failure of the pipeline. */
export function writeOutcome(outcome: Outcome, limit?: number): Written {
  if ('failure' in outcome || outcome.document === null) return outcome
  try {
    return { document: outcome.document, text: writeDocument(outcome.document.source, limit) }
  } catch (error) {
    if (!(error instanceof JavaThrow)) throw error
    const { type, message } = asProcessorError(error)
    return {
      failure: {
        processor: 'document',
        processorType: 'document',
        tag: undefined,
        type,
        reason: message,
        causedBy: undefined,
        script: undefined,
      },
    }
  }
}

const scriptFields = (script: ScriptDetails | undefined) =>
  script && {
    script_stack: script.scriptStack,
    script: script.script,
    lang: script.lang,
    position: { offset: script.offset, line: script.line, column: script.column },
  }

const withCause = (causedBy: Cause | undefined) => causedBy && { caused_by: causedBy }

/** Returns a failure as the search engine writes it in a simulation. */
export function failureBody({ type, reason, causedBy, script }: Failure): Record<string, unknown> {
  const error = { type, reason, ...scriptFields(script) }
  return { root_cause: [error], ...error, ...withCause(causedBy) }
}

/** Returns the mistakes of a definition as one error. The reason of each mistake contains the position of the processor. */
export function mistakesBody(mistakes: Mistake[]): Record<string, unknown> {
  const errors = mistakes.map(({ position, type, reason, property, causedBy, script }) => ({
    type,
    reason: `${position}: ${reason}${causedBy ? `: ${causedBy.reason}` : ''}`,
    ...(property !== undefined && { property_name: property }),
    ...(script && { ...scriptFields(script) }),
    ...withCause(causedBy),
  }))
  const { type, reason, ...rest } = errors[0]!
  return { root_cause: errors, type, reason, ...rest }
}

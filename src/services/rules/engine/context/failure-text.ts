/** Describes failures of scripts for users, with the position in the script. */
import { type Failure, failureText } from '../../../../sandbox/outcome.ts'
import type { Stage } from '../../model.ts'

export const stageOf = ({ reason }: Failure): Stage => (reason === 'TIMEOUT' ? 'TIMEOUT' : 'EXPRESSION_EVALUATION')

interface RunKind {
  hasEndpoint: boolean
  /** The key of the payload in `ctx.trigger`; undefined in a run without trigger. */
  triggerKey: string | undefined
  isEvaluation?: boolean
}

const missingMember = /cannot read propert(?:y|ies) '?([\w$]+)'? of undefined|([\w$]+) is undefined|not a function/

/** Returns the reason of a failure, such as "line 3, column 14: ctx.endpoint is absent in a run without endpoint". */
export function reasonOf(failure: Failure, script: string, kind: RunKind): string {
  const absent =
    failure.reason === 'ERROR' && missingMember.test(failure.message) ? absentMember(failure, script, kind) : undefined
  return failureText(absent === undefined ? failure : { ...failure, message: absent })
}

/** If the failing line uses a member of `ctx` that is absent in this run, returns why it is absent. */
function absentMember({ line }: Failure, script: string, kind: RunKind): string | undefined {
  const text = line === undefined ? script : (script.split(/\r\n|[\n\r\u2028\u2029]/)[line - 1] ?? '')
  const run = kind.isEvaluation ? 'an evaluation' : 'a run'
  if (!kind.hasEndpoint && /\bctx\s*\.\s*endpoint\s*[.[]/.test(text))
    return kind.isEvaluation
      ? 'ctx.endpoint is absent in an evaluation without endpointMetadata'
      : 'ctx.endpoint is absent in a run without endpoint'
  if (kind.triggerKey === undefined)
    return /\bctx\s*\.\s*trigger\s*[.[]/.test(text) ? `ctx.trigger is absent in ${run} without trigger` : undefined
  const [, key] = /\bctx\s*\.\s*trigger\s*\.\s*([\w$]+)\s*[.[]/.exec(text) ?? []
  if (key === undefined || key === kind.triggerKey || /^(?:id|name|type|metadata|appVersionName)$/.test(key))
    return undefined
  return `ctx.trigger.${key} is absent: this run has ctx.trigger.${kind.triggerKey}`
}

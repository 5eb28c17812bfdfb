/** The outcome of one script run. */
export type Outcome = Success | Failure

interface Ended {
  /** Lines of console.log, within the limits. */
  log: string[]
  durationMs: number
  /**
   * Present if a further run with the same context may have another outcome, because the script has read the clock, used random numbers or
   * called host functions.
   */
  varies?: true
}

export interface Success extends Ended {
  ok: true
  /** JSON text of the result; `null` if the script returned nothing. */
  json: string
  /** The context members to keep, as JSON texts. */
  kept: Record<string, string>
}

export interface Failure extends Ended {
  ok: false
  reason: Reason
  message: string
  /** Position in the user's text, counted from 1. Absent if the failure has no position. */
  line?: number
  column?: number
}

/**
 * SYNTAX: the text does not parse. ERROR: the script threw. RESULT: the result cannot be written as JSON or is too large. TIMEOUT: too many
 * steps or too much time. MEMORY: too much memory. INPUT: the context is not JSON or is too large. CRASH: the sandbox itself failed.
 */
export type Reason = 'SYNTAX' | 'ERROR' | 'RESULT' | 'TIMEOUT' | 'MEMORY' | 'INPUT' | 'CRASH'

/** The outcome of a check. */
export type Checked =
  | { ok: true; hasOwnReturn: boolean }
  /** `hasOwnReturn` is absent if the text is not JavaScript. It is present if only the engine of the sandbox rejects the script. */
  | ({ ok: false; hasOwnReturn?: boolean } & FailureText)

export type FailureText = Pick<Failure, 'reason' | 'message'> & { line?: number; column?: number }

/** Returns the failure as text for users: "line 3, column 14: TypeError: …". */
export const failureText = ({ message, line, column }: FailureText) =>
  line === undefined ? message : `line ${line}, column ${column}: ${message}`

/** The reason of a failure by the first character of the guest's reply. */
const reasons: Record<string, Reason> = { '?': 'SYNTAX', '!': 'ERROR', '#': 'RESULT' }
/** Number of lines before the user's text, which starts on the second line of the compiled text. */
const linesBefore = 1

/** Parses a failure that the guest describes. A script can forge all of it, so only texts and positions within the script are used. */
export function readFailure(reply: string | undefined, script: string, maxLength: number): FailureText {
  if (reply === undefined) return { reason: 'MEMORY', message: 'the script used too much memory' }
  const mark = reply[0]!
  if (mark === '>') return { reason: 'RESULT', message: `the result has more than ${maxLength} bytes of JSON` }
  const scriptError = parseObject(reply.slice(1))
  const reason = reasons[mark]
  if (!scriptError || !reason) return { reason: 'ERROR', message: 'the script failed without a readable reason' }
  if (scriptError.name === 'InternalError' && scriptError.message === 'out of memory')
    return {
      reason: 'MEMORY',
      message: 'the script used too much memory',
      ...positionOf(scriptError.stack, script, false),
    }
  return { reason, message: messageOf(scriptError), ...positionOf(scriptError.stack, script, reason === 'SYNTAX') }
}

function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function messageOf({ name, message, thrown }: Record<string, unknown>): string {
  if (typeof thrown === 'string') return `the script threw ${thrown}`
  const text = typeof message === 'string' && message !== '' ? message : 'no message'
  return typeof name === 'string' && name !== 'Error' && name !== 'SyntaxError' ? `${name}: ${text}` : text
}

function positionOf(
  stack: unknown,
  script: string,
  mayBeIncomplete: boolean,
): { line: number; column: number } | undefined {
  const found = typeof stack === 'string' ? /\bscript:(\d{1,6}):(\d{1,6})/.exec(stack) : null
  if (!found) return undefined
  const line = Number(found[1]) - linesBefore
  const lines = script.split('\n')
  if (line >= 1 && line <= lines.length) return { line, column: Number(found[2]) }
  // If a script is incomplete, the error is after its last line, in the text that the sandbox adds.
  return mayBeIncomplete && line > lines.length ? { line: lines.length, column: lines.at(-1)!.length + 1 } : undefined
}

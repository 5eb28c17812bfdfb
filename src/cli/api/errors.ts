/** Failures of commands: the printed text, and the exit code. */
import { WaypostError } from '../../../sdk/src/errors.ts'
import { visible } from './visible.ts'

export const exitCodes = {
  failed: 1,
  usage: 2,
  missing: 3,
  notAllowed: 4,
  conflict: 5,
  unreachable: 6,
  interrupted: 130,
} as const

/** A failure that is explained in one sentence, without a stack trace. */
export class CommandError extends Error {
  override readonly name = 'CommandError'
  readonly exitCode: number
  /** Describes how the command is used. Printed after the message. */
  readonly usage: string | undefined
  constructor(message: string, exitCode: number = exitCodes.failed, usage?: string) {
    super(message)
    this.exitCode = exitCode
    this.usage = usage
  }
}

export const usageError = (message: string, usage?: string) => new CommandError(message, exitCodes.usage, usage)

/** The failure of a command that the user has ended with Ctrl-C. `done` says what the command has done until then. */
export const interruption = (done: string) => new CommandError(`interrupted: ${done}`, exitCodes.interrupted)

const codesByStatus: Record<number, number> = {
  401: exitCodes.notAllowed,
  403: exitCodes.notAllowed,
  404: exitCodes.missing,
  409: exitCodes.conflict,
  412: exitCodes.conflict,
}
const unreachableCodes = new Set(['unreachable', 'interrupted', 'timeout'])

export function exitCodeOf(error: unknown): number {
  if (error instanceof CommandError) return error.exitCode
  if (!(error instanceof WaypostError)) return exitCodes.failed
  if (error.code === 'login_failed') return exitCodes.notAllowed
  if (isNotOfPlatform(error)) return exitCodes.failed
  if (error.status !== undefined) return codesByStatus[error.status] ?? exitCodes.failed
  if (error.code === 'invalid_argument') return exitCodes.usage
  return unreachableCodes.has(error.code) ? exitCodes.unreachable : exitCodes.failed
}

/** Returns whether a server other than the platform sent this 404. A 404 of the platform has a JSON body. */
const isNotOfPlatform = ({ status, body }: WaypostError) => status === 404 && typeof body === 'string'

/** Returns the lines that explain a failure: the message, the field, the correlation id, what to do next, and the usage of the command. */
export function explain(error: Error): string {
  const lines = [`waypost: ${shortened(visible(error.message))}`]
  if (error instanceof WaypostError) {
    const { status, field, correlationId, retryAfterSeconds } = error
    if (field !== undefined && !error.message.includes(field)) lines.push(`  field: ${visible(field)}`)
    if (correlationId !== undefined) lines.push(`  correlation id: ${visible(correlationId)}`)
    const next = isNotOfPlatform(error)
      ? checkAddress
      : isUntrusted(error.cause)
        ? trustRoot
        : nextStep(status, error.code, retryAfterSeconds)
    if (next !== undefined) lines.push(`  next: ${next}`)
  }
  if (error instanceof CommandError && error.usage !== undefined) lines.push('', error.usage.trimEnd())
  return `${lines.join('\n')}\n`
}

/** Maximum length of a message. A server can send a text of any length as the reason of an error. */
const messageMax = 4000
const shortened = (text: string) => (text.length <= messageMax ? text : `${text.slice(0, messageMax)}…`)

const trustRoot = 'set NODE_EXTRA_CA_CERTS to a file with the root certificate of the platform'

/** Returns whether a connection failed because the issuer of the certificate is not known. */
function isUntrusted(cause: unknown): boolean {
  const code = String((cause as { code?: unknown } | undefined)?.code)
  return /SELF_SIGNED_CERT|^UNABLE_TO_(VERIFY_LEAF_SIGNATURE|GET_ISSUER_CERT_LOCALLY)$/.test(code)
}

const checkAddress = 'check the address with waypost context show'

function nextStep(status: number | undefined, code: string, seconds: number | undefined): string | undefined {
  if (status === 401 || code === 'login_failed') return 'waypost login'
  if (status === 403) return 'waypost whoami shows what you may do'
  if (status === 412) return 'read the object again, and repeat the change with its new ETag'
  if (status === 429 || status === 503) return seconds === undefined ? 'try again' : `try again in ${seconds} s`
  if (code === 'unreachable') return checkAddress
  return undefined
}

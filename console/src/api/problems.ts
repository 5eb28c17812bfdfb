/** Turns errors of API calls into sentences. */
import { WaypostError } from '../../../sdk/src/errors.ts'
import type { Problem } from '../parts/problem.ts'
import { ProviderError } from './provider.ts'
import { SessionEndedError } from './session.ts'
import { texts } from './texts.ts'

export function problemOf(error: unknown): Problem {
  if (error instanceof WaypostError) {
    const { status, code, field, correlationId, retryAfterSeconds } = error
    const message = local[code] ?? byStatus(status) ?? messageOf(error)
    const more = { missingScope: scopeIn(error), violations: violationsIn(error) }
    return { message, code, status, field, correlationId, retryAfterSeconds, ...more }
  }
  if (error instanceof SessionEndedError) return { message: error.message, code: 'session_ended', status: 401 }
  if (error instanceof ProviderError)
    return {
      message: byStatus(error.status) ?? error.message,
      code: `http_${error.status}`,
      status: error.status,
      retryAfterSeconds: error.retryAfterSeconds,
    }
  if (error instanceof TypeError && /fetch|network|load/i.test(error.message))
    return { message: texts.unreachable, code: 'unreachable' }
  return { message: error instanceof Error ? error.message : String(error), code: 'unexpected' }
}

/**
 * Returns the message of the error for people who use a form: without the name of the operation, and with the description of a field
 * instead of the regular expression that the value does not match.
 */
function messageOf({ message, code, operation, field }: WaypostError): string {
  const start = `${operation}: ${field} `
  if (code === 'invalid_argument' && message.startsWith(start)) return texts.badValue(message.slice(start.length))
  return message.replace(
    /(?:^[\w.[\]]+: )?expected text that matches .*? \((?=[A-Z])(.*)\)$/s,
    (_, described: string) => texts.notPossible(described.replaceAll('`', '')),
  )
}

const local: Record<string, string> = {
  unreachable: texts.unreachable,
  interrupted: texts.interrupted,
  timeout: texts.timeout,
}

/** Returns a text for 429 and 503, because the message of the platform would not help a user; undefined for other statuses. */
const byStatus = (status: number | undefined) =>
  status === 429 ? texts.tooMany : status === 503 ? texts.unavailable : undefined

/** Returns the missing scope, which the text of a 403 names. */
const scopeIn = ({ status, message }: WaypostError) =>
  status === 403 ? /\b([a-z][\w-]*(?::[\w-]+)+)\b/.exec(message)?.[1] : undefined

/** Returns whether the same request can succeed later. */
export const isTemporary = ({ code, status }: Problem) =>
  status === 429 ||
  status === 503 ||
  status === 502 ||
  status === 504 ||
  ['unreachable', 'interrupted', 'timeout'].includes(code)

/** Returns the violations in a response about a value that violates its JSON schema. */
function violationsIn({ body }: WaypostError): Problem['violations'] {
  const { errors } = (body ?? {}) as { errors?: unknown }
  if (!Array.isArray(errors)) return undefined
  return errors.flatMap((one: { path?: unknown; message?: unknown } | null) =>
    typeof one?.path === 'string' && typeof one.message === 'string' ? [{ path: one.path, message: one.message }] : [],
  )
}

/** Turns error responses and broken connections into errors. */
import { type ErrorDetails, WaypostError } from './errors.ts'
import { retryAfterOf } from './retry.ts'
import type { Running } from './running.ts'

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters must not reach a terminal
export const excerptOf = (text: string) => text.slice(0, 100).replace(/[\u0000-\u001f\u007f-\u009f]+/g, ' ')

/** Returns the error of a response. The body may be something other than JSON. */
export async function errorOf({ operation, attempts }: Running, response: Response): Promise<WaypostError> {
  const { status, headers } = response
  const header = (name: string) => headers.get(name) ?? undefined
  const details: ErrorDetails = {
    status: response.type === 'opaqueredirect' ? undefined : status,
    operation: operation.name,
    correlationId: header('x-correlation-id'),
    attempts,
    retryAfterSeconds: retryAfterOf(headers.get('retry-after'), Date.now()),
  }
  if (response.type === 'opaqueredirect' || (status >= 300 && status < 400)) {
    const target = header('location')
    await response.body?.cancel()
    const text = `The server redirects ${operation.name}${target === undefined ? '' : ` to ${excerptOf(target)}`}; redirects are not followed`
    return new WaypostError(text, { ...details, code: 'redirected' })
  }
  const text = await response.text()
  const body = jsonOrUndefined(text)
  // Errors of device resources have the field `reasonPhrase`.
  const { message, error, error_description: description, reasonPhrase } = (body ?? {}) as Record<string, unknown>
  const reason = [message, description, error, reasonPhrase].find((one) => typeof one === 'string') as
    | string
    | undefined
  const field = header('x-waypost-field')
  const excerpt = text === '' ? '' : `: ${excerptOf(text)}`
  return new WaypostError(reason ?? `${operation.name} failed with status ${status}${excerpt}`, {
    ...details,
    code: header('x-waypost-error'),
    field: field === undefined ? undefined : decoded(field),
    body: body ?? text,
  })
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

function jsonOrUndefined(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Returns the error of a request that got no complete response. */
export function failureOf(
  { operation, options, attempts, transport }: Running,
  signal: AbortSignal,
  cause: unknown,
  code: 'unreachable' | 'interrupted',
): WaypostError {
  if (cause instanceof WaypostError) return cause
  const details = { operation: operation.name, attempts, cause }
  if (options.signal?.aborted)
    return new WaypostError(`${operation.name} was canceled`, { ...details, code: 'aborted' })
  if (signal.aborted)
    return new WaypostError(`${operation.name} got no answer within its time limit`, { ...details, code: 'timeout' })
  const reason = reasonOf(cause)
  return code === 'unreachable'
    ? new WaypostError(`${transport.url} is not reachable: ${reason}`, { ...details, code })
    : new WaypostError(`The connection broke during the answer to ${operation.name}: ${reason}`, { ...details, code })
}

function reasonOf(cause: unknown): string {
  const { message, cause: inner, code } = (cause ?? {}) as { message?: string; cause?: unknown; code?: string }
  if (inner !== undefined) return reasonOf(inner)
  // The message of OpenSSL contains names of its source files, so a plain text replaces it.
  if (message?.includes('wrong version number')) return 'the server does not use TLS (https)'
  return message || code || String(cause)
}

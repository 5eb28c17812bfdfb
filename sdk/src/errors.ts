/** The error that the SDK throws. */

/**
 * Codes of failures that the client finds itself. All other codes come from the platform, except `http_…` for an error response without a
 * code, and `queue_full` of a device.
 */
export type LocalCode =
  | 'unreachable'
  | 'interrupted'
  | 'timeout'
  | 'aborted'
  | 'redirected'
  | 'unreadable'
  | 'invalid_argument'
  | 'login_failed'

export interface ErrorDetails {
  status?: number | undefined
  code?: string | undefined
  field?: string | undefined
  correlationId?: string | undefined
  operation?: string | undefined
  attempts?: number | undefined
  retryAfterSeconds?: number | undefined
  body?: unknown
  cause?: unknown
}

/** A call that failed: the platform rejected it, or no response was received. */
export class WaypostError extends Error {
  override readonly name = 'WaypostError'
  /** Status of the response; undefined if there was no response. */
  readonly status: number | undefined
  /** Code of the error, such as `not_found`, or a code of the SDK such as `timeout`. */
  readonly code: string
  /** The name of the invalid field or parameter. */
  readonly field: string | undefined
  /** Correlation id; search the log of the platform for it to find the request. */
  readonly correlationId: string | undefined
  /** Name of the operation, such as `endpoints.get`. */
  readonly operation: string | undefined
  /** How often the request was sent. */
  readonly attempts: number
  readonly retryAfterSeconds: number | undefined
  /** The body of the response. */
  readonly body: unknown

  constructor(message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause })
    this.status = details.status
    this.code = details.code ?? (details.status === undefined ? 'unreachable' : `http_${details.status}`)
    this.field = details.field
    this.correlationId = details.correlationId
    this.operation = details.operation
    this.attempts = details.attempts ?? 1
    this.retryAfterSeconds = details.retryAfterSeconds
    this.body = details.body
  }
}

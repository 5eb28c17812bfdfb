/**
 * The error model of the platform. The error format of an API determines the body of the response (error-formats.ts). Every error is
 * declared with `defineError`, so that the catalogue is complete.
 */
export class PlatformError extends Error {
  override readonly name = 'PlatformError'
  readonly code: string
  readonly status: number
  /** Problems by field: `{ field: [message] }`. */
  readonly fields: Record<string, string[]> | undefined
  /** Further machine-readable data that the error format may show. */
  readonly details: Record<string, unknown> | undefined
  readonly headers: Record<string, string> | undefined

  constructor(definition: ErrorDefinition, message: string, extra: ErrorExtra = {}) {
    super(message)
    this.code = definition.code
    this.status = definition.status
    this.fields = extra.fields
    this.details = extra.details
    this.headers = definition.headers ? { ...definition.headers, ...extra.headers } : extra.headers
  }
}

export interface ErrorDefinition {
  code: string
  status: number
  template: string
  /** Headers of every response with this error. */
  headers?: Record<string, string> | undefined
}

export interface ErrorExtra {
  fields?: Record<string, string[]>
  details?: Record<string, unknown>
  headers?: Record<string, string>
}

/** All declared errors, for the generated reference. */
export const errorCatalogue = new Map<string, ErrorDefinition>()

type Values = Record<string, string | number>

/**
 * Declares an error and returns a function that creates it, for example `defineError<{ token: string }>('token_taken', 409, 'Token {token}
 * already exists')`.
 */
export function defineError<V extends Values = Record<never, never>>(
  code: string,
  status: number,
  template: string,
  headers?: Record<string, string>,
) {
  if (errorCatalogue.has(code)) throw new Error(`error ${code} is declared twice`)
  const definition: ErrorDefinition = { code, status, template, headers }
  errorCatalogue.set(code, definition)
  const create = (
    ...[values, extra]: keyof V extends never ? [values?: V, extra?: ErrorExtra] : [values: V, extra?: ErrorExtra]
  ) => new PlatformError(definition, fillTemplate(template, values), extra)
  return Object.assign(create, { is: (error: unknown) => error instanceof PlatformError && error.code === code })
}

const fillTemplate = (template: string, values: Values | undefined) =>
  template.replace(/\{(\w+)\}/g, (_, key: string) => String(values?.[key] ?? `{${key}}`))

// The following errors are thrown by the kernel itself.
export const InvalidRequest = defineError<{ problem: string }>('invalid_request', 400, '{problem}')
/** Creates a 400 that names the field and describes the problem. */
export const invalidField = (name: string, problem: string) =>
  InvalidRequest({ problem: `${name}: ${problem}` }, { fields: { [name]: [problem] } })
export const Unauthenticated = defineError(
  'unauthenticated',
  401,
  'A valid access token or API key is required: the request has no token or key, or its token or key is invalid, expired or revoked',
)
export const Forbidden = defineError<{ scope: string; resource: string }>(
  'forbidden',
  403,
  'The caller does not hold the scope {scope} on {resource}',
)
export const NotFound = defineError<{ what: string }>('not_found', 404, '{what} was not found')
export const NoSuchRoute = defineError<{ method: string; path: string }>(
  'no_such_route',
  404,
  'There is no operation {method} {path}; /docs lists all operations',
)
export const PreconditionFailed = defineError(
  'precondition_failed',
  412,
  'The object has changed since it was read: If-Match does not match its ETag; read the object again, then repeat the change',
)
export const BodyTooLarge = defineError<{ limit: number }>(
  'body_too_large',
  413,
  'The body is larger than {limit} bytes',
)
export const BodyInterrupted = defineError(
  'body_interrupted',
  400,
  'The body ended before it was complete; the body was discarded, send it again',
)
export const BodyStalled = defineError<{ seconds: number }>(
  'body_stalled',
  408,
  'No more of the body arrived for {seconds} s; the body was discarded, send it again',
)
export const NotLinkable = defineError(
  'not_linkable',
  400,
  'path: there is no link for this address; links are for files, blobs and the files of exports',
)
export const NoStreamForScripts = defineError(
  'no_stream_for_scripts',
  400,
  'Scripts cannot open streams; read the current objects instead',
)
export const UnsupportedMediaType = defineError<{ given: string; accepted: string }>(
  'unsupported_media_type',
  415,
  'Content-Type {given} is not supported here; send {accepted}',
)
export const UnsupportedEncoding = defineError<{ given: string }>(
  'unsupported_content_encoding',
  415,
  'Content-Encoding {given} is not supported; send the body uncompressed',
)
export const TooManyRequests = defineError<{ seconds: number }>(
  'too_many_requests',
  429,
  'Too many requests; try again in {seconds} s',
)
export const DailyQuotaExceeded = defineError<{ quota: number; seconds: number }>(
  'daily_quota_exceeded',
  429,
  'The tenant has stored its quota of {quota} bytes for today (UTC); try again in {seconds} s',
)
export const StorageLow = defineError(
  'storage_low',
  507,
  'The platform has too little space left on a disk; nothing was changed, tell the operator of the platform',
  { 'retry-after': '60' },
)
/** For devices, `StorageLow` becomes 503: a message that gets 503 is not acknowledged, so the device sends it again. */
export const StorageLowForDevices = defineError(
  'storage_low_for_devices',
  503,
  'The platform has too little space left and cannot store this right now, try again',
  { 'retry-after': '60' },
)
export const InternalError = defineError<{ correlationId: string }>(
  'internal',
  500,
  'Internal error; the log of the platform has the details under the correlation id {correlationId}',
)
/**
 * The reason with which `ctx.signal` aborts when the caller closes its connection. The other reasons are `DeadlinePassed` and
 * `ProcessStopping`. Status 499 is never sent, because the connection is closed.
 */
export const CallerDisconnected = defineError(
  'caller_gone',
  499,
  'The caller closed the connection before the response',
)
export const DeadlinePassed = defineError('deadline_passed', 504, 'The operation did not finish before its deadline')
export const ProcessStopping = defineError('process_stopping', 503, 'This node is stopping; try again', {
  // A node needs about two seconds to restart.
  'retry-after': '2',
})
export const InsufficientResources = defineError(
  'out_of_means',
  503,
  'The database has no space left; nothing was changed, tell the operator of the platform',
)
export const DatabaseTimeout = defineError('overdue', 503, 'The database did not finish in time; try again')
export const DatabaseUnavailable = defineError(
  'unavailable',
  503,
  'The database is not reachable at the moment; try again',
)

/** Responds to failed requests, in the error format of their root. */
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { isDatabaseUnavailable, isExhausted, isStatementCanceled, isTenantMissing } from '../db.ts'
import { type ErrorFormat, messageFormat } from '../error-formats.ts'
import {
  BodyInterrupted,
  BodyTooLarge,
  DatabaseTimeout,
  DatabaseUnavailable,
  InsufficientResources,
  InternalError,
  InvalidRequest,
  invalidField,
  NoSuchRoute,
  NotFound,
  PlatformError,
  TooManyRequests,
  UnsupportedMediaType,
} from '../errors.ts'
import type { Log } from '../log.ts'
import { bodyLimitBytes } from './body.ts'
import { otherServerFailed, requestFailed } from './log-messages.ts'
import { abandonBody } from './streaming.ts'

export const partLengthMax = 2048

export const tooManyRequests = (seconds: number) =>
  TooManyRequests({ seconds }, { headers: { 'retry-after': String(seconds) } })

export const noSuchRoute = ({ method, url }: FastifyRequest) => NoSuchRoute({ method, path: url.split('?')[0]! })

/** Returns a 400 for the first parameter that contains NUL. Called only if the URL contains `%00`. */
export function nulError(request: FastifyRequest): PlatformError | undefined {
  const parts = { ...(request.params as object), ...(request.query as object) }
  const [name] = Object.entries(parts).find(([, value]) => JSON.stringify(value).includes('\\u0000')) ?? []
  return name === undefined ? undefined : invalidField(name, 'expected text without NUL')
}

export function respondWithError(
  log: Log,
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
  errorFormat: ErrorFormat,
) {
  const failure = toPlatformError(error, request)
  if (failure.status >= 500) {
    const { id: correlationId, method, url } = request
    const logFailure = isOfOtherServer(failure) ? otherServerFailed : requestFailed
    logFailure(log, { err: error, correlationId, method, path: url.split('?')[0] })
  }
  // After a body that is too large, Fastify would close the connection immediately, and a client that is still sending could lose the
  // response. Without the header `Connection: close`, the connection stays open.
  if (isTooLarge(error) && !abandonBody(request.raw)) reply.removeHeader('connection')
  sendError(failure, errorFormat, reply)
}

/** Returns whether the error comes from a server that the user has configured, and not from the platform. */
const isOfOtherServer = ({ status }: PlatformError) => status === 502

const isTooLarge = (error: unknown) => (error as FastifyError).code === 'FST_ERR_CTP_BODY_TOO_LARGE'

/**
 * Response header with the error's code in the catalogue. Response bodies do not contain the code, because the specification fixes their
 * fields.
 */
export const errorCodeHeader = 'x-waypost-error'
/** Response header with the percent-encoded name of the wrong field. */
export const errorFieldHeader = 'x-waypost-field'

export function sendError(error: PlatformError, errorFormat: ErrorFormat, reply: FastifyReply) {
  if (error.headers) reply.headers(error.headers)
  const [field] = Object.keys(error.fields ?? {})
  if (field !== undefined) reply.header(errorFieldHeader, headerText(field))
  reply
    .code(error.status)
    .header(errorCodeHeader, error.code)
    .type('application/json; charset=utf-8')
    .serializer((body: unknown) => body as string)
    .send(JSON.stringify(errorFormat.body(error)))
}

/** Encodes the name of a field for a header. The caller may have chosen the name. */
const headerText = (field: string) => encodeURIComponent(field.toWellFormed().slice(0, fieldLengthMax))
const fieldLengthMax = 200

/** Maps any thrown error to a PlatformError. */
function toPlatformError(error: unknown, request: FastifyRequest): PlatformError {
  if (error instanceof PlatformError) return error
  // The connection ended within the body. The code ECONNRESET would otherwise be read as a lost connection to the database.
  if (error === request.raw.errored) return BodyInterrupted()
  if (isTenantMissing(error)) return NotFound({ what: 'The tenant' })
  if (isStatementCanceled(error)) return DatabaseTimeout({}, { headers: { 'retry-after': '2' } })
  if (isDatabaseUnavailable(error)) return DatabaseUnavailable({}, { headers: { 'retry-after': '2' } })
  if (isExhausted(error)) return InsufficientResources({}, { headers: { 'retry-after': '60' } })
  const { code, statusCode, message } = error as FastifyError
  switch (code) {
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return UnsupportedMediaType({ given: request.headers['content-type'] ?? 'none', accepted: 'application/json' })
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return BodyTooLarge({ limit: request.routeOptions.bodyLimit ?? bodyLimitBytes })
    case 'FST_ERR_MAX_PARAM_LENGTH':
      return InvalidRequest({ problem: `a part of the address is longer than ${partLengthMax} characters` })
    default:
      if (statusCode !== undefined && statusCode >= 400 && statusCode < 500) return InvalidRequest({ problem: message })
      return InternalError({ correlationId: request.id })
  }
}

/** The error formats by root, for requests that fail before a route is found. */
export function createFormatsByRoot() {
  /** The value is null if the APIs of a root have different formats. */
  const formats = new Map<string, ErrorFormat | null>()
  return {
    add(root: string, format: ErrorFormat) {
      formats.set(root, formats.has(root) && formats.get(root) !== format ? null : format)
    },
    at(url: string): ErrorFormat {
      const roots = [...formats.keys()].filter((root) => url.startsWith(`${root}/`))
      const [longest] = roots.sort((a, b) => b.length - a.length)
      return formats.get(longest ?? '') ?? messageFormat
    },
  }
}

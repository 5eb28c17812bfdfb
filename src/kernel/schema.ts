/**
 * Shapes. One TypeBox shape is the type, the validator and the OpenAPI text.
 * Every text that a caller can send has a greatest length: use these instead of a bare Type.String.
 */
import type { Static, TSchema } from 'typebox'
import { Type } from './shapes.ts'

export { type Static, type TSchema, Type }

/** Human text; 255 characters unless told. PostgreSQL text cannot hold NUL, which the body reader refuses. */
export const Text = (options: { maxLength?: number; minLength?: number; description?: string } = {}) =>
  Type.String({ maxLength: 255, ...options })

/** Non-empty text. */
export const Name = (options: { maxLength?: number; pattern?: string; description?: string } = {}) =>
  Type.String({ minLength: 1, maxLength: 255, ...options })

/** A moment in answers: a Date inside, ISO 8601 text outside. */
export const DateTime = (options: { description?: string } = {}) =>
  Type.Unsafe<Date>({ type: 'string', format: 'date-time', ...options })

/**
 * The format alone also takes what PostgreSQL or Date refuse or move to another era: the year 0000, leap seconds, and
 * zones further than 14 hours away.
 */
const keepable = '^(?!0000|0001-01-01)[^:]+:[0-9]{2}:[0-5][0-9](\\.[0-9]+)?([Zz]|[+-](0[0-9]|1[0-4])(:?[0-5][0-9])?)$'

/** A moment in requests: ISO 8601 text. */
export const DateTimeText = (options: { description?: string } = {}) =>
  Type.String({ format: 'date-time', pattern: keepable, maxLength: 40, ...options })

/** Any JSON value, kept as it came. */
export const AnyJson = (options: { title?: string; description?: string; examples?: unknown[] } = {}) =>
  Type.Unsafe<unknown>({ ...options })

/** A JSON object with keys of the caller's choosing. */
export const JsonObject = (options: { title?: string; description?: string; examples?: unknown[] } = {}) =>
  Type.Unsafe<Record<string, unknown>>({ type: 'object', additionalProperties: true, ...options })

/** An identifier that PostgreSQL counts: fits `integer`. */
export const SerialId = () => Type.Integer({ minimum: 1, maximum: 2_147_483_647 })

/** `status=a,b&status=c`, with or without spaces: read with `listOf`. */
export const TextList = (options: { description?: string } = {}) =>
  Type.Union(
    [Type.String({ maxLength: 8192 }), Type.Array(Type.String({ maxLength: 8192 }), { maxItems: 1000 })],
    options,
  )

/** The items of a TextList parameter; undefined when the parameter is absent. */
export function listOf(value: string | string[] | undefined): string[] | undefined {
  if (value === undefined) return undefined
  return [value]
    .flat()
    .flatMap((part) => part.split(','))
    .map((part) => part.trim())
    .filter((part) => part !== '')
}

/** An optional field with a default, where the reader fills it in: its type says that it is there (kernel/configuration.ts). */
export const defaulted = <T extends TSchema>(shape: T): T => Type.Optional(shape) as unknown as T

/** Nothing in the body: 204, 304. */
export const Empty = (description = 'No content') => Type.Null({ description })

/** Bytes that stream: as the body of a request (`streamBody`) in the pieces in which they arrive, as an answer unserialized. */
export const Bytes = (options: { description?: string } = {}) =>
  Type.Unsafe<AsyncIterable<Uint8Array>>({ type: 'string', format: 'binary', ...options })

export const isBytes = (shape: TSchema) => (shape as { format?: string }).format === 'binary'

/** Server-sent events, see `http.events`. */
export const Events = (options: { description?: string; examples?: string[] } = {}) =>
  Type.Unsafe<never>({ type: 'string', contentMediaType: 'text/event-stream', ...options })

/** Of a body or answer of this shape. */
export const mediaTypeOf = (shape: TSchema): string =>
  isBytes(shape)
    ? 'application/octet-stream'
    : ((shape as { contentMediaType?: string }).contentMediaType ?? 'application/json')

/**
 * The shapes of one operation. A shape with a `title` is written once into the API reference, under that name.
 * `response` is not optional: what is not declared does not leave.
 */
export interface OperationSchema {
  /** `noun.verb`, unique in the platform (http/operation-names.ts): `endpoints.metadata.patch`. */
  name: string
  /** One line that starts with a verb: `List endpoints`. */
  summary: string
  /** The name of the same operation under the address that new clients use. */
  aliasOf?: string
  description?: string
  params?: TSchema
  query?: TSchema
  headers?: TSchema
  body?: TSchema
  /** For the reference, where the body is not application/json. */
  bodyType?: string
  response: Record<number, TSchema>
  /** For the reference: other content types of a successful answer, by `Accept`. */
  alsoAs?: readonly string[]
  /** Failures of its own beside the common ones (400, 401, 403, 404, 413, 415, 429, 503): 409, 412, … */
  fails?: readonly number[]
}

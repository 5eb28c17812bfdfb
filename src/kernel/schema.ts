/**
 * Shapes: one TypeBox shape is the type, the validator and the OpenAPI schema. Every text that a caller can send needs a maximum length, so
 * use these functions instead of a bare Type.String.
 */
import type { Static, TSchema } from 'typebox'
import { Type } from './shapes.ts'
import { millisecondsMax, timePattern, timeText } from './times.ts'

export { type Static, type TSchema, Type }

/** Text for people, by default up to 255 characters. The body parser rejects NUL, which PostgreSQL text cannot store. */
export const Text = (options: { maxLength?: number; minLength?: number; description?: string } = {}) =>
  Type.String({ maxLength: 255, ...options })

/** Non-empty text. */
export const Name = (options: { maxLength?: number; pattern?: string; description?: string } = {}) =>
  Type.String({ minLength: 1, maxLength: 255, ...options })

/** A point in time in responses. It is a Date in the code and ISO 8601 text in JSON. */
export const DateTime = (options: { description?: string } = {}) =>
  Type.Unsafe<Date>({ type: 'string', format: 'date-time', ...options })

/**
 * Excludes texts that the format accepts but that PostgreSQL or Date would reject or change: the year 0000, leap seconds, and time zones of
 * more than 14 hours.
 */
const storable = '^(?!0000|0001-01-01)[^:]+:[0-9]{2}:[0-5][0-9](\\.[0-9]+)?([Zz]|[+-](0[0-9]|1[0-4])(:?[0-5][0-9])?)$'

/** A point in time in requests: ISO 8601 text. */
export const DateTimeText = (options: { description?: string } = {}) =>
  Type.String({ format: 'date-time', pattern: storable, maxLength: 40, ...options })

/** A point in time in requests, in every form that document 5, 10.7 allows. `timeOf` parses it. */
export const RequestTime = ({ description }: { description: string }) =>
  Type.String({ pattern: timePattern, maxLength: 40, description: `${description} ${timeText}` })

/** A point in time in JSON bodies: a `RequestTime`, or milliseconds since 1970 as a number. */
export const BodyTime = ({ description }: { description: string }) =>
  Type.Union(
    [
      Type.String({ pattern: timePattern, maxLength: 40 }),
      Type.Integer({ minimum: -millisecondsMax, maximum: millisecondsMax }),
    ],
    { description: `${description} ${timeText}` },
  )

/** Any JSON value; stored unchanged. */
export const AnyJson = (options: { title?: string; description?: string; examples?: unknown[] } = {}) =>
  Type.Unsafe<unknown>({ ...options })

/** A JSON object with any keys. */
export const JsonObject = (options: { title?: string; description?: string; examples?: unknown[] } = {}) =>
  Type.Unsafe<Record<string, unknown>>({ type: 'object', additionalProperties: true, ...options })

/** An id from a PostgreSQL sequence that fits into `integer`. */
export const SerialId = (options: { description?: string } = {}) =>
  Type.Integer({ minimum: 1, maximum: 2_147_483_647, ...options })

/** A list in a query, `status=a,b&status=c`, with or without spaces. `listOf` parses it. */
export const TextList = (options: { description?: string } = {}) =>
  Type.Union(
    [Type.String({ maxLength: 8192 }), Type.Array(Type.String({ maxLength: 8192 }), { maxItems: 1000 })],
    options,
  )

/** Returns the items of a TextList parameter; undefined if it is missing. */
export function listOf(value: string | string[] | undefined): string[] | undefined {
  if (value === undefined) return undefined
  if (typeof value === 'string' && value !== '' && !value.includes(',')) {
    const item = value.trim()
    return item === '' ? [] : [item]
  }
  return [value]
    .flat()
    .flatMap((part) => part.split(','))
    .map((part) => part.trim())
    .filter((part) => part !== '')
}

/** Returns the items of a TextList parameter that narrows a list. Returns undefined if it is missing or empty, which means all items. */
export function narrowingListOf(value: string | string[] | undefined): string[] | undefined {
  const items = listOf(value)
  return items && items.length > 0 ? items : undefined
}

/**
 * An optional field with a default. `readConfiguration` fills in the default, so the type of the field is not optional (configuration.ts).
 */
export const defaulted = <T extends TSchema>(shape: T): T => Type.Optional(shape) as unknown as T

/** A response without a body: 204, 304. */
export const Empty = (description?: string) => Type.Null(description === undefined ? {} : { description })

const declaredKey = '~declared'

/**
 * Returns the shape with another description for one use: a field, a parameter or a response. The declared shape keeps its own description.
 */
export const describedAs = <T extends object>(shape: T, description: string): T => ({
  ...shape,
  description,
  [declaredKey]: (asDeclared(shape) as { description?: string }).description ?? '',
})

export const isDescribedAs = (shape: object) => declaredKey in shape

/** Returns the shape with the description that it was declared with. */
export function asDeclared<T extends object>(shape: T): T {
  if (!isDescribedAs(shape)) return shape
  const { [declaredKey]: description, ...rest } = shape as T & { [declaredKey]: string }
  return { ...rest, description: description === '' ? undefined : description } as unknown as T
}

/** A stream of bytes. As a request body (`streamBody`) it has the pieces in which they arrive; as a response it is sent unchanged. */
export const Bytes = (options: { description?: string } = {}) =>
  Type.Unsafe<AsyncIterable<Uint8Array>>({ type: 'string', format: 'binary', ...options })

export const isBytes = (shape: TSchema) => (shape as { format?: string }).format === 'binary'

/** Server-sent events, see `http.events`. */
export const Events = (options: { description?: string; examples?: string[] } = {}) =>
  Type.Unsafe<never>({ type: 'string', contentMediaType: 'text/event-stream', ...options })

/** Returns the media type for a body of this shape. */
export const mediaTypeOf = (shape: TSchema): string =>
  isBytes(shape)
    ? 'application/octet-stream'
    : ((shape as { contentMediaType?: string }).contentMediaType ?? 'application/json')

/** The cause of 412, for operations that support `If-Match`. */
export const ifMatchFails = {
  412: 'The object has changed since the caller read it: `If-Match` does not hold its current ETag. Nothing was changed.',
}

/**
 * The shapes of one operation. A shape with a `title` is written only once into the API reference, under that name. Fields that `response`
 * does not declare are not sent.
 */
export interface OperationSchema {
  /** `noun.verb`, unique in the platform (http/operation-names.ts): `endpoints.metadata.patch`. */
  name: string
  /** One line that starts with a verb in the imperative: `List endpoints`. */
  summary: string
  /** If this operation has an old path: the name of the same operation under the path that new clients use. */
  aliasOf?: string
  description?: string
  params?: TSchema
  query?: TSchema
  headers?: TSchema
  body?: TSchema
  /** Media type of the body in the reference, if it is not application/json. */
  bodyType?: string
  response: Record<number, TSchema>
  /** Other media types of a successful response in the reference, chosen by `Accept`. */
  alsoAs?: readonly string[]
  /** Error statuses with their causes, for the reference. Statuses that most operations share have a common cause. */
  fails?: Readonly<Record<number, string>>
}

/** Types of calls, responses and lists. The generated operations use these types. */

/** A body of bytes. A function is called for each attempt, so that an upload can be repeated. */
export type Upload = UploadOnce | (() => UploadOnce | Promise<UploadOnce>)
export type UploadOnce =
  | string
  | Blob
  | ArrayBuffer
  | Uint8Array<ArrayBuffer>
  | ReadableStream<Uint8Array>
  | AsyncIterable<Uint8Array>

/** Bytes of a response as they arrive. */
export type Download = ReadableStream<Uint8Array<ArrayBuffer>>

/** One server-sent event. */
export interface ServerEvent {
  event: string
  data: string
  id: string | undefined
}

export interface Options {
  /** Cancels the call, its retries and the body of its response. */
  signal?: AbortSignal | undefined
  /** Time limit of the whole call with its retries. */
  timeoutMs?: number | undefined
  /** Time limit of one attempt. */
  attemptTimeoutMs?: number | undefined
  /** Maximum number of times that the request is sent. 1: no retries. */
  attempts?: number | undefined
  /** True if the write can be sent twice without harm; it is then repeated like a read. */
  repeatable?: boolean | undefined
  /**
   * ETag of the version that the caller has read. The write happens only if this version is still current; otherwise the response has
   * status 412.
   */
  ifMatch?: string | undefined
  /** ETag of the version that the caller has. If this version is still current, the response to a read has status 304. */
  ifNoneMatch?: string | undefined
  /** Another media type for the response, such as `text/csv`. The body of the response is then a stream of bytes. */
  accept?: string | undefined
  /** Correlation id of the request; the log of the platform shows it. */
  correlationId?: string | undefined
}

export interface AnswerOf<Status, Body> {
  status: Status
  body: Body
  /** Version of the object, for `ifMatch` and `ifNoneMatch`. */
  etag: string | undefined
  /** Address of a created object. */
  location: string | undefined
  correlationId: string | undefined
  headers: Headers
  /** How often the request was sent. */
  attempts: number
}

/** The responses of an operation, by status. */
export type Answers<R> = { [Status in keyof R]: AnswerOf<Status, R[Status]> }[keyof R]

/** The response if the caller already has the current version. */
export type NotModified = AnswerOf<304, undefined>
/**
 * The response if the object has changed since the caller read it. If `attempts` is above 1, the change may be the caller's own write,
 * whose response was lost.
 */
export type Changed = AnswerOf<412, undefined>

type Conditional<O> =
  | (O extends { ifNoneMatch: string } ? NotModified | Changed : never)
  | (O extends { ifMatch: string } ? Changed : never)
type Accepted<R, O> = O extends { accept: string } ? AnswerOf<keyof R, Download> : Answers<R>

/** Carries the types of an operation, for the compiler only. No value has this property. */
declare const shape: unique symbol
export interface Shaped<A, R> {
  readonly [shape]?: { arguments: A; answers: R }
}
export type ArgumentsOf<F> = F extends Shaped<infer A, unknown> ? A : never
export type AnswersOf<F> = F extends Shaped<unknown, infer R> ? R : never

export interface Call<A, R> extends Shaped<A, R> {
  <O extends Options>(args: A, options?: O): Promise<Accepted<R, O> | Conditional<O>>
}
/** A call without required arguments. */
export interface BareCall<A, R> extends Shaped<A, R> {
  <O extends Options>(args?: A, options?: O): Promise<Accepted<R, O> | Conditional<O>>
}

export type ListOptions = Omit<Options, 'ifMatch' | 'ifNoneMatch' | 'accept' | 'repeatable'>
export type ListCall<A, T> = (args: A, options?: ListOptions) => List<T>
export type BareListCall<A, T> = (args?: A, options?: ListOptions) => List<T>

export interface Page<T> {
  status: 200
  items: T[]
  /** Number of items on all pages; undefined if the operation does not count them. */
  total: number | undefined
  etag: string | undefined
  correlationId: string | undefined
  /** Whether there is a next page. */
  hasNext: boolean
  /** Reads the next page. Returns undefined if this is the last page. */
  next(): Promise<Page<T> | undefined>
}

/** A list whose pages are requested only when their items are used. */
export interface List<T> extends AsyncIterable<T> {
  /** Reads the first page, or the page that the arguments name. */
  page(): Promise<Page<T>>
  /** Reads the page, or returns a 304 if the caller already has its current version. */
  page(options: { ifNoneMatch: string }): Promise<Page<T> | NotModified>
  /** Number of items on all pages. Reading it requests one item if no page was read before. */
  readonly total: Promise<number | undefined>
  /** Yields at most this many items, and requests no more. */
  take(count: number): AsyncIterable<T>
  /** Yields the pages, one after the other. */
  pages(): AsyncIterable<Page<T>>
}

/** Describes how the list of an operation is paged (`x-paging` in the API reference). */
export interface Paging {
  style: 'offset' | 'page' | 'cursor' | 'none'
  in: 'query' | 'body'
  /** Name of the parameter with the position of a page: its offset, number or cursor. */
  position: string
  /** Name of the parameter with the number of items on a page; empty if there is none. */
  size: string
  /** Position of the first page. */
  first: number
  /** Number of items on a page if the caller sets no size; 0 means all items. */
  defaultSize: number
  /** Field of the body with the items; empty if the body is the array of items. */
  items: string
  /** Field of the body with the number of all items; empty if the header `X-Total-Count` has it. */
  total: string
  /** Field of the body with the cursor of the next page. */
  next: string
  /** Maximum number of items on a page; 0 means no maximum. */
  maxSize: number
}

/** An operation as the table describes it. */
export interface Operation {
  name: string
  method: string
  /** Path with parameters in braces; `{+name}` can have several segments. */
  path: string
  /** True if the operation only reads, so that it can be repeated. */
  reads: boolean
  /** True if the operation is called without credentials. */
  open: boolean
  /** Media type of the body. */
  bodyType: string
  answer: 'json' | 'bytes' | 'events'
  /** Arguments that are sent as headers. */
  headers: string[]
  paging: Paging | undefined
}

/** Arguments by name: parameters, and `body`. */
export type Arguments = Record<string, unknown> & { body?: unknown }
export type Answer = AnswerOf<number, unknown>

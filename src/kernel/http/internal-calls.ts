/**
 * Calls of the platform's own API inside the process, for callers that have no credentials in the request: scripts of users, and links. The
 * caller is passed outside of the request, so that no request from a network can claim to be an internal call.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { createHash } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import type { Readable } from 'node:stream'
import type { FastifyInstance, InjectOptions } from 'fastify'
import type { Caller } from '../contract.ts'
import { DatabaseUnavailable } from '../errors.ts'

export interface InternalRequest {
  method: string
  /** Path and query of the request. */
  url: string
  headers?: Record<string, string>
  body?: string
}

export interface InternalResponse {
  status: number
  headers: Record<string, string>
  body: string
}

/** Limits of a call. The caller decides how much of a response it can hold, and how long it waits. */
export interface InternalCallLimits {
  bytesMax: number
  timeoutMs: number
}

/** Thrown if the response has more bytes than the caller of `call` accepts. */
export class ResponseTooLarge extends Error {
  override readonly name = 'ResponseTooLarge'
}

/** Thrown if the response is not complete in time. */
export class ResponseTooLate extends Error {
  override readonly name = 'ResponseTooLate'
}

export interface InternalCalls {
  /** Throws ResponseTooLarge or ResponseTooLate at a limit. The rest of the response is then discarded unread. */
  call(caller: Caller, request: InternalRequest, limits: InternalCallLimits): Promise<InternalResponse>
  /**
   * Downloads a response for a link. Only operations that are declared `linkable` answer. The body is streamed; destroying the stream ends
   * the call.
   */
  download(
    caller: Caller,
    request: Pick<InternalRequest, 'url' | 'headers'>,
  ): Promise<{ status: number; headers: Record<string, string>; body: Readable }>
  /** Sets the server that answers calls. */
  connect(app: FastifyInstance): void
}

interface Call {
  caller: Caller
  isLink: boolean
  /** Aborts when the caller of `call` does not wait any more. */
  signal?: AbortSignal
}

const calls = new AsyncLocalStorage<Call>()

/** Returns the caller of an internal call; undefined for requests from a network. */
export const internalCaller = (): Caller | undefined => calls.getStore()?.caller

/** Returns whether the request comes from a link. A link can only call operations that are declared `linkable`. */
export const isLinkCall = (): boolean => calls.getStore()?.isLink ?? false

/** Destroys the response when its caller does not wait for it any more. This ends the operation, as if a client had disconnected. */
export function endWithInternalCall(response: ServerResponse) {
  calls.getStore()?.signal?.addEventListener('abort', () => response.destroy(), { once: true })
}

export function createInternalCalls(): InternalCalls {
  let server: FastifyInstance | undefined
  return {
    connect(app) {
      server = app
    },
    async call(caller, { method, url, headers = {}, body }, limits) {
      if (!server) throw DatabaseUnavailable()
      const request: InjectOptions = {
        method: method as NonNullable<InjectOptions['method']>,
        url,
        headers,
        remoteAddress: addressOfTenant(caller.tenantId),
        payloadAsStream: true,
        ...(body !== undefined && { payload: body }),
      }
      const abort = new AbortController()
      const context = { caller, isLink: false, signal: abort.signal }
      // `inject` sends the request only when its result is awaited.
      const answering = calls.run(context, async () => openedBy(await server!.inject(request)))
      return await readWithin(answering, abort, limits)
    },
    async download(caller, { url, headers = {} }) {
      if (!server) throw DatabaseUnavailable()
      const request: InjectOptions = { method: 'GET', url, headers, payloadAsStream: true }
      return await calls.run({ caller, isLink: true }, async () => openedBy(await server!.inject(request)))
    },
  }
}

interface OpenResponse {
  status: number
  headers: Record<string, string>
  body: Readable
}

function openedBy(response: Awaited<ReturnType<FastifyInstance['inject']>>): OpenResponse {
  const body = response.stream()
  // The operation closes its content when its response is destroyed.
  body.once('close', () => response.raw.res.destroy())
  return { status: response.statusCode, headers: textsOf(response.headers), body }
}

/** Reads a response to its end, or gives it up at a limit. */
async function readWithin(
  answering: Promise<OpenResponse>,
  abort: AbortController,
  { bytesMax, timeoutMs }: InternalCallLimits,
): Promise<InternalResponse> {
  async function read(): Promise<InternalResponse> {
    const { status, headers, body } = await answering
    const pieces: Buffer[] = []
    let bytes = 0
    for await (const piece of body as AsyncIterable<Buffer>) {
      bytes += piece.length
      if (bytes > bytesMax) throw new ResponseTooLarge(`the response has more than ${bytesMax} bytes`)
      pieces.push(piece)
    }
    return { status, headers, body: Buffer.concat(pieces).toString() }
  }
  const { promise: late, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => {
    reject(new ResponseTooLate(`no complete response within ${timeoutMs / 1000} s`))
    abort.abort()
  }, timeoutMs)
  const reading = read()
  reading.catch(() => {}) // After the time limit, no caller waits for this promise. Before the limit, the race throws its error.
  try {
    return await Promise.race([reading, late])
  } finally {
    clearTimeout(timer)
  }
}

/**
 * Returns the address from which the scripts of a tenant call the platform: an address of this tenant alone, in the network for local use
 * (RFC 4193). With the address of the machine, a script with wrong passwords would lock out the logins of this machine.
 */
function addressOfTenant(tenantId: string): string {
  const digits = createHash('sha256').update(tenantId).digest('hex').slice(0, 14)
  return `${`fd${digits}`.match(/.{4}/g)!.join(':')}::1`
}

const textsOf = (headers: Record<string, unknown>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]))

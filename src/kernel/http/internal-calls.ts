/**
 * Calls of the platform's own API inside the process, for callers that have no credentials in the request: scripts of users, and links. The
 * caller is passed outside of the request, so that no request from a network can claim to be an internal call.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { Readable } from 'node:stream'
import type { FastifyInstance, InjectOptions } from 'fastify'
import type { Caller } from '../contract.ts'
import { DatabaseUnavailable } from '../errors.ts'

export interface InternalRequest {
  method: string
  /** Path and query. */
  url: string
  headers?: Record<string, string>
  body?: string
}

export interface InternalResponse {
  status: number
  headers: Record<string, string>
  body: string
}

export interface InternalCalls {
  call(caller: Caller, request: InternalRequest): Promise<InternalResponse>
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
}

const calls = new AsyncLocalStorage<Call>()

/** Returns the caller of an internal call; undefined for requests from a network. */
export const internalCaller = (): Caller | undefined => calls.getStore()?.caller

/** Returns whether the request comes from a link. A link can only call operations that are declared `linkable`. */
export const isLinkCall = (): boolean => calls.getStore()?.isLink ?? false

export function createInternalCalls(): InternalCalls {
  let server: FastifyInstance | undefined
  return {
    connect(app) {
      server = app
    },
    async call(caller, { method, url, headers = {}, body }) {
      if (!server) throw DatabaseUnavailable()
      const request: InjectOptions = {
        method: method as NonNullable<InjectOptions['method']>,
        url,
        headers,
        ...(body !== undefined && { payload: body }),
      }
      // `inject` sends the request only when its result is awaited.
      const response = await calls.run({ caller, isLink: false }, async () => await server!.inject(request))
      return { status: response.statusCode, headers: textsOf(response.headers), body: response.body }
    },
    async download(caller, { url, headers = {} }) {
      if (!server) throw DatabaseUnavailable()
      const request: InjectOptions = { method: 'GET', url, headers, payloadAsStream: true }
      const response = await calls.run({ caller, isLink: true }, async () => await server!.inject(request))
      const body = response.stream()
      // The operation closes its content when its response is destroyed.
      body.once('close', () => response.raw.res.destroy())
      return { status: response.statusCode, headers: textsOf(response.headers), body }
    },
  }
}

const textsOf = (headers: Record<string, unknown>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]))

/**
 * Calls of the platform's own API inside the process, on behalf of a caller that has no credentials at hand: scripts of users. The caller
 * is passed outside of the request, so that no request from a network can claim to be one.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
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
  /** Sets the server that answers calls. */
  connect(app: FastifyInstance): void
}

const callers = new AsyncLocalStorage<Caller>()

/** Returns the caller of an internal call; undefined for requests from a network. */
export const internalCaller = (): Caller | undefined => callers.getStore()

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
      // The request is sent when it is awaited.
      const response = await callers.run(caller, async () => await server!.inject(request))
      const texts = Object.entries(response.headers).map(([name, value]): [string, string] => [name, String(value)])
      return { status: response.statusCode, headers: Object.fromEntries(texts), body: response.body }
    },
  }
}

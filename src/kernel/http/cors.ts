/** Lets web pages of other origins call the platform (CORS). The identity provider has its own rules for its realms. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { errorCodeHeader, errorFieldHeader } from './failures.ts'

export interface Origins {
  /** Returns whether pages of this origin may call the platform. Without a tenant, it is enough that one tenant allows the origin. */
  isAllowed(origin: string, tenantId?: string): Promise<boolean>
}

const methods = 'GET, HEAD, POST, PUT, PATCH, DELETE'
const readableHeaders = [
  'content-disposition',
  'content-range',
  'etag',
  'location',
  'retry-after',
  'www-authenticate',
  'x-correlation-id',
  errorCodeHeader,
  errorFieldHeader,
].join(', ')
/** Matches names of headers, separated by commas. */
const headerNames = /^[\w!#$%&'*+.^`|~-]+(\s*,\s*[\w!#$%&'*+.^`|~-]+)*$/
const preflightSeconds = '3600'

const isOfRealm = (url: string) => url.startsWith('/auth/realms/')

/** Adds the CORS headers to responses for allowed origins, and answers preflight requests, which have no credentials. */
export function allowOrigins(app: FastifyInstance, origins: Origins) {
  app.addHook('onRequest', (request, reply, done) => {
    const { origin } = request.headers
    if (origin === undefined || isOfRealm(request.url)) return done()
    reply.header('vary', 'Origin')
    origins.isAllowed(origin).then((isAllowed) => {
      if (isAllowed) setHeaders(reply, origin)
      if (!isPreflight(request)) return done()
      if (isAllowed) setPreflightHeaders(request, reply)
      reply.code(204).send()
    }, done)
  })
  // The tenant of the caller is known only after authentication, so origins of tenants are checked here.
  app.addHook('onSend', (request, reply, payload, done) => {
    const { origin } = request.headers
    if (origin === undefined || !request.ctx || !reply.hasHeader('access-control-allow-origin'))
      return done(null, payload)
    origins.isAllowed(origin, request.ctx.tenantId).then((isAllowed) => {
      if (!isAllowed) for (const name of addedHeaders) reply.removeHeader(name)
      done(null, payload)
    }, done)
  })
}

const addedHeaders = ['access-control-allow-origin', 'access-control-expose-headers']

const isPreflight = ({ method, headers }: FastifyRequest) =>
  method === 'OPTIONS' && headers['access-control-request-method'] !== undefined

function setHeaders(reply: FastifyReply, origin: string) {
  reply.header('access-control-allow-origin', origin)
  reply.header('access-control-expose-headers', readableHeaders)
}

function setPreflightHeaders(request: FastifyRequest, reply: FastifyReply) {
  reply.header('access-control-allow-methods', methods)
  allowRequestedHeaders(request, reply)
  reply.header('access-control-max-age', preflightSeconds)
}

/** Allows the headers that a preflight request names. */
export function allowRequestedHeaders({ headers }: FastifyRequest, reply: FastifyReply) {
  const requested = headers['access-control-request-headers']
  if (requested !== undefined && headerNames.test(requested)) reply.header('access-control-allow-headers', requested)
}

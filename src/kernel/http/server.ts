/** The HTTP server: mounts the APIs of all services, authenticates callers, and limits rates and connections. */
import { Readable } from 'node:stream'
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify, LogController } from 'fastify'
import type { Audit } from '../audit/audit.ts'
import { clientAddress, type IsProxy, networkOf } from '../client-address.ts'
import { monotonicMs } from '../clock.ts'
import { type Authenticate, type Caller, type Ctx, isAnonymous } from '../contract.ts'
import type { HttpApi } from '../define-service.ts'
import { messageFormat } from '../error-formats.ts'
import { NotLinkable, type PlatformError, ProcessStopping, Unauthenticated } from '../errors.ts'
import type { Log } from '../log.ts'
import type { Metrics } from '../metrics.ts'
import { createRateLimit, createVariableRateLimit } from '../rate-limit.ts'
import type { ServerCertificate } from '../server-certificate.ts'
import type { TenantLimits, TenantLimitValues } from '../tenant-limits.ts'
import { bodyLimitBytes, readJsonBodies } from './body.ts'
import { type Compression, createCompression } from './compression.ts'
import type { HttpConnections } from './connections.ts'
import { allowOrigins, type Origins } from './cors.ts'
import { type EventStream, eventStreamType, openEventStream } from './event-stream.ts'
import {
  createFormatsByRoot,
  noSuchRoute,
  nulError,
  partLengthMax,
  respondWithError,
  sendError,
  tooManyRequests,
} from './failures.ts'
import { endWithInternalCall, internalCaller, isLinkCall } from './internal-calls.ts'
import { type Address, createListeners } from './listeners.ts'
import { createNameCheck } from './operation-names.ts'
import { requestId } from './request-id.ts'
import { createRequestSignals, type RequestSignals } from './request-signals.ts'
import { mountRoutes, type Operation, plugin, scopesOf } from './routes.ts'
import { isSecure, type SecureTransport, secureTransport } from './secure-transport.ts'
import { limitBodyTime, limitReadTime, sendContinue } from './streaming.ts'
import { createUnreadResponses, type UnreadLimit } from './unread-responses.ts'
import { answerUnreadable, type UnreadablePaths } from './unreadable-requests.ts'
import { compileLazily } from './validation.ts'

export interface HttpOptions {
  baseUrl: () => string
  log: Log
  metrics: Metrics
  authenticate: Authenticate
  /** Decides which other origins may call the platform. If absent, no other origins are allowed. */
  origins?: Origins
  /** Returns the caller of requests without credentials, if authentication of the API is off. Returns undefined if it is on. */
  callerWithoutAuthentication(api: string): Caller | undefined
  rateLimit: { perCredential: number; perAddress: number }
  /** The limits of each tenant. If absent, tenants have no limits. */
  tenantLimits?: Pick<TenantLimits, 'get'>
  /** Returns the reason why operations that change something are refused at the moment. If absent, they are never refused. */
  refuseChanges?(): PlatformError | undefined
  /** Records operations that change something. If absent, nothing is recorded. */
  audit?: Pick<Audit, 'begin'>
  /** Scopes that an operation may require. If absent, any scope is accepted. */
  scopes?: ReadonlyMap<string, unknown>
  trustProxy: IsProxy
  /** Aborts when the process stops; `ctx.signal` of every request aborts with it. */
  stopping?: AbortSignal
  connections: HttpConnections & { acceptFailed(error: Error): void }
  /** True if responses are compressed. Default: true. */
  compression?: boolean
  /** Limit of the responses that wait for their clients. If absent, the default applies. */
  unreadLimit?: UnreadLimit
  /** Redirects to HTTPS and Strict-Transport-Security. If absent, the server uses neither. */
  secureTransport?: SecureTransport
}

export interface HttpServer {
  app: FastifyInstance
  operations: Operation[]
  apis: HttpApi[]
  mount(api: HttpApi): void
  /** Compresses responses of routes outside of the APIs. Undefined if compression is off. */
  compression: Compression | undefined
  unreadablePaths: UnreadablePaths
  listen(at: Address): Promise<void>
  /** Opens HTTPS too, and returns its port. */
  listenSecurely(at: Address, certificate: ServerCertificate): Promise<number>
  close(): Promise<void>
}

/** Time for running requests when the server closes. It must fit into the ten seconds for stopping the process. */
const runningRequestsMs = 5_000

/** State of a running server. */
interface State {
  app: FastifyInstance
  operations: Operation[]
  apis: HttpApi[]
  streams: Set<EventStream>
  closing: boolean
}

export function createHttpServer(options: HttpOptions): HttpServer {
  const { log, baseUrl, trustProxy: isProxy, secureTransport: secure } = options
  const listeners = createListeners({
    connections: options.connections,
    isProxy,
    log,
    isRedirected: (request) => secure?.redirect === true && !isSecure(request, isProxy),
    acceptFailed: options.connections.acceptFailed,
  })
  const formats = createFormatsByRoot()
  const unreadablePaths: UnreadablePaths = new Map()
  const app = createApp(options, listeners, formats, unreadablePaths)
  const requestSignals = createRequestSignals()
  options.stopping?.addEventListener('abort', requestSignals.stop)
  const refusals = options.metrics.counter(
    'waypost_http_rate_limited_total',
    'Number of requests that were refused with 429 by a rate limit: of an address, a credential or a tenant.',
    ['limit'],
  )
  const callers = createCallers(options, requestSignals, refusals)
  const state: State = { app, operations: [], apis: [], streams: new Set(), closing: false }
  if (secure) secureTransport(app, { ...secure, isProxy, baseUrl })
  // CORS is handled first. Refusals then have the CORS headers too, and preflight requests get a response although no route has OPTIONS.
  if (options.origins) allowOrigins(app, options.origins)
  addHooks(state, options, formats, refusals)
  const record = createRecord(options, state.operations)
  const compression = options.compression === false ? undefined : createCompression()
  const refuseChanges = options.refuseChanges ?? (() => undefined)
  const openStream = (request: FastifyRequest, reply: FastifyReply) => {
    const stream = openEventStream(request, reply, state.streams)
    if (state.closing) stream.end('stopping')
    return stream
  }
  return {
    app,
    operations: state.operations,
    apis: state.apis,
    compression,
    unreadablePaths,
    mount(api) {
      state.apis.push(api)
      mountApi(app, api, {
        options,
        formats,
        record,
        hooks: { ...callers, refuseChanges, audit: options.audit, openStream, compression },
      })
    },
    listen: (at) => listeners.listen(app, at),
    listenSecurely: (at, certificate) => listeners.listenSecurely(app, at, certificate),
    async close() {
      state.closing = true
      requestSignals.stop()
      for (const stream of state.streams) stream.end('stopping')
      const started = monotonicMs()
      const closeIdle = setInterval(listeners.closeIdle, 50)
      // Uploads and downloads can take hours. Transfers that are cut off have not been acknowledged.
      const closeAll = setTimeout(listeners.closeAll, runningRequestsMs)
      await Promise.all([app.close(), listeners.close()])
      clearInterval(closeIdle)
      clearTimeout(closeAll)
      log.debug({ ms: monotonicMs() - started }, 'HTTP server closed')
    },
  }
}

/** Returns the function that adds an operation to the API reference. The function checks the operation's name and scopes first. */
function createRecord(options: HttpOptions, operations: Operation[]) {
  const checkName = createNameCheck()
  function checkScopes({ method, root, path, access }: Operation) {
    const required = [...scopesOf(access), ...(access.or ? [access.or.scope] : [])]
    const unknown = options.scopes && required.find((scope) => !options.scopes!.has(scope))
    if (unknown) throw new Error(`${method} ${root}${path} requires the scope ${unknown}, which no service declares`)
  }
  return (operation: Operation) => {
    checkName(operation)
    checkScopes(operation)
    operations.push(operation)
  }
}

type Listeners = ReturnType<typeof createListeners>
type Formats = ReturnType<typeof createFormatsByRoot>

function createApp(options: HttpOptions, listeners: Listeners, formats: Formats, unreadablePaths: UnreadablePaths) {
  const { log } = options
  const app = fastify({
    // Fastify's info messages are suppressed, because they would repeat the messages of the start.
    loggerInstance: log.child({}, { level: log.isLevelEnabled('info') ? 'warn' : log.level }),
    // A logger for each request would cost 5 µs and would rarely be used. Log calls add the correlation id themselves.
    childLoggerFactory: (logger) => logger,
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'correlationId' }),
    frameworkErrors: (error, request, reply) => {
      const respond = [...unreadablePaths].find(([start]) => request.url.startsWith(start))?.[1]
      if (respond && request.method === 'GET') return void respond(reply as never)
      respondWithError(log, error, request as never, reply as never, formats.at(request.url))
    },
    clientErrorHandler: answerUnreadable,
    bodyLimit: bodyLimitBytes,
    forceCloseConnections: 'idle',
    // Our own response uses the error format of the API and contains Retry-After.
    return503OnClosing: false,
    serverFactory: listeners.serverFactory,
    requestIdHeader: false,
    exposeHeadRoutes: true,
    genReqId: requestId,
    // Existing clients send doubled slashes, and paths in the specification have trailing slashes.
    routerOptions: { maxParamLength: partLengthMax, ignoreDuplicateSlashes: true, ignoreTrailingSlash: true },
  }) as unknown as FastifyInstance
  readJsonBodies(app)
  compileLazily(app)
  app.decorateRequest('ctx')
  // Fastify's `ip` is not used: Fastify accepts any text in X-Forwarded-For as an address, and WebSockets, which Fastify does not handle,
  // must get the same address.
  app.decorateRequest('address', {
    getter() {
      return clientAddress(this.raw, options.trustProxy)
    },
  })
  app.decorateRequest('emptyBody', true)
  app.decorateRequest('internalCaller', undefined)
  app.decorateRequest('auditEntry', undefined)
  app.setNotFoundHandler((request, reply) => {
    sendError(noSuchRoute(request), formats.at(request.url), reply)
  })
  app.setErrorHandler((error, request, reply) => respondWithError(log, error, request, reply, formats.at(request.url)))
  return app
}

const createRequestLimit = (perSecond: number) => createRateLimit({ perSecond, burst: 2 * perSecond })
const requestRate = ({ requestsPerSecond: perSecond }: TenantLimitValues) => ({ perSecond, burst: 2 * perSecond })
type Refusals = ReturnType<Metrics['counter']>

function addHooks(
  state: State,
  { log, metrics, rateLimit, unreadLimit }: HttpOptions,
  formats: Formats,
  refusals: Refusals,
) {
  const { app } = state
  const unread = createUnreadResponses(log, unreadLimit)
  const perAddress = createRequestLimit(rateLimit.perAddress)
  const duration = metrics.quickHistogram(
    'waypost_http_request_duration_seconds',
    'Seconds until the response to a request is ready.',
    ['method', 'route', 'status'],
    [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5],
  )
  // The hooks use callbacks, because four promises per request would be measurable on this hot path.
  app.addHook('onRequest', (request, reply, done) => {
    reply.header('x-correlation-id', request.id)
    // The request arrived on a connection that was still busy when the server began to close.
    if (state.closing) return void sendError(ProcessStopping(), formats.at(request.url), reply)
    if (!request.routeOptions.config.streamBody) {
      limitBodyTime(request.raw)
      sendContinue(request.raw, reply.raw)
    }
    request.internalCaller = internalCaller()
    if (request.internalCaller) endWithInternalCall(reply.raw)
    const isLimited = !request.internalCaller || isWithoutCaller(request)
    const seconds = isLimited ? perAddress.take(networkOf(request.address)) : 0
    if (seconds > 0) refusals.inc({ limit: 'address' })
    if (seconds > 0) done(tooManyRequests(seconds))
    else if (request.url.includes('%00')) done(nulError(request))
    // Unknown routes are answered before the body is parsed, because the caller is not authenticated yet.
    else if (request.is404) done(noSuchRoute(request))
    else if (isLinkCall() && !request.routeOptions.config.linkable) done(NotLinkable())
    else done()
  })
  // The hook is onSend instead of onResponse: with an onResponse hook, Fastify would watch the end of every response, which takes 10 µs.
  app.addHook('onSend', (request, reply, payload, done) => {
    // Clients must not reuse the connection while the server closes.
    if (state.closing) reply.header('connection', 'close')
    // Event streams have their own limit.
    if (payload instanceof Readable && reply.getHeader('content-type') !== eventStreamType) limitReadTime(reply.raw)
    unread.count(reply, payload)
    const { method, id: correlationId } = request
    const { statusCode: status, elapsedTime: ms } = reply
    duration.observe(ms / 1000, method, request.routeOptions.url ?? 'none', status)
    if (log.isLevelEnabled('debug'))
      log.debug({ correlationId, method, path: request.url.split('?')[0], status, ms }, 'request completed')
    done(null, payload)
  })
}

/** Returns whether the route does not authenticate its caller in the usual way, such as the pages of the login. */
function isWithoutCaller({ routeOptions }: FastifyRequest): boolean {
  const { scope } = routeOptions.config
  return scope === undefined || scope === 'none'
}

/** Authenticates the callers of requests and limits their rates. */
function createCallers(options: HttpOptions, requestSignals: RequestSignals, refusals: Refusals) {
  const { log, tenantLimits } = options
  const perCredential = createRequestLimit(options.rateLimit.perCredential)
  const perTenant = tenantLimits && createVariableRateLimit((tenantId) => requestRate(tenantLimits.get(tenantId)))

  /** Throws 429 if the credential or the tenant sends too many requests. Internal calls count for the credential only. */
  function limitRate({ tenantId, subject }: Caller, isInternal: boolean) {
    const ofCredential = perCredential.take(`${tenantId}\n${subject.type}\n${subject.id}`)
    if (ofCredential > 0) refusals.inc({ limit: 'credential' })
    const ofTenant = ofCredential > 0 || isInternal ? 0 : (perTenant?.take(tenantId) ?? 0)
    if (ofTenant > 0) refusals.inc({ limit: 'tenant' })
    const seconds = Math.max(ofCredential, ofTenant)
    if (seconds > 0) throw tooManyRequests(seconds)
  }

  async function callerOf({ headers, internalCaller: internal }: FastifyRequest, api: string): Promise<Caller> {
    // An internal call of an anonymous caller must not reach an API that requires authentication.
    if (internal && !isAnonymous(internal.subject)) return internal
    const apiKey = headers['x-identity-api-key'] ?? headers['x-iamcore-api-key']
    const credentials = { authorization: headers.authorization, apiKey: apiKey?.toString() }
    const authenticated = internal ? undefined : await options.authenticate(credentials)
    const caller = authenticated ?? options.callerWithoutAuthentication(api)
    if (!caller) throw Unauthenticated({}, { headers: { 'www-authenticate': 'Bearer' } })
    return caller
  }

  async function authenticate(request: FastifyRequest, reply: FastifyReply, api: string): Promise<Ctx> {
    const caller = await callerOf(request, api)
    limitRate(caller, request.internalCaller !== undefined)
    return new CtxOf(caller, request, reply.raw, log, requestSignals) as unknown as Ctx
  }

  return { callerOf, authenticate }
}

interface LazySignal {
  signals: RequestSignals
  response: FastifyReply['raw']
  deadlineSeconds: number | undefined
  created?: AbortSignal
}

/** Constructs the context of a request. An object literal with `__proto__` takes ten times as long, which is 1 % of a read. */
function constructCtx(
  this: LazySignal & { -readonly [K in keyof Omit<Ctx, 'signal' | 'onAbort'>]: Ctx[K] },
  caller: Caller,
  request: FastifyRequest,
  response: FastifyReply['raw'],
  log: Log,
  signals: RequestSignals,
) {
  this.tenantId = caller.tenantId
  this.caller = caller
  this.correlationId = request.id
  this.log = log
  this.signals = signals
  this.response = response
  this.deadlineSeconds = request.routeOptions.config.deadlineSeconds
}

/**
 * Creates `ctx.signal` on first use. The getter is on the prototype: with a getter on each context, contexts survived garbage collections,
 * and the p99 of reads rose from 6 to 40 ms. `{ ...ctx }` loses the getter and `onAbort`, so write `{ ...ctx, signal: ctx.signal }`.
 */
const signalPrototype = {
  get signal(): AbortSignal {
    const lazy = this as unknown as LazySignal
    lazy.created ??= lazy.signals.create(lazy.response, lazy.deadlineSeconds)
    return lazy.created
  },
  onAbort(listener: (reason: unknown) => void): () => void {
    const { signals, response, deadlineSeconds } = this as unknown as LazySignal
    return signals.listen(response, deadlineSeconds, listener)
  },
}
constructCtx.prototype = signalPrototype
const CtxOf = constructCtx as unknown as new (...args: Parameters<typeof constructCtx>) => object

interface Mounting {
  options: HttpOptions
  formats: Formats
  record(operation: Operation): void
  hooks: Omit<Parameters<typeof mountRoutes>[2], 'record'>
}

function mountApi(app: FastifyInstance, api: HttpApi, { options, formats, record, hooks }: Mounting) {
  const { log, baseUrl } = options
  const errorFormat = api.errorFormat ?? messageFormat
  for (const [index, root] of api.roots.entries()) {
    formats.add(root, errorFormat)
    app.register(
      plugin(`${api.name} ${root}`, async (scope) => {
        scope.setErrorHandler((error, request, reply) => respondWithError(log, error, request, reply, errorFormat))
        // An alias serves the same operations under the same names, so only the first root is in the reference.
        const recordFirst = index === 0 && api.title !== undefined ? record : () => {}
        const mountedApi = { name: api.name, root, errorFormat, baseUrl }
        api.routes(mountRoutes(scope, mountedApi, { ...hooks, record: recordFirst }))
      }),
      { prefix: root },
    )
  }
  const recordRaw = (operation: Operation) => {
    formats.add(operation.root, operation.errorFormat)
    record(operation)
  }
  // Raw routes are a separate plugin, so that their body parsers and error handler do not affect other routes.
  if (api.raw) app.register(plugin(`${api.name} raw`, async (scope) => api.raw?.(scope, recordRaw)))
}

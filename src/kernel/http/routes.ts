/** The interface by which a service's routes.ts declares operations: Fastify with our types and checks. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Audit, AuditEntry, NewEntry } from '../audit/audit.ts'
import { declaredFields, resourceOf, resourceOfLocation } from '../audit/record.ts'
import { authorize, type Caller, type Ctx } from '../contract.ts'
import type { ErrorFormat } from '../error-formats.ts'
import { NoStreamForScripts, type PlatformError } from '../errors.ts'
import { holds, onPlatform, onTenant } from '../permissions.ts'
import { mediaTypeOf, type OperationSchema, type Static, type TSchema } from '../schema.ts'
import { bodyLimitOf, compressionError, dropTypeOfMissingBody } from './body.ts'
import type { Compression } from './compression.ts'
import type { EventStream } from './event-stream.ts'
import { effectOf } from './operation-names.ts'
import { mergeBracketedLists } from './query-lists.ts'
import { abandonBody, bodyOf } from './streaming.ts'
import { sendInSlices } from './unread-responses.ts'

/**
 * The permission to call an operation, and the handling of its body and response. The kernel checks a `scope` on the platform or the
 * tenant. The service checks a scope on a resource.
 */
export interface Access {
  /** One scope, a list of scopes that are all required, `authenticated` or `none`. */
  scope: string | string[]
  on?: 'platform' | 'tenant' | 'resource'
  /** An alternative permission that is also sufficient. */
  or?: { scope: string; on: 'platform' | 'tenant' }
  /**
   * True if the body is free-form JSON, in which `__proto__` is an ordinary key. `inside` means that the body has declared fields and only
   * their values are free-form.
   */
  anyJson?: boolean | 'inside'
  /** Maximum size of the body. Default: 256 KiB, or 1 MiB for free-form JSON. */
  bodyBytesMax?: number
  /**
   * The media type that a 415 names as accepted. Default: application/json. If it ends with `+json`, the handler rejects other JSON types.
   */
  mediaType?: string
  /** True if a missing body counts as an empty object. Existing clients send no body if nothing is required. */
  bodyOptional?: boolean
  /** True if the body has any type and size and is passed to the handler unread. Its shape is `Bytes`. */
  streamBody?: boolean
  /**
   * True if the body has any type and at most `bodyBytesMax` bytes. The handler gets it as a Buffer and checks its type and content itself.
   */
  rawBody?: boolean
  /** Time after which `ctx.signal` aborts, for operations that wait. */
  deadlineSeconds?: number
  /** False if the audit log does not record the operation. The log records administration only, not stored data such as samples. */
  audited?: false
  /** True if the operation stores nothing, although its method and name suggest otherwise. */
  readOnly?: boolean
  /** True if links (`links.create`) can download the response. The response must be bytes that browsers neither display nor run. */
  linkable?: true
  /** Used with scope `none`: the header with a key that the service checks itself. The API reference shows this header. */
  keyHeader?: string
  /**
   * A query parameter with a signature that replaces the credentials in links. The service checks the signature itself. Such requests have
   * no `ctx`; see `isSigned`.
   */
  signedBy?: string
}

type StaticOf<S extends TSchema | undefined> = S extends TSchema ? Static<S> : undefined

/** The reply, for helper functions of a routes.ts. */
export type Reply = FastifyReply

export interface Request<S extends OperationSchema> {
  ctx: Ctx
  params: StaticOf<S['params']>
  query: StaticOf<S['query']>
  body: StaticOf<S['body']>
  headers: FastifyRequest['headers']
  raw: FastifyRequest
  /** Authenticates the caller again during a response that continues. Throws 401 if the credentials are no longer valid. */
  callerNow(): Promise<Caller>
}

type Handler<S extends OperationSchema> = (request: Request<S>, reply: FastifyReply) => unknown
type Define = <S extends OperationSchema>(
  path: string,
  options: { schema: S; config: Access },
  handler: Handler<S>,
) => void

export interface Http {
  get: Define
  post: Define
  put: Define
  patch: Define
  delete: Define
  /** Returns the public URL of a path, below the root path of the request. Never uses the Host header. */
  link(request: { raw: FastifyRequest }, path: string): string
  /** Responds with server-sent events until one side ends them. */
  events(request: { raw: FastifyRequest }, reply: FastifyReply): EventStream
}

/** Functions that the server provides to all routes. */
export interface RouteContext {
  authenticate(request: FastifyRequest, reply: FastifyReply, api: string): Promise<Ctx>
  callerOf(request: FastifyRequest, api: string): Promise<Caller>
  record(operation: Operation): void
  /** Returns the reason why changes are refused at the moment; undefined if they are accepted. */
  refuseChanges(): PlatformError | undefined
  /** Begins the audit entry of a request. If absent, nothing is recorded. */
  audit: Pick<Audit, 'begin'> | undefined
  openStream(request: FastifyRequest, reply: FastifyReply): EventStream
  /** Compresses responses. If absent, responses are not compressed. */
  compression: Compression | undefined
}

/** An operation as it was declared. The API reference is generated from the list of operations. */
export interface Operation {
  api: string
  method: string
  path: string
  root: string
  schema: OperationSchema
  access: Access
  errorFormat: ErrorFormat
}

declare module 'fastify' {
  interface FastifyRequest {
    ctx: Ctx
    /** Address of the client. Behind trusted proxies, it is the address that they report. */
    address: string
    /**
     * The caller of a call within the process; undefined for requests from a network. Work that outlives the request, such as a timer, may
     * run in the async context of another request, so it must use this field instead of `internalCaller()`.
     */
    internalCaller: Caller | undefined
    /** True if the body was missing or empty. The body is null then, but a client can also send null. */
    emptyBody: boolean
    /** The audit entry, if the operation changes something. */
    auditEntry: AuditEntry | undefined
  }
  interface FastifyContextConfig extends Partial<Access> {
    root?: string
    api?: string
  }
}

/** Returns whether the request has a signature instead of credentials. */
export const isSigned = ({ query }: { query: unknown }, { signedBy }: Pick<Access, 'signedBy'>) =>
  signedBy !== undefined && (query as Record<string, unknown>)[signedBy] !== undefined

export const scopesOf = ({ scope }: { scope: string | string[] }) =>
  [scope].flat().filter((name) => name !== 'authenticated' && name !== 'none')

/** Checks scopes on the platform or the tenant. Throws 403 before the body is read. */
function checkSystemAccess(ctx: Ctx, access: Access) {
  if (access.on === undefined || access.on === 'resource') return
  const resource = access.on === 'platform' ? onPlatform : onTenant(ctx.tenantId)
  if (
    access.or &&
    holds(ctx.caller, access.or.scope, access.or.on === 'platform' ? onPlatform : onTenant(ctx.tenantId))
  )
    return
  for (const scope of scopesOf(access)) authorize(ctx, scope, resource)
}

function completeBody(request: FastifyRequest, _: unknown, done: () => void) {
  if (request.emptyBody && (request.body === undefined || request.body === null)) request.body = {}
  done()
}

function entryOf(
  request: FastifyRequest,
  { operation, path, successStatus }: Pick<NewEntry, 'operation' | 'successStatus'> & { path: string },
): NewEntry {
  const { ctx, params, id: correlationId } = request
  const { root = '' } = request.routeOptions.config
  const resource = root + resourceOf(path, params as Record<string, unknown>)
  // An internal call for a script of the caller has no client address.
  const address = request.internalCaller ? undefined : request.address
  return { caller: ctx.caller, operation, resource, successStatus, address, correlationId }
}

/** Writes the audit record before the response is sent. If the write fails, the response becomes an error. */
async function finishEntry(request: FastifyRequest, reply: FastifyReply, payload: unknown) {
  await request.auditEntry?.finish(reply.statusCode, resourceOfLocation(reply.getHeader('location')))
  return payload
}

export function mountRoutes(
  app: FastifyInstance,
  api: { name: string; root: string; errorFormat: ErrorFormat; baseUrl: () => string },
  { authenticate, callerOf, record, refuseChanges, audit, openStream, compression }: RouteContext,
): Http {
  const define =
    (method: string): Define =>
    (path, { schema, config }, handler) => {
      if (!config?.scope) throw new Error(`${method} ${path} declares no scope`)
      if (Object.keys(schema.response).length === 0) throw new Error(`${method} ${path} declares no response`)
      record({ api: api.name, method, path, root: api.root, schema, access: config, errorFormat: api.errorFormat })
      const { params, query, headers, response } = schema
      const effect = config.readOnly ? 'read' : effectOf({ method, schema })
      const isChange = effect === 'change'
      const begin = audit && effect !== 'read' && config.audited !== false ? audit.begin : undefined
      const isStream = Object.values(response).some((shape) => mediaTypeOf(shape) === 'text/event-stream')
      const successStatus = Math.min(...Object.keys(response).map(Number))
      const body = config.streamBody || config.rawBody ? undefined : schema.body
      const handle: typeof handler = begin
        ? (request, reply) => {
            const { auditEntry } = request.raw
            const work = () => handler(request, reply)
            return auditEntry ? auditEntry.run(declaredFields(body, request.body), work) : work()
          }
        : handler
      const callHandler = (request: FastifyRequest, reply: FastifyReply, requestBody: unknown) =>
        handle(
          {
            ctx: request.ctx,
            params: request.params as never,
            query: request.query as never,
            body: requestBody as never,
            headers: request.headers,
            raw: request,
            callerNow: () => callerOf(request, api.name),
          },
          reply,
        )
      const route = {
        method,
        url: path,
        bodyLimit: bodyLimitOf(config),
        config: { ...config, root: api.root, api: api.name },
        schema: {
          ...(params && { params }),
          ...(query && { querystring: query }),
          ...(headers && { headers }),
          ...(body && { body }),
          response: withoutEmpty(response),
        },
        onRequest: async (request: FastifyRequest, reply: FastifyReply) => {
          // A stream has no end, and nothing would read it when the script has ended.
          if (isStream && request.internalCaller) throw NoStreamForScripts()
          if (query) mergeBracketedLists(request.query as Record<string, unknown>, query)
          if (config.scope !== 'none' && !isSigned(request, config)) {
            request.ctx = await authenticate(request, reply, api.name)
            request.auditEntry = begin?.(entryOf(request, { operation: schema.name, path, successStatus }))
            checkSystemAccess(request.ctx, config)
          }
          const refusal = isChange ? refuseChanges() : undefined
          if (refusal) throw refusal
          if (!config.streamBody) dropTypeOfMissingBody(request)
        },
        ...(config.bodyOptional && !config.rawBody && { preValidation: completeBody }),
        onSend: [...(begin ? [finishEntry] : []), ...(compression ? [compression.onSend] : []), sendInSlices],
      }
      if (config.rawBody)
        app.register(
          plugin(`${method} ${api.root}${path}`, async (scope) => {
            keepBodiesRaw(scope)
            scope.route({
              ...route,
              handler: (request, reply) => callHandler(request, reply, request.body ?? Buffer.alloc(0)),
            })
          }),
        )
      else if (!config.streamBody)
        app.route({ ...route, handler: (request, reply) => callHandler(request, reply, request.body) })
      else
        app.register(
          plugin(`${method} ${api.root}${path}`, async (scope) => {
            skipBodyParsing(scope)
            scope.route({
              ...route,
              handler: (request, reply) => callHandler(request, reply, bodyOf(request.raw, reply.raw)),
            })
          }),
        )
    }
  return {
    get: define('GET'),
    post: define('POST'),
    put: define('PUT'),
    patch: define('PATCH'),
    delete: define('DELETE'),
    link: ({ raw }, path) => api.baseUrl() + (raw.routeOptions.config.root ?? api.root) + path,
    events: ({ raw }, reply) => openStream(raw, reply),
  }
}

type Plugin = (scope: FastifyInstance) => Promise<void>

/** Names a plugin. For an anonymous plugin, Fastify searches all loaded modules for a name, which takes a millisecond each time. */
export const plugin = (name: string, mount: Plugin): Plugin =>
  Object.assign(mount, { [Symbol.for('fastify.display-name')]: name })

function keepBodiesRaw(scope: FastifyInstance) {
  scope.removeAllContentTypeParsers()
  scope.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, bytes, done) => done(null, bytes))
  // An empty Content-Type counts as absent. Fastify would answer it with 415.
  scope.addHook('onRequest', (request, _reply, done) => {
    if (request.headers['content-type'] === '') delete request.headers['content-type']
    done()
  })
}

/** Disables body parsing, because the handler reads the body itself. */
function skipBodyParsing(scope: FastifyInstance) {
  scope.removeAllContentTypeParsers()
  scope.addContentTypeParser('*', (_request, _payload, done) => done(null))
  // Any content type is replaced, even an invalid one.
  scope.addHook('onRequest', (request, _reply, done) => {
    request.headers['content-type'] = 'application/octet-stream'
    done(compressionError(request))
  })
  // Fastify also runs onSend for requests that are rejected before the handler.
  scope.addHook('onSend', (request, reply, payload, done) => {
    if (abandonBody(request.raw)) reply.header('connection', 'close')
    done(null, payload)
  })
}

/** Removes the schemas of 204 responses, which Fastify would serialize as the text "null", and of responses that are not JSON. */
const withoutEmpty = (response: Record<number, TSchema>) =>
  Object.fromEntries(
    Object.entries(response).filter(
      ([, schema]) => (schema as { type?: string }).type !== 'null' && mediaTypeOf(schema) === 'application/json',
    ),
  )

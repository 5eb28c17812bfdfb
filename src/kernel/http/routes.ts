/** The interface by which a service's routes.ts declares operations: Fastify with our types and checks. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Audit, AuditEntry, NewEntry } from '../audit/audit.ts'
import { declaredFields, resourceOf, resourceOfLocation } from '../audit/record.ts'
import { authorize, type Caller, type Ctx } from '../contract.ts'
import type { ErrorFormat } from '../error-formats.ts'
import { NotLinkable, type PlatformError } from '../errors.ts'
import { holds, onPlatform, onTenant } from '../permissions.ts'
import { mediaTypeOf, type OperationSchema, type Static, type TSchema } from '../schema.ts'
import { bodyLimitOf } from './body.ts'
import type { Compression } from './compression.ts'
import type { EventStream } from './event-stream.ts'
import { internalCaller, isLinkCall } from './internal-calls.ts'
import { effectOf } from './operation-names.ts'
import { abandonBody, bodyOf } from './streaming.ts'

/** The permission to call an operation. `scope` on the platform or the tenant is checked here; on a resource, by its service. */
export interface Access {
  /** A scope, several (all needed), `authenticated` or `none`. */
  scope: string | string[]
  on?: 'platform' | 'tenant' | 'resource'
  /** Another permission that is sufficient. */
  or?: { scope: string; on: 'platform' | 'tenant' }
  /**
   * True if the body is free-form JSON, in which `__proto__` is an ordinary key. `inside` if the body has declared
   * fields and only their values are free-form.
   */
  anyJson?: boolean | 'inside'
  /** Limit of the body's size; by default 256 KiB, or 1 MiB for free-form JSON. */
  bodyBytesMax?: number
  /** A missing body counts as an empty object, because existing clients send none where nothing is required. */
  bodyOptional?: boolean
  /** The body has any type and size and is passed to the handler unread; its shape is `Bytes`. */
  streamBody?: boolean
  /** The body has any type and at most `bodyBytesMax` bytes; the handler gets it as a Buffer and checks its type and content itself. */
  rawBody?: boolean
  /** `ctx.signal` aborts after this time; for operations that wait. */
  deadlineSeconds?: number
  /** False for operations that store data, such as samples; the audit log records administration only. */
  audited?: false
  /** True if the operation stores nothing, although its method and its name do not show it. */
  readOnly?: boolean
  /** True if links (`links.create`) can download the response: bytes that browsers neither display nor run. */
  linkable?: true
  /** With scope `none`: the header whose key the service checks itself; shown in the API reference. */
  keyHeader?: string
  /**
   * A query parameter that replaces the credentials, for links with a signature that the service checks itself. Then there is no
   * `ctx`; see `isSigned`.
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
  /** Authenticates the caller again, for responses that continue; throws 401 if the credentials are no longer valid. */
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
  /** Returns why changes are refused at the moment; undefined if they are not. */
  refuseChanges(): PlatformError | undefined
  /** Absent: nothing is recorded. */
  audit: Pick<Audit, 'begin'> | undefined
  openStream(request: FastifyRequest, reply: FastifyReply): EventStream
  /** Absent: responses are not compressed. */
  compression: Compression | undefined
}

/** An operation as it was declared; the API reference is generated from these. */
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
    /** Address of the client, also behind proxies. */
    address: string
    /** True if there was no body, or an empty one; the body is null then, which a client can send as well. */
    emptyBody: boolean
    /** The record of an operation that changes something. */
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

/** Checks scopes on the platform or the tenant: 403 before the body is read. */
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
  // A call of the platform by itself, for a script of the caller, comes from no address.
  const address = internalCaller() ? undefined : request.address
  return { caller: ctx.caller, operation, resource, successStatus, address, correlationId }
}

/** Writes the record before the response is sent; if that fails, the response becomes an error. */
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
          if (isLinkCall() && !config.linkable) throw NotLinkable()
          if (config.scope !== 'none' && !isSigned(request, config)) {
            request.ctx = await authenticate(request, reply, api.name)
            request.auditEntry = begin?.(entryOf(request, { operation: schema.name, path, successStatus }))
            checkSystemAccess(request.ctx, config)
          }
          const refusal = isChange ? refuseChanges() : undefined
          if (refusal) throw refusal
        },
        ...(config.bodyOptional && !config.rawBody && { preValidation: completeBody }),
        onSend: [...(begin ? [finishEntry] : []), ...(compression ? [compression.onSend] : [])],
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

/** Names a plugin. Fastify looks for the name of an anonymous one among all loaded modules, which takes a millisecond each. */
export const plugin = (name: string, mount: Plugin): Plugin =>
  Object.assign(mount, { [Symbol.for('fastify.display-name')]: name })

function keepBodiesRaw(scope: FastifyInstance) {
  scope.removeAllContentTypeParsers()
  scope.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, bytes, done) => done(null, bytes))
  // An empty header counts as absent; Fastify would answer 415.
  scope.addHook('onRequest', (request, _reply, done) => {
    if (request.headers['content-type'] === '') delete request.headers['content-type']
    done()
  })
}

/** Disables body parsing, because the handler reads the body itself. */
function skipBodyParsing(scope: FastifyInstance) {
  scope.removeAllContentTypeParsers()
  scope.addContentTypeParser('*', (_request, _payload, done) => done(null))
  // Replaces any content type, including invalid ones.
  scope.addHook('onRequest', (request, _reply, done) => {
    request.headers['content-type'] = 'application/octet-stream'
    done()
  })
  // Fastify runs onSend also for requests that are rejected before the handler.
  scope.addHook('onSend', (request, reply, payload, done) => {
    if (abandonBody(request.raw)) reply.header('connection', 'close')
    done(null, payload)
  })
}

/** Drops schemas of 204 responses, which Fastify would serialize as the text "null", and of responses that are not JSON. */
const withoutEmpty = (response: Record<number, TSchema>) =>
  Object.fromEntries(
    Object.entries(response).filter(
      ([, schema]) => (schema as { type?: string }).type !== 'null' && mediaTypeOf(schema) === 'application/json',
    ),
  )

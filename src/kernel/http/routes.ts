/** What a service's routes.ts is handed: Fastify with our types, and nothing to forget. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { authorize, type Caller, type Ctx } from '../contract.ts'
import type { Face } from '../faces.ts'
import { holds, onPlatform, onTenant } from '../permissions.ts'
import { mediaTypeOf, type OperationSchema, type Static, type TSchema } from '../schema.ts'
import { bodyLimitOf } from './body.ts'
import type { EventStream } from './event-stream.ts'
import { abandonBody, bodyOf } from './streaming.ts'

/** Who may call: `scope` on the platform or the tenant is checked here; on a resource, by the service that knows it. */
export interface Access {
  /** A scope, several (all needed), `authenticated` or `none`. */
  scope: string | string[]
  on?: 'platform' | 'tenant' | 'resource'
  /** Another permission that is as good. */
  or?: { scope: string; on: 'platform' | 'tenant' }
  /** The body, or what is inside it, is the user's own JSON: `__proto__` is a key like any other. */
  anyJson?: boolean | 'inside'
  /** Greatest size of a body; by default 256 KiB, and 1 MiB where it is the user's own JSON. */
  bodyBytesMax?: number
  /** No body is one without fields: where nothing has to be said, existing clients send none. */
  bodyOptional?: boolean
  /** The body is of any type and size and is handed over unread: its shape is `Bytes`. */
  streamBody?: boolean
  /** With scope `none`: the header whose key the service checks itself, for the API reference. */
  keyHeader?: string
}

type StaticOf<S extends TSchema | undefined> = S extends TSchema ? Static<S> : undefined

/** For helpers of a routes.ts that answer. */
export type Reply = FastifyReply

export interface Request<S extends OperationSchema> {
  ctx: Ctx
  params: StaticOf<S['params']>
  query: StaticOf<S['query']>
  body: StaticOf<S['body']>
  headers: FastifyRequest['headers']
  raw: FastifyRequest
  /** Who asks, as it is now: for answers that go on. 401 when what was shown is not valid any more. */
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
  /** An address below the service's root as the caller used it, on the public address and never on Host. */
  link(request: { raw: FastifyRequest }, path: string): string
  /** Answers with server-sent events, until somebody ends them. */
  events(request: { raw: FastifyRequest }, reply: FastifyReply): EventStream
}

/** What the server gives to all of its routes. */
export interface Ground {
  authenticate(request: FastifyRequest, door: string): Promise<Ctx>
  callerOf(request: FastifyRequest, door: string): Promise<Caller>
  record(operation: Operation): void
  openStream(request: FastifyRequest, reply: FastifyReply): EventStream
}

/** One operation as it was declared: the API reference is made of these. */
export interface Operation {
  door: string
  method: string
  path: string
  root: string
  schema: OperationSchema
  access: Access
  face: Face
}

declare module 'fastify' {
  interface FastifyRequest {
    ctx: Ctx
    /** Of the client, behind proxies too. */
    address: string
    /** No body came, or one without content: it arrives as null, which is also a value. */
    emptyBody: boolean
  }
  interface FastifyContextConfig extends Partial<Access> {
    root?: string
    door?: string
  }
}

export const scopesOf = ({ scope }: { scope: string | string[] }) =>
  [scope].flat().filter((name) => name !== 'authenticated' && name !== 'none')

/** Where the resource is not in the path, the door itself decides: 403 before the body is even read. */
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

export function mountRoutes(
  app: FastifyInstance,
  door: { name: string; root: string; face: Face; baseUrl: () => string },
  { authenticate, callerOf, record, openStream }: Ground,
): Http {
  const define =
    (method: string): Define =>
    (path, { schema, config }, handler) => {
      if (!config?.scope) throw new Error(`${method} ${path} declares no scope`)
      if (Object.keys(schema.response).length === 0) throw new Error(`${method} ${path} declares no response`)
      record({ door: door.name, method, path, root: door.root, schema, access: config, face: door.face })
      const { params, query, headers, response } = schema
      const body = config.streamBody ? undefined : schema.body
      const answer = (request: FastifyRequest, reply: FastifyReply, given: unknown) =>
        handler(
          {
            ctx: request.ctx,
            params: request.params as never,
            query: request.query as never,
            body: given as never,
            headers: request.headers,
            raw: request,
            callerNow: () => callerOf(request, door.name),
          },
          reply,
        )
      const route = {
        method,
        url: path,
        bodyLimit: bodyLimitOf(config),
        config: { ...config, root: door.root, door: door.name },
        schema: {
          ...(params && { params }),
          ...(query && { querystring: query }),
          ...(headers && { headers }),
          ...(body && { body }),
          response: withoutEmpty(response),
        },
        onRequest: async (request: FastifyRequest) => {
          if (config.scope === 'none') return
          request.ctx = await authenticate(request, door.name)
          checkSystemAccess(request.ctx, config)
        },
        ...(config.bodyOptional && { preValidation: completeBody }),
      }
      if (!config.streamBody) app.route({ ...route, handler: (request, reply) => answer(request, reply, request.body) })
      else
        app.register(async (scope) => {
          leaveBodies(scope)
          scope.route({
            ...route,
            handler: (request, reply) => answer(request, reply, bodyOf(request.raw, reply.raw)),
          })
        })
    }
  return {
    get: define('GET'),
    post: define('POST'),
    put: define('PUT'),
    patch: define('PATCH'),
    delete: define('DELETE'),
    link: ({ raw }, path) => door.baseUrl() + (raw.routeOptions.config.root ?? door.root) + path,
    events: ({ raw }, reply) => openStream(raw, reply),
  }
}

/** Whatever they are, the handler reads them. */
function leaveBodies(scope: FastifyInstance) {
  scope.removeAllContentTypeParsers()
  scope.addContentTypeParser('*', (_request, _payload, done) => done(null))
  // Also one that is no media type at all.
  scope.addHook('onRequest', (request, _reply, done) => {
    request.headers['content-type'] = 'application/octet-stream'
    done()
  })
  // Also for what is refused before the handler.
  scope.addHook('onSend', (request, reply, payload, done) => {
    if (abandonBody(request.raw)) reply.header('connection', 'close')
    done(null, payload)
  })
}

/** Fastify would serialize 204's declared null as the text "null"; what is no JSON is sent as it is. */
const withoutEmpty = (response: Record<number, TSchema>) =>
  Object.fromEntries(
    Object.entries(response).filter(
      ([, schema]) => (schema as { type?: string }).type !== 'null' && mediaTypeOf(schema) === 'application/json',
    ),
  )

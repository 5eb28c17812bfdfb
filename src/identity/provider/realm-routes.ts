/** Serves the realms under /auth/realms/{tenant_id}. Fastify reads the body and limits its size; oidc-provider responds. */
import type { IncomingMessage } from 'node:http'
import querystring from 'node:querystring'
import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { isDatabaseUnavailable, isExhausted } from '../../kernel/db.ts'
import type { Kit } from '../../kernel/define-service.ts'
import { InsufficientResources, PlatformError } from '../../kernel/errors.ts'
import { allowRequestedHeaders } from '../../kernel/http/cors.ts'
import { errorCodeHeader } from '../../kernel/http/failures.ts'
import { isOriginAllowed } from '../clients.ts'
import type { Core } from '../core.ts'
import { identityRequestFailed } from '../log-messages.ts'
import { errorPage } from '../pages/pages.ts'
import { isRealmName } from '../realms.ts'
import type { Realm } from '../types.ts'
import type { createAccountPages } from './account-pages.ts'
import { isForProfile, readProfile } from './account-profile.ts'
import { queryOfForm } from './form-navigation.ts'
import { isFrame, serveFrame } from './frames.ts'
import { createInstances } from './instances.ts'
import { type Call, normalizeCall, queryWithScope } from './keycloak-compat.ts'
import type { Extras, Form } from './library.ts'
import { sendPage, signIn } from './login.ts'
import { catalogueCodeOf } from './oauth-errors.ts'
import { longParameter } from './open-logins.ts'
import { realmInfoOf } from './realm-info.ts'
import { loginOf } from './refresh-tokens.ts'

const formType = 'application/x-www-form-urlencoded'
const bodyLimit = 56 * 1024
/** Matches the paths that oidc-provider or the sign-in page may have. Other paths are 404. */
const pathPattern = /^[\w./~-]{1,500}$/
/** Matches the paths that every origin may read, because their content is public. */
const publicPath = /^$|^\.well-known\/|\/certs$/
const authorizationPath = 'protocol/openid-connect/auth'
const tokenPath = 'protocol/openid-connect/token'
const pagePath = /^(login\/|account(\/|$)|protocol\/openid-connect\/(auth|logout)(\/|$))/

type AccountPages = ReturnType<typeof createAccountPages>

declare module 'fastify' {
  interface FastifyRequest {
    /** The query as it was received. In the logged URL, its secrets are hidden. */
    originalQuery: string
  }
}

export function mountRealms(app: FastifyInstance, kit: Kit, core: Core, account: AccountPages, hasReset: boolean) {
  const instances = createInstances(kit, core)

  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit }, (_request, body, done) => done(null, body))
  app.setErrorHandler((error, request, reply) => answerError(kit, error, request, reply))
  app.decorateRequest('originalQuery', '')
  app.addHook('onRequest', async (request) => {
    const { url = '' } = request.raw
    const at = url.indexOf('?')
    if (at < 0) return
    request.originalQuery = url.slice(at)
    request.raw.url = url.slice(0, at) + hideSecrets(request.originalQuery)
  })
  for (const url of ['/auth/realms/:tenantId', '/auth/realms/:tenantId/*'])
    app.route({ method: ['GET', 'HEAD', 'POST', 'OPTIONS'], url, exposeHeadRoute: false, handler: serve })

  async function serve(request: FastifyRequest, reply: FastifyReply) {
    const { tenantId, path } = addressOf(request)
    const realm = await findRealm(core, tenantId)
    allowOrigin(request, reply, realm, path)
    if (request.method === 'OPTIONS') return reply.code(204).send()
    if (!realm) return refuse(request, reply, 404, 'invalid_request', 'This realm does not exist.', 'no_such_realm')
    if (realm.status !== 'AVAILABLE')
      return refuse(request, reply, 401, 'access_denied', 'This tenant is not available at the moment.')
    if (path === '' && request.method !== 'POST') return sendRealmInfo(core, reply, realm)
    if (!pathPattern.test(path)) return refuse(request, reply, 404, 'not_found', 'There is nothing at this path.')
    const problem = parameterProblem(request, path)
    if (problem) return refuse(request, reply, 400, 'invalid_request', problem)
    if (isForProfile(request, path)) return sendProfile(core, request, reply, realm)
    if (account.isAccount(path)) {
      const mount = new URL(core.realms.issuerOf(tenantId)).pathname
      return account.serve(request, reply, { realm, mount, path, query: request.originalQuery })
    }

    const query = queryOfForm({ method: request.method, path, query: request.originalQuery }, formOf(request))
    if (query !== undefined) return reply.redirect(`${core.realms.issuerOf(tenantId)}/${path}?${query}`, 303)

    // The denied tokens are loaded before a transaction begins, because a transaction must not take a second connection.
    await core.deniedTokens.load()
    const { provider, handle } = await instances.get(realm)
    if (isFrame(path))
      return serveFrame(request, reply, {
        ...{ baseUrl: kit.baseUrl(), core, realm, provider, path },
        query: request.originalQuery,
      })
    const allowedOrigin = reply.getHeader('access-control-allow-origin')?.toString()
    const { inner, form } = innerRequest(kit.baseUrl(), realm, request, { path, allowedOrigin })
    const hijackReply = () => {
      for (const [name, value] of Object.entries(reply.getHeaders())) reply.raw.setHeader(name, value as string)
      reply.hijack()
    }
    if (path.startsWith('login/'))
      return signIn({ core, realm, provider, inner, form, address: request.address, hasReset, reply, hijackReply })
    hijackReply()
    await handle(inner, reply.raw)
  }

  /** Sets the CORS headers. The library does not see the Origin header. */
  function allowOrigin(request: FastifyRequest, reply: FastifyReply, realm: Realm | undefined, path: string) {
    const { headers, method } = request
    reply.header('vary', 'Origin')
    const { origin } = headers
    if (!origin || !realm) return
    const ofInstallation = { webOrigins: kit.platform.corsOrigins, redirectUris: [] }
    const isKnown = (registered: Parameters<typeof isOriginAllowed>[1]) =>
      isOriginAllowed(kit.baseUrl(), registered, origin)
    if (!publicPath.test(path) && !isKnown(ofInstallation) && !realm.clients.some(isKnown)) return
    reply.header('access-control-allow-origin', origin)
    // Existing clients send cookies to the token endpoint. An origin that only `*` allows must not send cookies, because then every site
    // could.
    if (path === tokenPath && [ofInstallation, ...realm.clients].some((one) => isKnown(withoutAny(one))))
      reply.header('access-control-allow-credentials', 'true')
    reply.header('access-control-expose-headers', `WWW-Authenticate, Retry-After, ${errorCodeHeader}`)
    if (method !== 'OPTIONS') return
    reply.header('access-control-allow-methods', 'GET, POST')
    allowRequestedHeaders(request, reply)
    reply.header('access-control-max-age', '3600')
  }

  function refuse(...[request, reply, status, error, text, code]: [FastifyRequest, ...Parameters<typeof sendError>]) {
    const { path } = addressOf(request)
    if (pagePath.test(path) && request.headers.accept?.includes('text/html'))
      return sendPage(
        reply.header(errorCodeHeader, code ?? catalogueCodeOf(error, status)),
        status,
        errorPage({ name: 'Waypost', title: 'Sign-in not possible', text }),
      )
    return sendError(reply, status, error, text, code)
  }
}

/** Returns the tenant and the path below its realm. The path of the realm itself is empty. */
function addressOf({ params }: FastifyRequest) {
  const { tenantId, '*': path = '' } = params as { tenantId: string; '*'?: string }
  return { tenantId, path }
}

async function sendRealmInfo(core: Core, reply: FastifyReply, realm: Realm) {
  return reply.type('application/json; charset=utf-8').send(JSON.stringify(await realmInfoOf(core, realm)))
}

async function sendProfile(core: Core, { headers }: FastifyRequest, reply: FastifyReply, realm: Realm) {
  const profile = await readProfile(core, realm, headers.authorization!)
  if (profile)
    return reply
      .header('cache-control', 'no-store')
      .type('application/json; charset=utf-8')
      .send(JSON.stringify(profile))
  reply.header('www-authenticate', 'Bearer error="invalid_token"')
  return sendError(reply, 401, 'invalid_token', 'The access token is invalid, expired or revoked')
}

const bodyOf = ({ body }: FastifyRequest) => (Buffer.isBuffer(body) ? body : undefined)

const isForm = ({ headers }: FastifyRequest) =>
  headers['content-type']?.split(';')[0]?.trim().toLowerCase() === formType

/** Returns the fields of a form. A body of another type has no fields. */
function formOf(request: FastifyRequest): Form {
  const body = bodyOf(request)
  return isForm(request) && body ? { ...querystring.parse(body.toString()) } : {}
}

/** Returns the problem with the parameters, or undefined. Called before the library reads the parameters. */
function parameterProblem(request: FastifyRequest, path: string): string | undefined {
  const [query, body] = [request.originalQuery, bodyOf(request)]
  if (hasNul(query) || hasNul(body ?? '')) return 'A parameter contains NUL, which is not allowed.'
  const tooLong = path === authorizationPath ? longParameter(query, body) : undefined
  return tooLong && `The parameter ${tooLong.name} is longer than ${tooLong.max} characters.`
}

const withoutAny = <C extends { webOrigins: string[] }>(client: C): C => ({
  ...client,
  webOrigins: client.webOrigins.filter((registered) => registered !== '*'),
})

const findRealm = async ({ realms }: Core, tenantId: string) =>
  isRealmName(tenantId) ? realms.get(tenantId) : undefined

/** Returns whether the text contains NUL. The library may store any parameter, and PostgreSQL cannot store NUL. */
const hasNul = (text: string | Buffer) => text.includes('%00') || text.includes('\0')

const sendError = (reply: FastifyReply, status: number, error: string, description: string, code?: string) =>
  reply
    .code(status)
    .header(errorCodeHeader, code ?? catalogueCodeOf(error, status))
    .header('cache-control', 'no-store')
    .type('application/json; charset=utf-8')
    .send(JSON.stringify({ error, error_description: description }))

function answerError(kit: Kit, error: unknown, request: FastifyRequest, reply: FastifyReply) {
  const { statusCode = 500, message } = error as { statusCode?: number; message: string }
  if (isDatabaseUnavailable(error)) {
    reply.header('retry-after', '2')
    return sendError(reply, 503, 'temporarily_unavailable', 'the database is not reachable right now')
  }
  if (isExhausted(error)) error = InsufficientResources({}, { headers: { 'retry-after': '60' } })
  if (error instanceof PlatformError) {
    if (error.headers) reply.headers(error.headers)
    const name = error.status === 429 || error.status === 503 ? 'temporarily_unavailable' : 'invalid_request'
    return sendError(reply, error.status, name, error.message, error.code)
  }
  if (statusCode < 500) return sendError(reply, statusCode, 'invalid_request', message)
  identityRequestFailed(kit.log, { err: error, correlationId: request.id, url: request.url })
  const text = `something went wrong; the log has the error under ${request.id}`
  return sendError(reply, 500, 'server_error', text)
}

const secretParameters = /([?&](?:id_token_hint|code|token|access_token|refresh_token|password|client_secret)=)[^&]*/gi
export const hideSecrets = (search: string) => search.replace(secretParameters, '$1[hidden]')

/** Headers that are removed, because they would give the library a wrong address or describe a body that it does not get. */
const droppedHeaders = [
  'origin',
  'x-forwarded-host',
  'x-forwarded-for',
  'x-forwarded-port',
  'forwarded',
  'transfer-encoding',
  'content-length',
  'content-encoding',
  'expect',
]

/** Builds the request for the library, with the path in the realm, the normalized body, and the host and protocol of the base URL. */
function innerRequest(
  baseUrl: string,
  realm: Realm,
  request: FastifyRequest,
  { path, allowedOrigin }: { path: string; allowedOrigin: string | undefined },
) {
  const base = new URL(baseUrl)
  const parsed = formOf(request)
  const call: Call = normalizeCall(realm.frontendClientId, { path: `/${path}`, headers: request.headers, form: parsed })
  const body = isForm(request) ? Buffer.from(querystring.stringify(defined(call.form))) : bodyOf(request)

  const headers: Call['headers'] = { ...call.headers, host: base.host, 'x-forwarded-proto': base.protocol.slice(0, -1) }
  for (const name of droppedHeaders) delete headers[name]
  // A form without fields has a length too. Otherwise the library says that the request is no form.
  if (body) headers['content-length'] = String(body.length)
  const { socket, httpVersion, httpVersionMajor } = request.raw
  const waypost: Extras = {
    address: request.address,
    form: call.form,
    refreshedLogin: typeof parsed.refresh_token === 'string' ? loginOf(parsed.refresh_token) : undefined,
    correlationId: request.id,
    allowedOrigin,
    successStatus: call.successStatus,
  }
  const stream = Readable.from(body?.length ? [body] : [], { objectMode: false })
  const inner = Object.assign(stream, {
    method: request.method,
    url: call.path + queryWithScope(call.path, request.originalQuery),
    headers,
    socket,
    httpVersion,
    httpVersionMajor,
    waypost,
  })
  return { inner: inner as unknown as IncomingMessage, form: parsed }
}

const defined = (form: Form) => Object.fromEntries(Object.entries(form).filter(([, value]) => value !== undefined))

/** Koa middleware around oidc-provider: transactions, security headers, Keycloak's fields, and error responses. */
import type { Ctx, Middleware } from 'oidc-provider'
import { isDatabaseUnavailable, isExhausted } from '../../kernel/db.ts'
import { InsufficientResources, PlatformError } from '../../kernel/errors.ts'
import { errorCodeHeader } from '../../kernel/http/failures.ts'
import { identityRequestFailed } from '../log-messages.ts'
import { libraryHeaders } from '../pages/pages.ts'
import { lockLogin } from '../store/artefacts.ts'
import { epochSeconds, type InstanceContext } from './instance-context.ts'
import { connectPath, extrasOf } from './library.ts'
import { catalogueCodeOf } from './oauth-errors.ts'
import { refreshClaims } from './refresh-tokens.ts'

/** Grant types that consume a code or refresh token and create new tokens. */
const exchangeGrants = new Set<unknown>(['refresh_token', 'authorization_code'])

const corsHeaders = ['Access-Control-Allow-Origin', 'Access-Control-Expose-Headers']

/** Thrown to roll back the transaction. The error response is set already and is sent unchanged. */
const rollback = Symbol('rollback')

export const inOneTransaction =
  ({ core, realm }: InstanceContext): Middleware =>
  async (ctx, next) => {
    if (ctx.path !== `${connectPath}/token` || !exchangeGrants.has(extrasOf(ctx).form.grant_type)) return next()
    const { refreshedLogin } = extrasOf(ctx)
    try {
      await core.transaction.run(async () => {
        // The lock prevents a deadlock: two concurrent requests of one login change the same rows in different orders.
        if (refreshedLogin !== undefined) await lockLogin(core.transaction.sql(), realm.tenantId, refreshedLogin)
        await next()
        // A rejected request is committed too, because the reuse of a refresh token ends all tokens of its login. An internal error is
        // rolled back.
        if (ctx.status >= 500) throw rollback
      })
    } catch (error) {
      if (error !== rollback) throw error
    }
  }

/** Sets the headers for pages of oidc-provider. Our own pages overwrite them. */
export const setPageHeaders: Middleware = async (ctx, next) => {
  for (const [name, value] of Object.entries(libraryHeaders)) ctx.set(name, value)
  await next()
}

/** Answers an introspection without client authentication with 401 (RFC 7662, 2.1). oidc-provider would answer with 400. */
export const requireClientToIntrospect =
  ({ issuer }: InstanceContext): Middleware =>
  async (ctx, next) => {
    const isIntrospection = ctx.method === 'POST' && ctx.path === `${connectPath}/token/introspect`
    const hasClient = ctx.req.headers.authorization !== undefined || extrasOf(ctx).form.client_id !== undefined
    if (!isIntrospection || hasClient) return next()
    ctx.status = 401
    ctx.set('WWW-Authenticate', `Basic realm="${issuer}"`)
    ctx.body = { error: 'invalid_client', error_description: 'introspection requires the authentication of a client' }
  }

/** Changes responses so that they equal the responses of Keycloak. */
export const answerLikeKeycloak =
  ({ kit, issuer, signer }: InstanceContext): Middleware =>
  async (ctx, next) => {
    await next()
    if (ctx.routerName === 'token') ctx.set('Pragma', 'no-cache') // RFC 6749, 5.1 requires this header.
    const { successStatus } = extrasOf(ctx)
    if (successStatus !== undefined && ctx.status === 200) ctx.status = successStatus // Koa then drops the body.
    if (ctx.status === 404 && !ctx.body) {
      ctx.body = { error: 'not_found', error_description: 'there is nothing at this path' }
      ctx.status = 404
    }
    if (ctx.status !== 200) return
    // RFC 7009 leaves the body open. simple-oauth2 accepts only JSON, oidc-client-ts also an empty response without a type.
    if (ctx.routerName === 'revocation') ctx.body = {}
    const body = ctx.body as Record<string, unknown>
    if (ctx.routerName === 'token') {
      const refreshToken = body.refresh_token ? ctx.oidc.entities.RefreshToken : undefined
      body.refresh_expires_in = refreshToken?.remainingTTL ?? 0
      if (refreshToken) {
        const { remainingTTL, accountId: sub, clientId: azp, grantId: sid, scope = '' } = refreshToken
        const iat = epochSeconds(kit)
        const claims = { iat, exp: iat + remainingTTL, iss: issuer, aud: issuer, ...(sub && { sub }), azp, sid, scope }
        body.refresh_token = await signer.sign(refreshClaims(body.refresh_token as string, claims))
      }
    }
    if (ctx.routerName === 'introspection' && body.active) {
      // The token model has no audience, because userinfo rejects tokens with an audience. The audience is added here.
      const { AccessToken, ClientCredentials } = ctx.oidc.entities
      body.aud = (AccessToken ?? ClientCredentials)?.extra?.aud
      body.username = body.preferred_username
    }
    if (ctx.routerName === 'discovery') body.response_modes_supported = ['query', 'fragment', 'form_post']
  }

/** The outermost middleware. It answers and logs unexpected errors, and sets the CORS headers. */
export const answerUnexpectedErrors =
  ({ kit, realm }: InstanceContext): Middleware =>
  async (ctx, next) => {
    let failure: unknown
    try {
      await next()
      failure = extrasOf(ctx).failure
    } catch (error) {
      failure = error
    }
    const { allowedOrigin } = extrasOf(ctx)
    if (allowedOrigin === undefined) for (const name of corsHeaders) ctx.remove(name)
    else ctx.set('Access-Control-Allow-Origin', allowedOrigin)
    if (failure === undefined) return setErrorCode(ctx)
    if (isDatabaseUnavailable(failure)) return answer(ctx, 503, 'the database is not reachable right now', 2)
    if (isExhausted(failure)) failure = InsufficientResources({}, { headers: { 'retry-after': '60' } })
    if (failure instanceof PlatformError) {
      const wait = Number(failure.headers?.['retry-after'] ?? 2)
      answer(ctx, failure.status, failure.message, wait)
      return ctx.set(errorCodeHeader, failure.code)
    }
    const { correlationId } = extrasOf(ctx)
    identityRequestFailed(kit.log, { err: failure, correlationId, tenantId: realm.tenantId, path: ctx.path })
    answer(ctx, 500, `something went wrong; the log has the error under ${correlationId}`)
  }

function answer(ctx: Ctx, status: number, description: string, retryAfter?: number) {
  ctx.status = status
  if (retryAfter !== undefined) ctx.set('Retry-After', String(retryAfter))
  ctx.type = 'json'
  ctx.body = { error: status === 503 ? 'temporarily_unavailable' : 'server_error', error_description: description }
  setErrorCode(ctx)
}

/** Sets the header with the error code of the catalogue. The body of a page does not contain the error; `renderError` stores it. */
function setErrorCode(ctx: Ctx) {
  if (ctx.status < 400) return
  const { error } = Object(ctx.body) as { error?: unknown }
  ctx.set(errorCodeHeader, catalogueCodeOf(error ?? extrasOf(ctx).shownError, ctx.status))
}

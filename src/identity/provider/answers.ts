/** Around the library: one transaction for what belongs together, Keycloak's fields, and errors that tell nothing. */
import type { Ctx, Middleware } from 'oidc-provider'
import { isConnectionTrouble } from '../../kernel/db.ts'
import { PlatformError } from '../../kernel/errors.ts'
import { libraryHeaders } from '../pages/pages.ts'
import { connectPath, extrasOf } from './library.ts'
import type { Setting } from './setting.ts'

/** Grants that use something up and make something new. */
const exchanges = new Set<unknown>(['refresh_token', 'authorization_code'])

const corsHeaders = ['Access-Control-Allow-Origin', 'Access-Control-Expose-Headers']

/** Left to roll back; the answer is written already. */
const undo = Symbol('undo')

export const inOneTransaction =
  ({ core }: Setting): Middleware =>
  async (ctx, next) => {
    if (ctx.path !== `${connectPath}/token` || !exchanges.has(extrasOf(ctx).form.grant_type)) return next()
    try {
      await core.unit.run(async () => {
        await next()
        // A refusal is kept (a reused refresh token has ended its family), an accident is not.
        if (ctx.status >= 500) throw undo
      })
    } catch (error) {
      if (error !== undo) throw error
    }
  }

/** Before the library answers: a page of ours replaces them by its own. */
export const guardPages: Middleware = async (ctx, next) => {
  for (const [name, value] of Object.entries(libraryHeaders)) ctx.set(name, value)
  await next()
}

export const answerLikeKeycloak: Middleware = async (ctx, next) => {
  await next()
  const { successStatus } = extrasOf(ctx)
  if (successStatus !== undefined && ctx.status === 200) ctx.status = successStatus // and Koa drops the body
  if (ctx.status === 404 && !ctx.body) {
    ctx.body = { error: 'not_found', error_description: 'there is nothing at this path' }
    ctx.status = 404
  }
  if (ctx.status !== 200) return
  const body = ctx.body as Record<string, unknown>
  if (ctx.routerName === 'token')
    body.refresh_expires_in = body.refresh_token ? ctx.oidc.entities.RefreshToken?.remainingTTL : 0
  if (ctx.routerName === 'introspection' && body.active) {
    // The model may not know its audience, or userinfo would refuse it.
    const { AccessToken, ClientCredentials } = ctx.oidc.entities
    body.aud = (AccessToken ?? ClientCredentials)?.extra?.aud
    body.username = body.preferred_username
  }
  if (ctx.routerName === 'discovery') body.response_modes_supported = ['query', 'fragment', 'form_post']
}

/** The outermost: what the library, or we inside it, did not expect. */
export const answerAccidents =
  ({ kit, realm }: Setting): Middleware =>
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
    if (failure === undefined) return
    if (isConnectionTrouble(failure)) return answer(ctx, 503, 'the database is not reachable right now', 2)
    if (failure instanceof PlatformError) {
      const wait = Number(failure.headers?.['retry-after'] ?? 2)
      return answer(ctx, failure.status, failure.message, wait)
    }
    const { correlationId } = extrasOf(ctx)
    kit.log.error({ err: failure, correlationId, tenantId: realm.tenantId, path: ctx.path }, 'identity request failed')
    answer(ctx, 500, `something went wrong; the log has it under ${correlationId}`)
  }

function answer(ctx: Ctx, status: number, description: string, retryAfter?: number) {
  ctx.status = status
  if (retryAfter !== undefined) ctx.set('Retry-After', String(retryAfter))
  ctx.type = 'json'
  ctx.body = { error: status === 503 ? 'temporarily_unavailable' : 'server_error', error_description: description }
}

/**
 * Logs out without a confirmation page if the request has an id_token_hint. Ends the login of that ID token, and also the browser's session
 * if it belongs to the same user, then redirects. Logins by password grant have no browser session and can only be ended in this way.
 */
import { decodeJwt } from 'jose'
import type { Ctx, Provider } from 'oidc-provider'
import type { InstanceContext } from './instance-context.ts'
import { connectPath, extrasOf, type Form } from './library.ts'

export function useOneStepLogout(provider: Provider, { library, mount }: InstanceContext) {
  const { errors } = library

  provider.use(async (ctx, next) => {
    const parameters = ctx.method === 'POST' ? extrasOf(ctx).form : ctx.query
    if (ctx.path !== `${connectPath}/logout` || typeof parameters.id_token_hint !== 'string') return next()
    try {
      await logOut(ctx, parameters)
    } catch (error) {
      if (!(error instanceof errors.OIDCProviderError)) throw error
      ctx.status = error.statusCode
      ctx.body = { error: error.message, error_description: error.error_description }
    }
  })

  async function logOut(ctx: Ctx, parameters: Form) {
    const { client, claims } = await readHint(parameters)
    const { post_logout_redirect_uri: uri, state } = parameters
    if (uri !== undefined && !client.postLogoutRedirectUriAllowed(uri))
      throw new errors.InvalidRequest('post_logout_redirect_uri not registered')
    if (typeof claims.sid === 'string') await provider.Grant.adapter.destroy(claims.sid)
    await endSession(ctx, claims.sub!)
    const target = new URL((uri as string | undefined) ?? provider.urlFor('end_session_success'))
    if (typeof state === 'string') target.searchParams.set('state', state)
    ctx.status = 302
    ctx.redirect(target.href)
  }

  async function readHint({ id_token_hint: hint, client_id: clientId }: Form) {
    try {
      const claims = decodeJwt(hint as string)
      const client = await provider.Client.find(claims.aud)
      // The library checks signature, issuer and audience. It accepts an expired hint.
      if (client) await provider.IdToken.validate(hint as string, client)
      if (client && (clientId === undefined || clientId === claims.aud)) return { client, claims }
    } catch {
      // The hint is invalid.
    }
    throw new errors.InvalidRequest('could not validate id_token_hint')
  }

  async function endSession(ctx: Ctx, sub: string) {
    const session = await provider.Session.get(ctx)
    if (session.accountId !== sub) return
    for (const { grantId } of Object.values(session.authorizations ?? {}))
      if (grantId) await provider.Grant.adapter.destroy(grantId)
    await session.destroy()
    ctx.cookies.set(provider.cookieName('session'), null, { path: `${mount}/` })
  }
}

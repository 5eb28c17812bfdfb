/**
 * With an id_token_hint nobody needs to be asked, and no script needs to run: the login that the hint names ends, with
 * the browser's session if it is the same user's, and the answer is the redirect. Without a hint the library asks on a
 * page. Logins by password grant have no session in a browser: they can end only this way.
 */
import { decodeJwt } from 'jose'
import type { Ctx, Provider } from 'oidc-provider'
import { connectPath, extrasOf, type Form } from './library.ts'
import type { Setting } from './setting.ts'

export function useOneStepLogout(provider: Provider, { library, mount }: Setting) {
  const { errors } = library

  provider.use(async (ctx, next) => {
    const given = ctx.method === 'POST' ? extrasOf(ctx).form : ctx.query
    if (ctx.path !== `${connectPath}/logout` || typeof given.id_token_hint !== 'string') return next()
    try {
      await logOut(ctx, given)
    } catch (error) {
      if (!(error instanceof errors.OIDCProviderError)) throw error
      ctx.status = error.statusCode
      ctx.body = { error: error.message, error_description: error.error_description }
    }
  })

  async function logOut(ctx: Ctx, given: Form) {
    const { client, claims } = await readHint(given)
    const { post_logout_redirect_uri: uri, state } = given
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
      // Signature, issuer and audience; it may be expired.
      if (client) await provider.IdToken.validate(hint as string, client)
      if (client && (clientId === undefined || clientId === claims.aud)) return { client, claims }
    } catch {
      // whatever is wrong with it, it is no hint
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

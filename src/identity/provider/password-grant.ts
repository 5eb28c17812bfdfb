/** Adds the password grant (RFC 6749, 4.3), which oidc-provider lacks. It is modelled on the refresh grant of oidc-provider. */
import type { Ctx, Provider } from 'oidc-provider'
import { epochSeconds, type InstanceContext } from './instance-context.ts'
import { extrasOf, tooManyAttempts } from './library.ts'

export function usePasswordGrant(provider: Provider, context: InstanceContext, findAccount: FindAccount) {
  const { kit, core, library, realm } = context
  const { errors } = library

  async function logIn(ctx: Ctx, username: string, password: string, totp: string | undefined) {
    const { address } = extrasOf(ctx)
    const result = await core.accounts.logIn(realm.tenantId, { username, password, address })
    if (result === 'wrong')
      throw Object.assign(new errors.InvalidGrant('wrong user name or password'), {
        error_description: 'Invalid user credentials',
      })
    if ('wait' in result) throw tooManyAttempts(library, ctx, result)
    await checkSecondFactor(ctx, result.user.id, totp)
    return result.user
  }

  const refused = (description: string) =>
    Object.assign(new errors.InvalidGrant('second factor'), { error_description: description })

  /**
   * Checks the second factor of a password grant. The parameter is called `totp`, as in Keycloak. Recovery codes and security keys need the
   * sign-in page.
   */
  async function checkSecondFactor(ctx: Ctx, userId: string, totp: string | undefined) {
    const required = await core.secondFactors.requirementOf(realm, userId)
    if (required === 'none') return
    if (required === 'enrol')
      throw refused('Account is not fully set up: the user must sign in with a browser and add a second factor')
    if (totp === undefined || totp === '')
      throw refused('The user has a second factor: send the code of its app in the parameter totp')
    const { address } = extrasOf(ctx)
    const checked = await core.secondFactors.checkCode(realm.tenantId, userId, totp, address, false)
    if (checked === 'wrong') throw refused('The code in totp is wrong, or it was used already')
    if ('wait' in checked) throw tooManyAttempts(library, ctx, checked)
  }

  async function handler(ctx: Ctx) {
    const { client, params = {} } = ctx.oidc
    const { username, password, totp } = params
    if (!username) throw new errors.InvalidRequest("missing required parameter 'username'")
    if (!password) throw new errors.InvalidRequest("missing required parameter 'password'")
    const user = await logIn(ctx, username, password, totp)
    const account = await findAccount(ctx, user.id)
    if (!account) throw new errors.InvalidGrant('the user is gone')

    const scope = [...ctx.oidc.requestParamOIDCScopes].join(' ')
    const authTime = epochSeconds(kit)
    const grant = new provider.Grant({ accountId: user.id, clientId: client.clientId })
    grant.addOIDCScope(scope)
    // One transaction creates the login and its first refresh token.
    await core.transaction.run(async () => {
      const grantId = await grant.save()
      ctx.oidc.entity('Account', account)
      ctx.oidc.entity('Grant', grant)

      const common = { accountId: user.id, client, grantId, gty: 'password', scope, sid: grantId }
      const accessToken = new provider.AccessToken(common)
      const refreshToken = new provider.RefreshToken({ ...common, authTime, rotations: 0 })
      ctx.oidc.entity('AccessToken', accessToken)
      ctx.oidc.entity('RefreshToken', refreshToken)
      ctx.body = {
        access_token: await accessToken.save(),
        expires_in: accessToken.expiration,
        refresh_token: await refreshToken.save(),
        token_type: 'Bearer',
        scope,
        ...(scope.split(' ').includes('openid') && { id_token: await idToken(ctx, { scope, grantId, authTime }) }),
      }
    })
  }

  async function idToken(ctx: Ctx, { scope, grantId, authTime }: { scope: string; grantId: string; authTime: number }) {
    const claims = await ctx.oidc.account.claims('id_token', scope)
    const token = new provider.IdToken({ ...claims, auth_time: authTime }, { ctx })
    token.scope = scope
    token.set('auth_time', authTime)
    token.set('sid', grantId)
    return token.issue({ use: 'idtoken' })
  }

  provider.registerGrantType('password', handler, ['username', 'password', 'totp', 'scope'])
}

export type FindAccount = (
  ctx: unknown,
  id: string,
) => Promise<import('./jwt-access-tokens.ts').UserAccount | undefined>

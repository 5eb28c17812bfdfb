/** One realm as an instance of the library: about 1.4 ms and 70 KB, made on first use (instances.ts). */
import type { Client, Ctx, Provider, Token } from 'oidc-provider'
import type { Kit } from '../../kernel/define-service.ts'
import type { Core } from '../core.ts'
import { createSigner, loginSecondsMax } from '../keys.ts'
import { confirmLogoutPage, errorPage, loggedOutPage, type Page } from '../pages/pages.ts'
import type { Realm } from '../types.ts'
import { createAdapter } from './adapter.ts'
import { adjustModels } from './adjustments.ts'
import { answerAccidents, answerLikeKeycloak, guardPages, inOneTransaction } from './answers.ts'
import { type UserAccount, useJwtAccessTokens, userClaims } from './jwt-access-tokens.ts'
import { connectPath, defaultScopes, extrasOf, loadLibrary } from './library.ts'
import { useOneStepLogout } from './logout.ts'
import { usePasswordGrant } from './password-grant.ts'
import { epochSeconds, type Setting } from './setting.ts'

export async function createInstance(kit: Kit, core: Core, realm: Realm): Promise<Provider> {
  const library = await loadLibrary()
  const issuer = core.realms.issuerOf(realm.tenantId)
  const mount = new URL(issuer).pathname
  const setting: Setting = { kit, core, library, realm, issuer, mount, signer: await createSigner(realm, kit.secrets) }

  async function findAccount(_ctx: unknown, id: string): Promise<UserAccount | undefined> {
    const user = await core.accounts.find(realm.tenantId, id)
    if (!user?.enabled) return undefined
    return { accountId: user.id, user, claims: async () => ({ sub: user.id, ...userClaims(user) }) }
  }

  const provider: Provider = new library.Provider(issuer, {
    ...configurationOf(setting),
    findAccount,
    loadExistingGrant: (ctx: Ctx) => grantOfLogin(provider, ctx),
  })
  provider.proxy = true // only for X-Forwarded-Proto, which the edge sets itself
  provider.on('error', () => {}) // Koa prints otherwise
  provider.on('server_error', (ctx: Ctx, error: Error) => {
    extrasOf(ctx).failure = error
  })

  adjustModels(provider, setting)
  useJwtAccessTokens(provider, setting)
  usePasswordGrant(provider, setting, findAccount)
  provider.use(answerAccidents(setting))
  provider.use(guardPages)
  provider.use(inOneTransaction(setting))
  provider.use(answerLikeKeycloak)
  useOneStepLogout(provider, setting)
  return provider
}

/** First party: who logs in has consented. One grant for each login (session and client) = one refresh token family. */
async function grantOfLogin(provider: Provider, { oidc }: Ctx) {
  const { clientId } = oidc.client
  const id = oidc.session.grantIdFor(clientId)
  const known = id === undefined ? undefined : await provider.Grant.find(id)
  const grant = known ?? new provider.Grant({ accountId: oidc.session.accountId, clientId })
  const before = grant.getOIDCScope()
  grant.addOIDCScope(['openid', ...defaultScopes].join(' '))
  if (grant.getOIDCScope() !== before) await grant.save()
  return grant
}

const show = (page: Page) => async (ctx: Ctx) => {
  ctx.type = 'html'
  for (const [name, value] of Object.entries(page.headers)) ctx.set(name, value)
  ctx.body = page.html
}

function configurationOf(setting: Setting) {
  const { kit, realm, mount, signer } = setting
  const name = realm.displayName ?? realm.tenantId
  const loginSeconds = Math.max(loginSecondsMax, realm.refreshTokenSeconds)
  return {
    adapter: createAdapter(setting),
    jwks: { keys: signer.jwks },
    scopes: ['openid', ...defaultScopes],
    claims: {
      openid: ['sub'],
      profile: ['name', 'given_name', 'family_name', 'preferred_username'],
      email: ['email', 'email_verified'],
      auth_time: null,
      sid: null,
      acr: null,
      iss: null,
    },
    conformIdTokenClaims: false, // Keycloak's id_token carries the claims of its scopes
    responseTypes: ['code'],
    grantTypes: ['authorization_code', 'refresh_token', 'client_credentials'],
    clientAuthMethods: ['client_secret_basic', 'client_secret_post', 'none'],
    pkce: { required: () => true },
    rotateRefreshToken: true,
    issueRefreshToken: async (_ctx: unknown, client: Client) => client.grantTypeAllowed('refresh_token'), // not only with offline_access
    expiresWithSession: async () => true,
    ttl: {
      AccessToken: realm.accessTokenSeconds,
      ClientCredentials: realm.accessTokenSeconds,
      IdToken: realm.accessTokenSeconds,
      AuthorizationCode: 60,
      Interaction: 1800,
      Session: loginSeconds,
      Grant: loginSeconds,
      // Never longer than the login itself.
      RefreshToken: (ctx: Ctx) => {
        const left = (ctx.oidc.grant?.exp ?? Number.POSITIVE_INFINITY) - epochSeconds(kit)
        return Math.max(1, Math.min(realm.refreshTokenSeconds, left))
      },
    },
    routes: {
      authorization: `${connectPath}/auth`,
      token: `${connectPath}/token`,
      userinfo: `${connectPath}/userinfo`,
      jwks: `${connectPath}/certs`,
      revocation: `${connectPath}/revoke`,
      introspection: `${connectPath}/token/introspect`,
      end_session: `${connectPath}/logout`,
    },
    cookies: {
      keys: [kit.secrets.open(realm.cookieKeySealed)],
      names: { session: 'waypost_session', interaction: 'waypost_interaction', resume: 'waypost_resume' },
      // On '/' the realms would overwrite each other's.
      long: { path: `${mount}/`, httpOnly: true, sameSite: 'lax', signed: true },
      short: { httpOnly: true, sameSite: 'lax', signed: true },
    },
    features: featuresOf(name),
    interactions: { url: async (_ctx: unknown, { uid }: { uid: string }) => `${mount}/login/${uid}` },
    async renderError(ctx: Ctx, out: { error: string; error_description?: string }) {
      const inBrowser = /^(authorization|resume|end_session)/.test(ctx.oidc?.route ?? '')
      if (inBrowser) await show(errorPage({ name, ...problemOf(out) }))(ctx)
      else ctx.body = out // a browser's Accept header must not turn the token endpoint's JSON into a page
    },
  }
}

const problemOf = (out: { error: string; error_description?: string }) => ({
  title: out.error === 'server_error' ? 'Something went wrong' : 'Sign-in not possible',
  text: out.error_description ?? 'Please go back to the application and start again.',
  code: out.error,
})

const featuresOf = (name: string) => ({
  devInteractions: { enabled: false },
  clientCredentials: { enabled: true },
  revocation: {
    enabled: true,
    allowedPolicy: async (_ctx: unknown, client: Client, token: Token) => client.clientId === token.clientId,
  },
  introspection: {
    enabled: true,
    allowedPolicy: async (_ctx: unknown, client: Client, token: Token) =>
      client.clientAuthMethod !== 'none' || client.clientId === token.clientId,
  },
  userinfo: { enabled: true },
  rpInitiatedLogout: {
    enabled: true,
    logoutSource: (ctx: Ctx, form: string) => show(confirmLogoutPage({ name, form }))(ctx),
    postLogoutSuccessSource: show(loggedOutPage({ name })),
  },
  resourceIndicators: { enabled: false },
  dPoP: { enabled: false },
  pushedAuthorizationRequests: { enabled: false },
})

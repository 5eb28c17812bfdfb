/** Creates the instance of oidc-provider for one realm. This takes 1.4 ms and 70 KB, so `instances.ts` caches instances. */
import type { Client, Ctx, Provider, Token } from 'oidc-provider'
import type { Kit } from '../../kernel/define-service.ts'
import { findClient } from '../clients.ts'
import type { Core } from '../core.ts'
import { confirmLogoutPage, errorPage, loggedOutPage, type Page } from '../pages/pages.ts'
import { createSigner, loginSecondsMax } from '../signing-keys.ts'
import type { Realm } from '../types.ts'
import { createAdapter } from './adapter.ts'
import { adjustModels } from './adjustments.ts'
import { epochSeconds, type InstanceContext } from './instance-context.ts'
import { type UserAccount, useJwtAccessTokens, userClaims } from './jwt-access-tokens.ts'
import { connectPath, defaultScopes, extrasOf, loadLibrary, sessionCookie } from './library.ts'
import { useOneStepLogout } from './logout.ts'
import {
  answerLikeKeycloak,
  answerUnexpectedErrors,
  inOneTransaction,
  requireClientToIntrospect,
  setPageHeaders,
} from './middleware.ts'
import { usePasswordGrant } from './password-grant.ts'

export async function createInstance(kit: Kit, core: Core, realm: Realm): Promise<Provider> {
  const library = await loadLibrary()
  const issuer = core.realms.issuerOf(realm.tenantId)
  const mount = new URL(issuer).pathname
  const context: InstanceContext = {
    kit,
    core,
    library,
    realm,
    issuer,
    mount,
    signer: await createSigner(realm, kit.secrets),
  }

  async function findAccount(_ctx: unknown, id: string): Promise<UserAccount | undefined> {
    const user = await core.accounts.find(realm.tenantId, id)
    if (!user?.enabled) return undefined
    // Clients of Keycloak accept an ID token only with this `typ`.
    const claims = async (use: string) => ({
      sub: user.id,
      ...(use === 'id_token' && { typ: 'ID' }),
      ...userClaims(user),
    })
    return { accountId: user.id, user, claims }
  }

  const provider: Provider = new library.Provider(issuer, {
    ...configurationOf(context),
    findAccount,
    loadExistingGrant: (ctx: Ctx) => grantOfLogin(provider, ctx),
  })
  provider.proxy = true // This is needed only for X-Forwarded-Proto, which realm-routes.ts sets.
  provider.on('error', () => {}) // Without a handler, Koa would print errors.
  provider.on('server_error', (ctx: Ctx, error: Error) => {
    extrasOf(ctx).failure = error
  })

  adjustModels(provider, context)
  useJwtAccessTokens(provider, context)
  usePasswordGrant(provider, context, findAccount)
  provider.use(answerUnexpectedErrors(context))
  provider.use(setPageHeaders)
  provider.use(inOneTransaction(context))
  provider.use(requireClientToIntrospect(context))
  provider.use(answerLikeKeycloak(context))
  useOneStepLogout(provider, context)
  return provider
}

/** Returns the grant of a login (session and client). Clients are first-party, so the user is not asked for consent. */
async function grantOfLogin(provider: Provider, { oidc }: Ctx) {
  const { clientId } = oidc.client
  const id = oidc.session.grantIdFor(clientId)
  const existing = id === undefined ? undefined : await provider.Grant.find(id)
  const grant = existing ?? new provider.Grant({ accountId: oidc.session.accountId, clientId })
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

function configurationOf(context: InstanceContext) {
  const { kit, realm, mount, signer } = context
  const name = realm.displayName ?? realm.tenantId
  const loginSeconds = Math.max(loginSecondsMax, realm.refreshTokenSeconds)
  return {
    adapter: createAdapter(context),
    jwks: { keys: signer.jwks },
    scopes: ['openid', ...defaultScopes],
    claims: {
      openid: ['sub', 'typ', 'preferred_username'],
      profile: ['name', 'given_name', 'family_name', 'preferred_username'],
      email: ['email', 'email_verified'],
      auth_time: null,
      sid: null,
      acr: null,
      iss: null,
    },
    conformIdTokenClaims: false, // In Keycloak, an id_token contains the claims of its scopes.
    responseTypes: ['code'],
    grantTypes: ['authorization_code', 'refresh_token', 'client_credentials'],
    clientAuthMethods: ['client_secret_basic', 'client_secret_post', 'none'],
    // An address is never chosen for the client: the library would choose the base URL, which does not exchange the code.
    allowOmittingSingleRegisteredRedirectUri: false,
    pkce: { required: (_ctx: unknown, client: Client) => findClient(realm, client.clientId)?.pkceRequired !== false },
    rotateRefreshToken: true,
    issueRefreshToken: async (_ctx: unknown, client: Client) => client.grantTypeAllowed('refresh_token'), // A refresh token is issued even without the scope offline_access.
    expiresWithSession: async () => true,
    ttl: {
      AccessToken: realm.accessTokenSeconds,
      ClientCredentials: realm.accessTokenSeconds,
      IdToken: realm.accessTokenSeconds,
      AuthorizationCode: 60,
      Interaction: 1800,
      Session: loginSeconds,
      Grant: loginSeconds,
      // A refresh token must not outlive its login.
      RefreshToken: (ctx: Ctx) => {
        const remainingSeconds = (ctx.oidc.grant?.exp ?? Number.POSITIVE_INFINITY) - epochSeconds(kit)
        return Math.max(1, Math.min(realm.refreshTokenSeconds, remainingSeconds))
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
      names: { session: sessionCookie, interaction: 'waypost_interaction', resume: 'waypost_resume' },
      // With the path '/', the realms would overwrite each other's cookies.
      long: { path: `${mount}/`, httpOnly: true, sameSite: 'lax', signed: true },
      short: { httpOnly: true, sameSite: 'lax', signed: true },
    },
    features: featuresOf(name),
    interactions: { url: async (_ctx: unknown, { uid }: { uid: string }) => `${mount}/login/${uid}` },
    async renderError(ctx: Ctx, out: { error: string; error_description?: string }) {
      extrasOf(ctx).shownError = out.error
      const inBrowser = /^(authorization|resume|end_session)/.test(ctx.oidc?.route ?? '')
      if (inBrowser) await show(errorPage({ name, ...problemOf(out) }))(ctx)
      else ctx.body = out // The token endpoint always returns JSON, whatever the Accept header says.
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

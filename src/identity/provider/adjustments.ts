/** The library's own extension points end here: what follows replaces methods of one instance's models. */
import type { Provider } from 'oidc-provider'
import { clientOf, redirectAllowed, secretMatches } from '../clients.ts'
import { extrasOf, tooMany } from './library.ts'
import type { Setting } from './setting.ts'

export function adjustModels(provider: Provider, { kit, core, library, realm }: Setting) {
  const { Client, Session, OIDCContext } = provider
  const { errors } = library

  // Links are made of the issuer, never of the Host header or an absolute request target.
  OIDCContext.prototype.urlFor = (name, options) => provider.urlFor(name, options)

  const mayRedirect = function (this: { clientId: string; redirectUris: string[] }, uri: unknown) {
    const client = clientOf(realm, this.clientId)
    return client?.kind === 'frontend' && redirectAllowed(kit.baseUrl(), client, uri)
  }
  Client.prototype.redirectUriAllowed = mayRedirect
  Client.prototype.postLogoutRedirectUriAllowed = mayRedirect

  Client.prototype.compareClientSecret = async function (secret) {
    const ctx = library.Provider.ctx!
    const who = { account: `client\n${realm.tenantId}\n${this.clientId}`, address: extrasOf(ctx).address }
    const { wait, known } = await core.throttle.look(who)
    if (wait > 0) throw tooMany(library, ctx, { wait, locked: true })
    const client = clientOf(realm, this.clientId)
    if (client && secretMatches(client, secret, kit.now(), kit.secrets)) {
      if (known) await core.throttle.forget(who)
      return true
    }
    const counted = await core.throttle.count(who)
    if (counted.wait > 0) throw tooMany(library, ctx, counted)
    return false
  }

  // RFC 6749, 5.2: unauthorized_client; the library says invalid_request.
  Client.prototype.grantTypeAllowed = function (type) {
    const { oidc } = library.Provider.ctx ?? {}
    const allowed = this.grantTypes.includes(type)
    if (!allowed && oidc?.route === 'token' && oidc.params?.grant_type === type && !oidc.grant)
      throw new errors.UnauthorizedClient('grant type is not allowed for this client')
    return allowed
  }

  // The claim sid is the grant's id: from an access token to its login without a lookup.
  Client.prototype.includeSid = () => true
  Session.prototype.sidFor = function (clientId, value) {
    return value ? undefined : this.grantIdFor(clientId)
  }
}

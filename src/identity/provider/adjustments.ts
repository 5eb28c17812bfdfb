/** Replaces methods of oidc-provider's models for which oidc-provider has no extension point. */
import type { Provider } from 'oidc-provider'
import { findClient, isRedirectAllowed, secretMatches } from '../clients.ts'
import type { InstanceContext } from './instance-context.ts'
import { extrasOf, tooManyAttempts } from './library.ts'

export function adjustModels(provider: Provider, { kit, core, library, realm }: InstanceContext) {
  const { Client, Session, OIDCContext } = provider
  const { errors } = library

  // Links are built from the issuer, never from the Host header or an absolute request target.
  OIDCContext.prototype.urlFor = (name, options) => provider.urlFor(name, options)

  const mayRedirect = function (this: { clientId: string; redirectUris: string[] }, uri: unknown) {
    const client = findClient(realm, this.clientId)
    return !!client && isRedirectAllowed(kit.baseUrl(), client, uri)
  }
  Client.prototype.redirectUriAllowed = mayRedirect
  Client.prototype.postLogoutRedirectUriAllowed = mayRedirect

  Client.prototype.compareClientSecret = async function (secret) {
    const ctx = library.Provider.ctx!
    const { tenantId } = realm
    const subject = { tenantId, type: 'client' as const, id: this.clientId }
    const attempt = { account: `client\n${tenantId}\n${this.clientId}`, address: extrasOf(ctx).address, subject }
    const { wait, known } = await core.lockout.read(attempt)
    const client = findClient(realm, this.clientId)
    // A lockout does not apply to the correct secret: otherwise anybody could lock out a client. A secret of 256 bits cannot be guessed.
    if (client && secretMatches(client, secret, kit.now(), kit.secrets)) {
      if (known) await core.lockout.reset(attempt)
      return true
    }
    if (wait > 0) throw tooManyAttempts(library, ctx, { wait, locked: true })
    const counted = await core.lockout.countFailure(attempt)
    if (counted.wait > 0) throw tooManyAttempts(library, ctx, counted)
    return false
  }

  // RFC 6749, 5.2 requires unauthorized_client, but the library returns invalid_request.
  Client.prototype.grantTypeAllowed = function (type) {
    const { oidc } = library.Provider.ctx ?? {}
    const allowed = this.grantTypes.includes(type)
    if (!allowed && oidc?.route === 'token' && oidc.params?.grant_type === type && !oidc.grant)
      throw new errors.UnauthorizedClient('grant type is not allowed for this client')
    return allowed
  }

  // The claim `sid` is the id of the grant, so that the login of an access token is known without a lookup.
  Client.prototype.includeSid = () => true
  Session.prototype.sidFor = function (clientId, value) {
    return value ? undefined : this.grantIdFor(clientId)
  }
}

/**
 * Issues and reads access tokens as JWTs with Keycloak's claims. The library oidc-provider treats them as opaque tokens, because the JWTs
 * that it issues itself cannot be introspected, revoked or used at the userinfo endpoint.
 */
import type { Account, Provider, Token } from 'oidc-provider'
import { findClient } from '../clients.ts'
import type { User } from '../types.ts'
import { epochSeconds, type InstanceContext } from './instance-context.ts'

export type UserAccount = Account & { user: User }

type Claims = Record<string, unknown> & { sid?: string; sub: string; azp: string; exp: number; iat: number }

export function useJwtAccessTokens(provider: Provider, context: InstanceContext) {
  const { kit, core, library, realm, issuer, signer } = context
  const { tenantId } = realm
  const { AccessToken, ClientCredentials } = provider

  const commonClaims = (token: Token) => {
    token.jti ??= token.generateTokenId()
    token.iat ??= epochSeconds(kit)
    token.exp ??= token.iat + token.expiration
    const { exp, iat, jti, clientId: azp, scope = '' } = token
    return { exp, iat, jti, iss: issuer, aud: 'account', typ: 'Bearer', azp, scope }
  }
  const roleClaims = (clientId: string, names: string[]) => ({
    realm_access: { roles: names },
    resource_access: { [clientId]: { roles: names } },
  })

  // If the result has no payload, the library stores nothing.
  AccessToken.prototype.getValueAndPayload = async function () {
    const { user } = library.Provider.ctx!.oidc.account as UserAccount
    const claims = { ...userClaims(user), ...roleClaims(this.clientId, user.roles) }
    return { value: await signer.sign({ ...commonClaims(this), sub: user.id, sid: this.grantId, ...claims }) }
  }
  ClientCredentials.prototype.getValueAndPayload = async function () {
    const owner = findClient(realm, this.clientId)!
    return {
      value: await signer.sign({
        ...commonClaims(this),
        sub: owner.id,
        client_id: owner.id,
        preferred_username: `service-account-${owner.id}`,
        ...roleClaims(owner.id, owner.roles),
      }),
    }
  }

  const read = async (value: unknown) =>
    typeof value === 'string' ? ((await core.accessTokens.read(realm, unwrap(value))) as Claims | undefined) : undefined
  const fieldsOf = ({ exp, iat, jti, iss: _, scope, azp, ...extra }: Claims) => ({
    exp,
    iat,
    jti,
    scope,
    clientId: azp,
    extra: { ...extra, azp },
  })
  AccessToken.find = async (value) => {
    const claims = await read(value)
    if (!claims?.sid) return undefined
    // A revocation gets no grant id, so that the library revokes only this token. With the id, it would also end the login.
    const grantId = library.Provider.ctx?.oidc.route === 'revocation' ? undefined : claims.sid
    return new AccessToken({ ...fieldsOf(claims), accountId: claims.sub, grantId, sid: claims.sid })
  }
  ClientCredentials.find = async (value) => {
    const claims = await read(value)
    return claims && !claims.sid ? new ClientCredentials(fieldsOf(claims)) : undefined
  }
  const deny = function (this: Token) {
    const { jti, exp } = this
    return core.transaction.tx((sql) => core.deniedTokens.add(sql, tenantId, 'jti', [jti], new Date(exp * 1000)))
  }
  AccessToken.prototype.destroy = deny
  ClientCredentials.prototype.destroy = deny
}

export const userClaims = (user: User) => ({
  preferred_username: user.username,
  email: user.email,
  // The e-mail address counts as not verified, because an administrator entered it.
  email_verified: user.email === undefined ? undefined : false,
  name: [user.firstName, user.lastName].filter(Boolean).join(' ') || undefined,
  given_name: user.firstName,
  family_name: user.lastName,
})

/** Encodes a JWT in base64url, because the library's `revoke` and `introspect` reject values that look like a JWT. */
export const wrap = (token: string) =>
  token.split('.').length === 3 ? Buffer.from(token).toString('base64url') : token
const unwrap = (value: string) => (value.includes('.') ? value : Buffer.from(value, 'base64url').toString())

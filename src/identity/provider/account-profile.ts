/** The profile of a user at the path `account`, as in Keycloak: `keycloak.loadUserProfile()` reads it with an access token. */
import type { FastifyRequest } from 'fastify'
import type { Core } from '../core.ts'
import type { Realm } from '../types.ts'

const bearer = /^bearer +(\S+) *$/i

/** Returns whether the request is for the profile. Browsers that show the page of the account send no access token. */
export const isForProfile = ({ method, headers }: Pick<FastifyRequest, 'method' | 'headers'>, path: string) =>
  path === 'account' && method === 'GET' && bearer.test(headers.authorization ?? '')

/** Returns the profile, or undefined if the token is invalid or belongs to no user. */
export async function readProfile({ accessTokens, accounts }: Core, realm: Realm, authorization: string) {
  const [, token = ''] = bearer.exec(authorization) ?? []
  const claims = await accessTokens.read(realm, token)
  // Tokens without a login belong to service accounts.
  if (claims?.sub === undefined || claims.sid === undefined) return undefined
  const user = await accounts.find(realm.tenantId, claims.sub)
  if (!user?.enabled) return undefined
  const { id, username, firstName, lastName, email } = user
  return { id, username, firstName, lastName, email, emailVerified: false, attributes: {} }
}

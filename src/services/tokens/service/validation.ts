/** Finds the endpoint of a token. This code runs for every connection. */
import { type Tokens, tokenLengthMax } from '../contract.ts'
import type { TokenDeps } from './deps.ts'
import type { Activate } from './status.ts'

type Deps = Pick<TokenDeps, 'applications' | 'key' | 'cache'> & {
  kit: Pick<TokenDeps['kit'], 'db'>
  activate: Activate
}

export async function validate(
  deps: Deps,
  presented: Parameters<Tokens['validate']>[0],
): ReturnType<Tokens['validate']> {
  const found = await examine(deps, presented)
  return found === undefined || 'status' in found ? undefined : found
}

export async function examine(
  { kit, applications, key, cache, activate }: Deps,
  { token, versionName }: Parameters<Tokens['examine']>[0],
): ReturnType<Tokens['examine']> {
  // The limit counts characters, as the schemas do. A character can consist of two UTF-16 units.
  if (token.length > 2 * tokenLengthMax || [...token].length > tokenLengthMax) return undefined
  const version = await applications.findVersion(versionName)
  if (!version) return undefined
  const { applicationName } = version
  const tokenHash = await key.hashOf(kit.db.sql, applicationName, token)
  for (;;) {
    const row = await cache.find({ applicationName, tokenHash })
    // The name of a deleted application may now belong to another tenant.
    if (!row || row.tenantId !== version.tenantId) return undefined
    const { tenantId, endpointId, endpointTokenId, status } = row
    if (status === 'Suspended' || status === 'Revoked') return { endpointId, status }
    if (status === 'Active' || (await activate(row))) return { tenantId, applicationName, endpointId, endpointTokenId }
    // Another caller changed the status first, perhaps on a node whose event has not arrived yet. The token is read again.
    cache.drop(tokenHash)
  }
}

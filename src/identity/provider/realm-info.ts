/** The description of a realm at its own address, as in Keycloak: scripts and older adapters read the public key from this description. */
import { createPublicKey } from 'node:crypto'
import type { Core } from '../core.ts'
import type { Realm } from '../types.ts'

/** Returns the description with the key that signs new tokens. Creates the key first if the realm has no key. */
export async function realmInfoOf({ realms, signingKeys }: Core, requested: Realm) {
  const { tenantId, keys } = await signingKeys.ensure(requested)
  const key = createPublicKey({ key: { ...keys[0]!.publicJwk }, format: 'jwk' })
  const issuer = realms.issuerOf(tenantId)
  return {
    realm: tenantId,
    public_key: key.export({ type: 'spki', format: 'der' }).toString('base64'),
    'token-service': `${issuer}/protocol/openid-connect`,
    'account-service': `${issuer}/account`,
    'tokens-not-before': 0,
  }
}

/** Names of services in the specification that are not implemented yet. Each part moves to the service's `index.ts` with it. */
import { heldBy, scopes } from '../identity/contract.ts'
import { type ConfigurationInstance, defineInstance } from '../kernel/configuration.ts'

/** APIs by their names in WAYPOST_AUTH, with their roots (document 3, "Words and roots"). They do not exist yet. */
export const reservedApis: Record<string, string[]> = {
  ingest: ['/asf/api/v1'],
  assets: ['/am'],
}

const reserved = (name: string, group: string, description: string) =>
  defineInstance({ name, group, description, urlPrefix: `/${name}` })

/** Service instances that can already be configured. */
export const reservedInstances: ConfigurationInstance[] = [
  reserved('am', 'Identity management', 'Asset manager'),
  reserved('asf', 'Data collection', 'Ingest pipelines'),
]

const existing = ['read', 'update', 'delete']

/** Scopes that roles can already hold. */
export const reservedScopes: Record<string, readonly string[]> = {
  // Assets
  'tenant:asset-type:create': heldBy.tenantAdmins,
  ...scopes('asset-type', existing, heldBy.tenantAdmins),
  'asset-type:asset:create': heldBy.tenantAdmins,
  ...scopes('asset', existing, heldBy.tenantAdmins),
}

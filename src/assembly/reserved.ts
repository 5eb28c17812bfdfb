/** Names of services in the specification that are not implemented yet. Each part moves to the service's `index.ts` with it. */
import { type ConfigurationInstance, defineInstance } from '../kernel/configuration.ts'

/** APIs by their names in WAYPOST_AUTH, with their roots (document 3, "Words and roots"). They do not exist yet. */
export const reservedApis: Record<string, string[]> = {
  ingest: ['/asf/api/v1'],
}

const reserved = (name: string, group: string, description: string) =>
  defineInstance({ name, group, description, urlPrefix: `/${name}` })

/** Service instances that can already be configured. */
export const reservedInstances: ConfigurationInstance[] = [reserved('asf', 'Data collection', 'Ingest pipelines')]

/** Scopes that roles can already hold. */
export const reservedScopes: Record<string, readonly string[]> = {}

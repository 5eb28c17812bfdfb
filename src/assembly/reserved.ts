/** Names of services in the specification that are not implemented yet; at the moment all are. */
import type { ConfigurationInstance } from '../kernel/configuration.ts'

/** APIs by their names in WAYPOST_AUTH, with their roots (document 3, "Words and roots"). They do not exist yet. */
export const reservedApis: Record<string, string[]> = {}

/** Service instances that can already be configured. */
export const reservedInstances: ConfigurationInstance[] = []

/** Scopes that roles can already hold. */
export const reservedScopes: Record<string, readonly string[]> = {}

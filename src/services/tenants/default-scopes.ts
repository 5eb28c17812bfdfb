/**
 * Every scope of the platform and the built-in roles that hold it: the one table from which a fresh platform's roles,
 * scopes and mappings are seeded (defaults.ts). A scope that is added here reaches every tenant after the next start.
 */
import { catalogues } from './catalogues.ts'

export const builtInRoles = {
  'tenant-admin': 'Everything in its tenant',
  service: "The tenant's backend client: every scope at tenant level",
  'application-admin': 'Applications and all that belongs to them',
  'application-reader': 'Reads applications and all that belongs to them',
  'endpoint-admin': 'Endpoints, their data, configuration and commands',
  'endpoint-reader': 'Reads endpoints and their data',
  'platform-admin': 'Everything on the platform; only in realm platform',
} as const
export type BuiltInRole = keyof typeof builtInRoles

type Holders = readonly BuiltInRole[]

const tenant: Holders = ['tenant-admin', 'service']
const applicationAdmins: Holders = [...tenant, 'application-admin']
const applicationReaders: Holders = [...applicationAdmins, 'application-reader']
const endpointAdmins: Holders = [...applicationAdmins, 'endpoint-admin']
const endpointReaders: Holders = [...endpointAdmins, 'application-reader', 'endpoint-reader']
const platform: Holders = []

const family = (scope: string, words: readonly string[], holders: Holders) =>
  words.map((word): [string, Holders] => [`${scope}:${word}`, holders])

const all = ['create', 'read', 'update', 'delete'] as const
const existing = ['read', 'update', 'delete'] as const

/** The kinds of document 3, 2.9: create on the tenant, the rest on the action or trigger itself. */
const library = (kind: string) => [...family(`tenant:${kind}`, ['create'], tenant), ...family(kind, existing, tenant)]
const actions = [
  'webhook',
  'rule-execution',
  'send-email',
  'command-invocation',
  'metadata-update',
  'data-sample',
  'time-series',
  'alert-activation',
  'alert-resolution',
]
const triggers = [
  'endpoint-metadata-updated',
  'endpoint-data-samples-received',
  'endpoint-time-series-updated',
  'endpoint-command-dispatched',
  'endpoint-command-result-received',
  'alert-lifecycle-event',
  'cron',
]

/** Scope → who holds it; `platform-admin` holds all of them, on the platform. */
export const defaultScopes: ReadonlyMap<string, Holders> = new Map<string, Holders>([
  // Applications
  ['tenant:application:create', applicationAdmins],
  ['application:read', applicationReaders],
  ...family('application', ['update', 'delete'], applicationAdmins),
  ...family('tenant:configuration', ['read', 'update'], tenant),

  // Endpoints
  ['application:endpoint:create', endpointAdmins],
  ['endpoint:read', endpointReaders],
  ...family('endpoint', ['update', 'delete'], endpointAdmins),
  ['application:endpoints-metadata-keys:read', endpointReaders],
  ['application:endpoint-filter:read', endpointReaders],
  ...family('application:endpoint-filter', ['create', 'update', 'delete'], applicationAdmins),
  ['application:endpoint-config:read', applicationReaders],
  ...family('application:endpoint-config', ['update', 'delete'], applicationAdmins),
  ['application:endpoint-command:read', endpointReaders],
  ['application:software:read', applicationReaders],
  ...family('application:software', ['update', 'delete'], applicationAdmins),
  ['application:timeseries-config:read', endpointReaders],
  ['time-series:read', endpointReaders],
  ['time-series:update', endpointAdmins],
  ['tenant:refusal:read', tenant],

  // Credentials and VPN clients
  ...family('tenant:basic-credentials', ['create', 'read', 'update'], tenant),
  ...family('tenant:x509-credentials', ['create', 'read', 'update'], tenant),
  ...family('vpnclient', all, tenant),

  // Rules, actions, triggers, alerts
  ...family('rule', ['read', 'update', 'delete', 'execute'], tenant),
  ['tenant:rule:create', tenant],
  ...actions.flatMap((action) => library(`${action}-action`)),
  ...triggers.flatMap((trigger) => library(`${trigger}-trigger`)),
  ['alert:read', endpointReaders],
  ['alert:update', endpointAdmins],

  // Assets
  ['tenant:asset-type:create', tenant],
  ...family('asset-type', existing, tenant),
  ['asset-type:asset:create', tenant],
  ...family('asset', existing, tenant),

  // LoRaWAN connector
  ['application:net-app-integration:create', applicationAdmins],
  ['net-app-integration:read', applicationReaders],
  ...family('net-app-integration', ['update', 'delete'], applicationAdmins),
  ['net-app-integration:net-device-integration:create', applicationAdmins],
  ['net-device-integration:read', applicationReaders],
  ...family('net-device-integration', ['update', 'delete'], applicationAdmins),
  ['tenant:net-account-integration:create', tenant],
  ...family('net-account-integration', existing, tenant),
  ['net-account-integration:net-gateway-integration:create', tenant],
  ...family('net-gateway-integration', existing, tenant),

  // Identity: within a tenant
  ...family('identity:user', all, tenant),
  ...family('identity:role', all, tenant),
  ...family('identity:grant', ['create', 'read', 'delete'], tenant),
  ...family('identity:api-key', ['create', 'read', 'delete'], tenant),
  ...family('identity:client', ['read', 'update'], tenant),
  ...family('identity:issuer', ['create', 'read', 'delete'], tenant),
  ['identity:tenant:read', tenant],

  // The platform
  ...family('identity:tenant', ['create', 'update', 'delete'], platform),
  ...family('platform:tenant', all, platform),
  ...catalogues.flatMap(({ entity }) => family(`platform:tenant:${entity}`, all, platform)),
  ...family('platform:tenant:configuration', ['read', 'update'], platform),
  ...family('platform:application', ['create', 'read', 'update'], platform),
])

/** The scopes that a tenant's own people can hold. */
export const tenantScopes = [...defaultScopes].filter(([, holders]) => holders.length > 0).map(([scope]) => scope)

/**
 * The catalogues of tenant manager v1: versioned templates, mappings and lists from which realms are built. Each catalogue has the
 * operations list, create, read, update and delete (routes/catalogues.ts). A new catalogue needs an entry here and a table.
 */
import { DateTimeText, JsonObject, Name, SerialId, Text, type TSchema, Type } from '../../kernel/schema.ts'
import { SubscriptionTypeV2, TenantId, Username } from './schemas/common.ts'

export interface Catalogue {
  path: string
  /** Path that existing clients use (document 3, "Words and roots"). */
  alias?: string
  /** Part of the scopes `platform:tenant:<entity>:create|read|update|delete`. */
  entity: string
  /** The name of one entry in error texts. */
  title: string
  /** Description of an entry in the API reference. */
  meaning: string
  /**
   * Table in the schema `tenants`. The names of its constraints end in `_<field>_key` or `_<field>_fkey`, from which the field of a 400 is
   * derived.
   */
  table: string
  /** Fields in the body of create and update. Responses also contain `id`. */
  fields: Record<string, TSchema>
  /** Column of tenants that references this catalogue. A referenced entry cannot be deleted. */
  usedAs?: string
  /** Table of mappings. A version exists if it has an entry or if a mapping names it. */
  mappings?: string
}

const description = () => Type.Optional(Text({ maxLength: 2000, description: 'Free text. Default: none.' }))
const name = (text: string) => Name({ description: text })
const scopes = (text: string) =>
  Type.Array(name('Name of a scope, such as `endpoint:read`.'), { maxItems: 1000, description: text })
const version = () => SerialId({ description: 'Id of the version.' })
const amount = (text: string) =>
  Type.Optional(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, default: 0, description: text }))

const template = (noun: string) => ({
  template: JsonObject({ description: `Representation of ${noun}, with the field names of Keycloak.` }),
  description: Text({ maxLength: 2000, description: 'Free text.' }),
})

export const catalogues = [
  {
    path: '/templates/realms',
    entity: 'realm-template',
    title: 'Realm template',
    meaning: 'Settings that the realm of a tenant is built with, such as the lifetime of tokens.',
    table: 'realm_templates',
    fields: template('a realm'),
    usedAs: 'realm_template_version',
  },
  {
    path: '/templates/realm-frontend-clients',
    entity: 'realm-frontend-client-template',
    title: 'Realm frontend client template',
    meaning: 'Settings of the public client of a realm, for logins of users.',
    table: 'realm_frontend_client_templates',
    fields: template('a public client'),
    usedAs: 'client_frontend_version',
  },
  {
    path: '/templates/realm-backend-clients',
    entity: 'realm-backend-client-template',
    title: 'Realm backend client template',
    meaning: 'Settings of the confidential client of a realm, for service accounts.',
    table: 'realm_backend_client_templates',
    fields: template('a confidential client'),
    usedAs: 'client_backend_version',
  },
  {
    path: '/roles',
    entity: 'role',
    title: 'Role',
    meaning: 'A role that realms can be built with.',
    table: 'roles',
    fields: { name: name('Name of the role, unique.'), description: description() },
    usedAs: 'user_roles',
  },
  {
    path: '/roles/versions',
    entity: 'role-version',
    title: 'Role version',
    meaning: 'A set of roles that a realm is built with; the role-version mappings name the roles.',
    table: 'role_versions',
    fields: { description: description() },
    usedAs: 'roles_version',
    mappings: 'role_version_mappings',
  },
  {
    path: '/roles/versions-mappings',
    entity: 'idp-roles-versions-mappings',
    title: 'Role-version mapping',
    meaning: 'Puts a role into a role version.',
    table: 'role_version_mappings',
    fields: { version: version(), role: name('Name of the role that the version contains.') },
  },
  {
    path: '/roles/scopes-mappings',
    entity: 'idp-roles-scopes-mappings',
    title: 'Role-scope mapping',
    meaning: 'Gives a scope to a role.',
    table: 'role_scope_mappings',
    fields: { role: name('Name of the role.'), scope: name('Name of the scope that the role holds.') },
  },
  {
    path: '/scopes',
    entity: 'scope',
    title: 'Scope',
    meaning: 'A scope that realms can be built with.',
    table: 'scopes',
    fields: { name: name('Name of the scope, such as `endpoint:read`; unique.') },
  },
  {
    path: '/scopes/versions',
    entity: 'scope-version',
    title: 'Scope version',
    meaning: 'A set of scopes that a realm knows; the scope-version mappings name the scopes.',
    table: 'scope_versions',
    fields: { description: description() },
    usedAs: 'realm_scopes_version',
    mappings: 'scope_version_mappings',
  },
  {
    path: '/scopes/versions-mappings',
    entity: 'scope-version-mapping',
    title: 'Scope-version mapping',
    meaning: 'Puts a scope into a scope version.',
    table: 'scope_version_mappings',
    fields: { version: version(), scope: name('Name of the scope that the version contains.') },
  },
  {
    path: '/default-resources',
    entity: 'default-resource',
    title: 'Default resource',
    meaning: 'A resource that a new realm begins with.',
    table: 'default_resources',
    fields: {
      resource_name: name('Name of the resource, unique.'),
      resource_type: name('Kind of the resource.'),
      display_name: Text({ description: 'Name of the resource for people.' }),
      scopes: scopes('Scopes that can be held on the resource.'),
    },
  },
  {
    path: '/default-resources/versions',
    entity: 'default-resource-version',
    title: 'Default resource version',
    meaning: 'A set of default resources that a realm is built with.',
    table: 'default_resource_versions',
    fields: { description: description() },
    usedAs: 'resources_version',
    mappings: 'default_resource_version_mappings',
  },
  {
    path: '/default-resources/versions-mappings',
    entity: 'default-resource-version-mapping',
    title: 'Default resource version mapping',
    meaning: 'Puts a default resource into a default resource version.',
    table: 'default_resource_version_mappings',
    fields: { version: version(), resource: name('Name of the resource that the version contains.') },
  },
  {
    path: '/default-resources/scopes-mappings',
    entity: 'default-resource-scope-mapping',
    title: 'Default resource scope mapping',
    meaning: 'Allows a scope on a default resource.',
    table: 'default_resource_scope_mappings',
    fields: {
      resource: name('Name of the resource.'),
      scope: name('Name of the scope that can be held on the resource.'),
    },
  },
  {
    path: '/idps',
    entity: 'idp',
    title: 'Identity provider',
    meaning: 'An identity provider that a tenant can name.',
    table: 'idps',
    fields: { name: name('Name of the identity provider, unique.'), description: description() },
    usedAs: 'idp_version',
  },
  {
    path: '/idp-servers',
    alias: '/keycloak-servers',
    entity: 'idp-server',
    title: 'Identity provider server',
    meaning: 'A server of an identity provider that a tenant can name.',
    table: 'idp_servers',
    fields: { url: Type.String({ format: 'uri', maxLength: 2000, description: 'Address of the server, unique.' }) },
    usedAs: 'idp_server',
  },
  {
    path: '/packages-types',
    entity: 'package-type',
    title: 'Package type',
    meaning: 'The package that a tenant has booked, with its limits.',
    table: 'package_types',
    fields: {
      name: name('Name of the package type, unique.'),
      devices: amount('Number of devices. The platform only stores it. Default: 0.'),
      applications: amount('Number of applications. The platform only stores it. Default: 0.'),
      disk_size: amount(
        'Storage for files and blobs of the endpoints of a tenant, in bytes; 0: the quota of WAYPOST_BLOB_QUOTA_MB applies. Default: 0.',
      ),
      traffic: amount(
        'Bytes of samples and of the traffic log that a tenant may store a day (UTC); 0: WAYPOST_TENANT_MB_PER_DAY applies. Default: 0.',
      ),
      requests_per_second: amount(
        'HTTP requests a second of all callers of a tenant on each node; 0: WAYPOST_RATE_LIMIT_PER_TENANT applies. Default: 0.',
      ),
      description: description(),
    },
    usedAs: 'package_type',
  },
  {
    path: '/tenants-subscriptions',
    entity: 'tenant-subscription',
    title: 'Tenant subscription',
    meaning: 'A period in which a tenant has a subscription.',
    table: 'tenants_subscriptions',
    fields: {
      tenant_id: TenantId(),
      subscription_type: SubscriptionTypeV2('Kind of the subscription; the platform only stores it.'),
      starts_at: Type.Optional(DateTimeText({ description: 'Start of the subscription, in ISO 8601. Default: none.' })),
      ends_at: Type.Optional(DateTimeText({ description: 'End of the subscription, in ISO 8601. Default: none.' })),
    },
  },
  {
    path: '/users',
    entity: 'tenant-user',
    title: 'User template',
    meaning: 'Data of the first administrator of a tenant that is registered with tenant manager v1.',
    table: 'users',
    fields: {
      username: Username(),
      email: Type.Optional(
        Type.String({ format: 'email', maxLength: 255, description: 'E-mail address. Default: none.' }),
      ),
      first_name: Type.Optional(Text({ description: 'First name. Default: none.' })),
      last_name: Type.Optional(Text({ description: 'Last name. Default: none.' })),
    },
    usedAs: 'user_template',
  },
  {
    path: '/js-policies',
    entity: 'js-policy',
    title: 'Policy',
    meaning: 'A policy that can be mapped to tenants. The platform only stores it.',
    table: 'js_policies',
    fields: {
      name: name('Name of the policy, unique.'),
      type: name('Kind of the policy.'),
      scope: scopes('Scopes to which the policy applies.'),
      description: description(),
    },
  },
  {
    path: '/tenants-policies-mappings',
    entity: 'tenant-policy-mapping',
    title: 'Tenant-policy mapping',
    meaning: 'Maps a policy to a tenant.',
    table: 'tenants_policies_mappings',
    fields: { tenant_id: TenantId(), policy_id: SerialId({ description: 'Id of the policy.' }) },
  },
] as const satisfies readonly Catalogue[]

export type CatalogueTable = (typeof catalogues)[number]['table']

export const catalogueOf = (table: CatalogueTable): Catalogue => catalogues.find((one) => one.table === table)!

const wordsOf = (text: string) => text.split(/[ -]/).map((word) => word[0]!.toUpperCase() + word.slice(1).toLowerCase())

/**
 * The name of the entry's schema in the API reference, such as `RoleVersion`. Some names also occur in the identity service, so they get a
 * suffix.
 */
const shapeTitle = ({ title }: Catalogue) => {
  const name = wordsOf(title).join('')
  return ['Role', 'Scope'].includes(name) ? `${name}Template` : name
}

export const bodyShape = (catalogue: Catalogue) =>
  Type.Object(catalogue.fields, {
    title: `New${shapeTitle(catalogue)}`,
    description: `${catalogue.title} to create, or to replace an existing entry with.`,
  })
export const itemShape = (catalogue: Catalogue) =>
  Type.Object(
    { id: Type.Integer({ description: 'Id of the entry.' }), ...catalogue.fields },
    { title: shapeTitle(catalogue), description: catalogue.meaning },
  )

/** Returns the noun of the operations: `roleVersions` for the table `role_versions`. */
export const nounOf = (table: string) => table.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase())

/** An entry as stored and returned: `id` and the fields that have a value. */
export type CatalogueItem = { id: number } & Record<string, unknown>

/**
 * The catalogues of tenant manager v1: versioned templates, mappings and lists from which realms are built. One entry
 * is one resource with list, create, read, update and delete (routes/catalogues.ts); a new one is an entry and a table.
 */
import { DateTimeText, JsonObject, Name, SerialId, Text, type TSchema, Type } from '../../kernel/schema.ts'
import { TenantId, Username } from './schemas/common.ts'

export interface Catalogue {
  path: string
  /** The word that existing clients use in the path (document 3, "Words and roots"). */
  alias?: string
  /** `platform:tenant:<entity>:create|read|update|delete` on the platform. */
  entity: string
  /** What one entry is called in an error. */
  title: string
  /** In schema `tenants`; a constraint there ends in `_<field>_key` or `_<field>_fkey`, which names the field of a 400. */
  table: string
  /** The body of create and update; the answer has `id` beside them. */
  fields: Record<string, TSchema>
  /** The column of a tenant that holds an id of this catalogue: an entry in use cannot be deleted. */
  usedAs?: string
  /** A version also exists by being named in this table of mappings. */
  mappings?: string
}

const description = () => Type.Optional(Text({ maxLength: 2000 }))
const names = () => Type.Array(Name(), { maxItems: 1000 })
const amount = (options: { description?: string } = {}) =>
  Type.Optional(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, default: 0, ...options }))

const template = (what: string) => ({
  template: JsonObject({ description: `representation of ${what}` }),
  description: Text({ maxLength: 2000 }),
})

export const catalogues = [
  {
    path: '/templates/realms',
    entity: 'realm-template',
    title: 'Realm template',
    table: 'realm_templates',
    fields: template('a realm'),
    usedAs: 'realm_template_version',
  },
  {
    path: '/templates/realm-frontend-clients',
    entity: 'realm-frontend-client-template',
    title: 'Realm frontend client template',
    table: 'realm_frontend_client_templates',
    fields: template('a public client'),
    usedAs: 'client_frontend_version',
  },
  {
    path: '/templates/realm-backend-clients',
    entity: 'realm-backend-client-template',
    title: 'Realm backend client template',
    table: 'realm_backend_client_templates',
    fields: template('a confidential client'),
    usedAs: 'client_backend_version',
  },
  {
    path: '/roles',
    entity: 'role',
    title: 'Role',
    table: 'roles',
    fields: { name: Name(), description: description() },
    usedAs: 'user_roles',
  },
  {
    path: '/roles/versions',
    entity: 'role-version',
    title: 'Role version',
    table: 'role_versions',
    fields: { description: description() },
    usedAs: 'roles_version',
    mappings: 'role_version_mappings',
  },
  {
    path: '/roles/versions-mappings',
    entity: 'idp-roles-versions-mappings',
    title: 'Role-version mapping',
    table: 'role_version_mappings',
    fields: { version: SerialId(), role: Name() },
  },
  {
    path: '/roles/scopes-mappings',
    entity: 'idp-roles-scopes-mappings',
    title: 'Role-scope mapping',
    table: 'role_scope_mappings',
    fields: { role: Name(), scope: Name() },
  },
  { path: '/scopes', entity: 'scope', title: 'Scope', table: 'scopes', fields: { name: Name() } },
  {
    path: '/scopes/versions',
    entity: 'scope-version',
    title: 'Scope version',
    table: 'scope_versions',
    fields: { description: description() },
    usedAs: 'realm_scopes_version',
    mappings: 'scope_version_mappings',
  },
  {
    path: '/scopes/versions-mappings',
    entity: 'scope-version-mapping',
    title: 'Scope-version mapping',
    table: 'scope_version_mappings',
    fields: { version: SerialId(), scope: Name() },
  },
  {
    path: '/default-resources',
    entity: 'default-resource',
    title: 'Default resource',
    table: 'default_resources',
    fields: { resource_name: Name(), resource_type: Name(), display_name: Text(), scopes: names() },
  },
  {
    path: '/default-resources/versions',
    entity: 'default-resource-version',
    title: 'Default resource version',
    table: 'default_resource_versions',
    fields: { description: description() },
    usedAs: 'resources_version',
    mappings: 'default_resource_version_mappings',
  },
  {
    path: '/default-resources/versions-mappings',
    entity: 'default-resource-version-mapping',
    title: 'Default resource version mapping',
    table: 'default_resource_version_mappings',
    fields: { version: SerialId(), resource: Name() },
  },
  {
    path: '/default-resources/scopes-mappings',
    entity: 'default-resource-scope-mapping',
    title: 'Default resource scope mapping',
    table: 'default_resource_scope_mappings',
    fields: { resource: Name(), scope: Name() },
  },
  {
    path: '/idps',
    entity: 'idp',
    title: 'Identity provider',
    table: 'idps',
    fields: { name: Name(), description: description() },
    usedAs: 'idp_version',
  },
  {
    path: '/idp-servers',
    alias: '/keycloak-servers',
    entity: 'idp-server',
    title: 'Identity provider server',
    table: 'idp_servers',
    fields: { url: Type.String({ format: 'uri', maxLength: 2000 }) },
    usedAs: 'idp_server',
  },
  {
    path: '/packages-types',
    entity: 'package-type',
    title: 'Package type',
    table: 'package_types',
    fields: {
      name: Name(),
      devices: amount(),
      applications: amount(),
      disk_size: amount({
        description:
          'bytes of files and blobs that the endpoints of a tenant may keep; 0 leaves it to WAYPOST_BLOB_QUOTA_MB',
      }),
      traffic: amount(),
      description: description(),
    },
    usedAs: 'package_type',
  },
  {
    path: '/tenants-subscriptions',
    entity: 'tenant-subscription',
    title: 'Tenant subscription',
    table: 'tenants_subscriptions',
    fields: {
      tenant_id: TenantId(),
      subscription_type: Type.Enum(['PERMANENT', 'RENEWAL', 'TRIAL']),
      starts_at: Type.Optional(DateTimeText()),
      ends_at: Type.Optional(DateTimeText()),
    },
  },
  {
    path: '/users',
    entity: 'tenant-user',
    title: 'User template',
    table: 'users',
    fields: {
      username: Username(),
      email: Type.Optional(Type.String({ format: 'email', maxLength: 255 })),
      first_name: Type.Optional(Text()),
      last_name: Type.Optional(Text()),
    },
    usedAs: 'user_template',
  },
  {
    path: '/js-policies',
    entity: 'js-policy',
    title: 'Policy',
    table: 'js_policies',
    fields: { name: Name(), type: Name(), scope: names(), description: description() },
  },
  {
    path: '/tenants-policies-mappings',
    entity: 'tenant-policy-mapping',
    title: 'Tenant-policy mapping',
    table: 'tenants_policies_mappings',
    fields: { tenant_id: TenantId(), policy_id: SerialId() },
  },
] as const satisfies readonly Catalogue[]

export type CatalogueTable = (typeof catalogues)[number]['table']

export const catalogueOf = (table: CatalogueTable): Catalogue => catalogues.find((one) => one.table === table)!

const wordsOf = (text: string) => text.split(/[ -]/).map((word) => word[0]!.toUpperCase() + word.slice(1).toLowerCase())

/** The name of its shape in the API reference: `RoleVersion`. v1 shares some words with the identity service. */
const shapeTitle = ({ title }: Catalogue) => {
  const name = wordsOf(title).join('')
  return ['Role', 'Scope'].includes(name) ? `${name}Template` : name
}

export const bodyShape = (catalogue: Catalogue) =>
  Type.Object(catalogue.fields, { title: `New${shapeTitle(catalogue)}` })
export const itemShape = (catalogue: Catalogue) =>
  Type.Object({ id: Type.Integer(), ...catalogue.fields }, { title: shapeTitle(catalogue) })

/** `roleVersions`, from the table `role_versions`: the noun of its operations. */
export const nounOf = (table: string) => table.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase())

/** One entry as it is stored and answered: `id` and the fields that have a value. */
export type CatalogueItem = { id: number } & Record<string, unknown>

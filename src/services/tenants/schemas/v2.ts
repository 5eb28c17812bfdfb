/** Tenant manager v2: document 2, "Tenant (manager v2)", and document 3, 2.7. */
import { countedPage, offsetQuery } from '../../../kernel/paging.ts'
import { DateTime, Empty, Name, SerialId, type Static, Text, type TSchema, Type } from '../../../kernel/schema.ts'
import { catalogueOf, itemShape } from '../catalogues.ts'
import { SubscriptionTypeV2, TenantId, Username } from './common.ts'

const statusesV2 = ['CREATING', 'UPDATING', 'FAILED', 'SUSPENDED', 'AVAILABLE', 'DELETED'] as const

const person = {
  id: Type.String(),
  irn: Type.String(),
  email: Type.String(),
  username: Type.String(),
  first_name: Type.String(),
  last_name: Type.String(),
}
const password = { password: Type.Optional(Type.String({ description: 'generated; shown only here' })) }

const tenant = {
  id: Type.String(),
  name: Type.String(),
  tenant_id: Type.String(),
  login_theme: Type.Optional(Type.String()),
  status: Type.Enum([...statusesV2]),
  status_reason: Type.Optional(Type.String({ description: 'why it is FAILED' })),
  analytics_enabled: Type.Boolean(),
  subscription_type: SubscriptionTypeV2(),
  package_type: Type.Optional(Type.String()),
  objectstore: Type.Object({ key: Type.String(), status: Type.String() }, { title: 'TenantObjectStore' }),
  analytics: Type.Object(
    { key: Type.String(), uuid: Type.String(), status: Type.String() },
    { title: 'TenantAnalytics' },
  ),
  created: DateTime(),
  modified: DateTime(),
}
export const TenantV2 = Type.Object(
  { ...tenant, admin: Type.Optional(Type.Object(person, { title: 'TenantAdministrator' })) },
  { title: 'Tenant' },
)
export type TenantV2 = Static<typeof TenantV2>

const paging = offsetQuery(100, { all: false, maximum: 100 })

const NewPerson = {
  email: Type.String({ format: 'email', maxLength: 255 }),
  username: Username(),
  first_name: Text(),
  last_name: Text(),
  password: Type.Optional(Text({ minLength: 8, maxLength: 256 })),
}

/** Any text: what is no UUID is no tenant either, 404. */
const params = Type.Object({ tenant_pk: Text() })

export const listTenants = {
  name: 'tenants.list',
  summary: 'List tenants: all where the caller reads them on the platform, else its own',
  query: Type.Object({
    ...paging,
    tenant_id: Type.Optional(Text()),
    name: Type.Optional(Text({ description: 'part of the name' })),
    admin: Type.Optional(Text({ description: "part of the administrator's username or e-mail" })),
    search: Type.Optional(Text({ description: 'part of name, tenant_id, or the administrator' })),
    sort_by: Type.Enum(['name', 'created', 'modified'], { default: 'created' }),
    sort_order: Type.Enum(['asc', 'desc'], { default: 'desc' }),
  }),
  response: { 200: countedPage(TenantV2) },
}

export const createTenant = {
  name: 'tenants.create',
  summary: 'Create a tenant; poll its Location until it is AVAILABLE',
  body: Type.Object(
    {
      name: Name(),
      tenant_id: Type.Optional(TenantId()),
      login_theme: Type.Optional(Text()),
      package_type: Type.Optional(Name({ description: 'name of a package type' })),
      subscription_type: Type.Optional(SubscriptionTypeV2()),
      analytics_enabled: Type.Optional(Type.Boolean()),
      opendistro_enabled: Type.Optional(Type.Boolean()),
      idp_server: Type.Optional(SerialId()),
      keycloak_server: Type.Optional(SerialId()),
      admin: Type.Object(NewPerson, { title: 'NewTenantUser' }),
    },
    { title: 'NewTenant' },
  ),
  response: {
    202: Type.Object(
      { ...tenant, admin: Type.Object({ ...person, ...password }, { title: 'CreatedTenantAdministrator' }) },
      { title: 'CreatedTenant' },
    ),
  },
  fails: [409],
}

export const readTenant = { name: 'tenants.get', summary: 'Get a tenant', params, response: { 200: TenantV2 } }

export const changeTenant = {
  name: 'tenants.update',
  summary: 'Change a tenant',
  params,
  body: Type.Object(
    {
      name: Type.Optional(Name()),
      login_theme: Type.Optional(Text()),
      package_type: Type.Optional(Name()),
      subscription_type: Type.Optional(SubscriptionTypeV2()),
      status: Type.Optional(Type.Enum([...statusesV2])),
    },
    { title: 'TenantChange' },
  ),
  response: { 200: TenantV2 },
}

export const removeTenant = { name: 'tenants.delete', summary: 'Delete a tenant', params, response: { 204: Empty() } }

export const readCredentials = {
  name: 'tenants.credentials.get',
  summary: "Get a tenant's clients and secrets",
  params,
  response: {
    200: Type.Object(
      {
        id: Type.String(),
        client_backend_id: Type.String(),
        client_backend_secret: Type.String(),
        client_frontend_id: Type.String(),
        issuer: Type.String(),
        objectstore_secret: Type.String(),
        // The words that existing clients read, the first with the original's slip.
        client_frontentd_id: Type.String(),
        minio_secret: Type.String(),
      },
      { title: 'TenantCredentials' },
    ),
  },
}

const pk = Type.Object({ pk: SerialId() })
const resultsOf = <T extends TSchema>(item: T, title: string) => Type.Object({ results: Type.Array(item) }, { title })

const IdpServer = itemShape(catalogueOf('idp_servers'))
/** `keycloak-servers` is what existing clients call them (document 3, "Words and roots"). */
export const idpServers = [
  { path: '/idp-servers', noun: 'idpServers', title: 'identity provider servers' },
  { path: '/keycloak-servers', noun: 'keycloakServers', title: 'identity provider servers under their older name' },
].map(({ path, noun, title }) => {
  const aliasOf = (verb: string) => (noun === 'idpServers' ? undefined : { aliasOf: `tenants.idpServers.${verb}` })
  return {
    path,
    list: {
      name: `tenants.${noun}.list`,
      ...aliasOf('list'),
      summary: `List ${title}`,
      response: { 200: resultsOf(IdpServer, 'IdpServerList') },
    },
    read: {
      name: `tenants.${noun}.get`,
      ...aliasOf('get'),
      summary: `Get one of the ${title}`,
      params: pk,
      response: { 200: IdpServer },
    },
  }
})

const PackageType = itemShape(catalogueOf('package_types'))
export const listPackageTypes = {
  name: 'tenants.packageTypes.list',
  summary: 'List package types',
  response: { 200: resultsOf(PackageType, 'PackageTypeList') },
}
export const readPackageType = {
  name: 'tenants.packageTypes.get',
  summary: 'Get a package type',
  params: pk,
  response: { 200: PackageType },
}

export const listSubscriptions = {
  name: 'tenants.subscriptions.list',
  summary: "List a tenant's subscriptions, oldest first",
  query: Type.Object({ ...paging, tenant_id: Text() }),
  response: { 200: countedPage(itemShape(catalogueOf('tenants_subscriptions'))) },
}

const User = Type.Object({ ...person, enabled: Type.Boolean() }, { title: 'TenantUser' })
const ofTenant = { tenant_id: Type.Optional(Text({ description: "another tenant's, for who may on the platform" })) }
export const listUsers = {
  name: 'tenants.users.list',
  summary: 'List the users of a tenant',
  query: Type.Object({
    ...paging,
    ...ofTenant,
    search: Type.Optional(Text()),
    enabled: Type.Optional(Type.Boolean()),
  }),
  response: { 200: countedPage(User) },
}
export const createUser = {
  name: 'tenants.users.create',
  summary: 'Create a user without roles; roles are given by the identity service',
  query: Type.Object(ofTenant),
  body: Type.Object(NewPerson, { title: 'NewTenantUser' }),
  response: { 201: Type.Object({ ...User.properties, ...password }, { title: 'CreatedTenantUser' }) },
  fails: [409],
}
export const removeUser = {
  name: 'tenants.users.delete',
  summary: 'Delete a user; the last enabled administrator stays (409)',
  params: Type.Object({ pk: Text() }),
  query: Type.Object(ofTenant),
  response: { 204: Empty() },
  fails: [409],
}

/** Tenant manager v2: document 2, "Tenant (manager v2)", and document 3, 2.7. */
import { offsetQuery } from '../../../kernel/paging.ts'
import { DateTime, Empty, Name, SerialId, type Static, Text, type TSchema, Type } from '../../../kernel/schema.ts'
import { catalogueOf } from '../catalogues.ts'
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
  objectstore: Type.Object({ key: Type.String(), status: Type.String() }),
  analytics: Type.Object({ key: Type.String(), uuid: Type.String(), status: Type.String() }),
  created: DateTime(),
  modified: DateTime(),
}
export const TenantV2 = Type.Object({ ...tenant, admin: Type.Optional(Type.Object(person)) }, { title: 'TenantV2' })
export type TenantV2 = Static<typeof TenantV2>

const paged = <T extends TSchema>(item: T) =>
  Type.Object({ count: Type.Integer(), results: Type.Array(item), limit: Type.Integer(), offset: Type.Integer() })
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
  summary: 'Tenants: all for who reads them on the platform, else the own one',
  query: Type.Object({
    ...paging,
    tenant_id: Type.Optional(Text()),
    name: Type.Optional(Text({ description: 'part of the name' })),
    admin: Type.Optional(Text({ description: "part of the administrator's username or e-mail" })),
    search: Type.Optional(Text({ description: 'part of name, tenant_id, or the administrator' })),
    sort_by: Type.Enum(['name', 'created', 'modified'], { default: 'created' }),
    sort_order: Type.Enum(['asc', 'desc'], { default: 'desc' }),
  }),
  response: { 200: paged(TenantV2) },
}

export const createTenant = {
  summary: 'Create a tenant; poll its Location until it is AVAILABLE',
  body: Type.Object({
    name: Name(),
    tenant_id: Type.Optional(TenantId()),
    login_theme: Type.Optional(Text()),
    package_type: Type.Optional(Name({ description: 'name of a package type' })),
    subscription_type: Type.Optional(SubscriptionTypeV2()),
    analytics_enabled: Type.Optional(Type.Boolean()),
    opendistro_enabled: Type.Optional(Type.Boolean()),
    idp_server: Type.Optional(SerialId()),
    keycloak_server: Type.Optional(SerialId()),
    admin: Type.Object(NewPerson),
  }),
  response: { 202: Type.Object({ ...tenant, admin: Type.Object({ ...person, ...password }) }) },
  fails: [409],
}

export const readTenant = { summary: 'A tenant', params, response: { 200: TenantV2 } }

export const changeTenant = {
  summary: 'Change a tenant',
  params,
  body: Type.Object({
    name: Type.Optional(Name()),
    login_theme: Type.Optional(Text()),
    package_type: Type.Optional(Name()),
    subscription_type: Type.Optional(SubscriptionTypeV2()),
    status: Type.Optional(Type.Enum([...statusesV2])),
  }),
  response: { 200: TenantV2 },
}

export const removeTenant = { summary: 'Delete a tenant', params, response: { 204: Empty() } }

export const readCredentials = {
  summary: "A tenant's clients and secrets",
  params,
  response: {
    200: Type.Object({
      id: Type.String(),
      client_backend_id: Type.String(),
      client_backend_secret: Type.String(),
      client_frontend_id: Type.String(),
      issuer: Type.String(),
      objectstore_secret: Type.String(),
      // The words that existing clients read, the first with the original's slip.
      client_frontentd_id: Type.String(),
      minio_secret: Type.String(),
    }),
  },
}

const itemOf = (table: Parameters<typeof catalogueOf>[0]) =>
  Type.Object({ id: Type.Integer(), ...catalogueOf(table).fields })
const pk = Type.Object({ pk: SerialId() })

const IdpServer = Type.Object({ id: Type.Integer(), url: Type.String() })
export const listIdpServers = {
  summary: 'Identity provider servers',
  response: { 200: Type.Object({ results: Type.Array(IdpServer) }) },
}
export const readIdpServer = { summary: 'An identity provider server', params: pk, response: { 200: IdpServer } }

export const listPackageTypes = {
  summary: 'Package types',
  response: { 200: Type.Object({ results: Type.Array(itemOf('package_types')) }) },
}
export const readPackageType = { summary: 'A package type', params: pk, response: { 200: itemOf('package_types') } }

export const listSubscriptions = {
  summary: "A tenant's subscriptions, oldest first",
  query: Type.Object({ ...paging, tenant_id: Text() }),
  response: { 200: paged(itemOf('tenants_subscriptions')) },
}

const User = Type.Object({ ...person, enabled: Type.Boolean() })
const ofTenant = { tenant_id: Type.Optional(Text({ description: "another tenant's, for who may on the platform" })) }
export const listUsers = {
  summary: 'Users of a tenant',
  query: Type.Object({
    ...paging,
    ...ofTenant,
    search: Type.Optional(Text()),
    enabled: Type.Optional(Type.Boolean()),
  }),
  response: { 200: paged(User) },
}
export const createUser = {
  summary: 'Create a user without roles; roles are given by the identity service',
  query: Type.Object(ofTenant),
  body: Type.Object(NewPerson),
  response: { 201: Type.Object({ ...User.properties, ...password }) },
  fails: [409],
}
export const removeUser = {
  summary: 'Delete a user; the last enabled administrator stays (409)',
  params: Type.Object({ pk: Text() }),
  query: Type.Object(ofTenant),
  response: { 204: Empty() },
  fails: [409],
}

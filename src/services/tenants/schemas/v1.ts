/** Tenant manager v1: document 2, "Tenant (manager v1)", and document 3, 2.6. */
import { offsetQuery, resultsPage } from '../../../kernel/paging.ts'
import { DateTime, Empty, SerialId, type Static, Text, Type } from '../../../kernel/schema.ts'
import { tenantStatuses } from '../states.ts'
import { SubscriptionTypeV1, TenantId } from './common.ts'

export const TenantV1 = Type.Object(
  {
    id: Type.String(),
    realm_name: Type.String(),
    client_frontend_id: Type.String(),
    client_backend_id: Type.String(),
    client_backend_secret: Type.String(),
    realm_template_version: Type.Integer(),
    realm_scopes_version: Type.Integer(),
    client_backend_version: Type.Integer(),
    client_frontend_version: Type.Integer(),
    roles_version: Type.Integer(),
    resources_version: Type.Integer(),
    idp_version: Type.Integer(),
    user: Type.Optional(Type.Integer()),
    user_roles: Type.Integer(),
    issuer: Type.String(),
    internal_issuer: Type.Optional(Type.String()),
    status: Type.Enum([...tenantStatuses]),
    status_reason: Type.Optional(Type.String({ description: 'why it is FAILED' })),
    created: DateTime(),
    idp_server: Type.Integer(),
    package_type: Type.Integer(),
    analytics_enabled: Type.Optional(Type.Boolean()),
    js_policies: Type.Array(Type.Integer()),
    subscription_type: SubscriptionTypeV1(),
  },
  { title: 'TenantV1' },
)
export type TenantV1 = Static<typeof TenantV1>

/** Documented as a boolean in requests and an integer in answers; what was read may be sent back. */
const IdpVersion = () =>
  Type.Union([Type.Boolean(), SerialId()], { description: 'true, false or an identity provider' })

const versions = {
  realm_template_version: SerialId(),
  realm_scopes_version: SerialId(),
  client_backend_version: SerialId(),
  client_frontend_version: SerialId(),
  roles_version: SerialId(),
  resources_version: SerialId(),
  user_roles: SerialId(),
  package_type: SerialId(),
  subscription_type: SubscriptionTypeV1(),
}
const choices = {
  idp_version: Type.Optional(IdpVersion()),
  user: Type.Optional(Type.Union([SerialId(), Type.Null()])),
  idp_server: Type.Optional(SerialId()),
  keycloak_server: Type.Optional(SerialId()),
  analytics_enabled: Type.Optional(Type.Boolean()),
  opendistro_enabled: Type.Optional(Type.Boolean()),
}

const RegistrationBody = Type.Object(
  { realm_name: TenantId(), ...versions, ...choices },
  // One of the two words is required.
  { title: 'NewTenantV1', anyOf: [{ required: ['idp_server'] }, { required: ['keycloak_server'] }] },
)
export type RegistrationBody = Static<typeof RegistrationBody>

const ChangeBody = Type.Object(
  {
    ...Type.Partial(Type.Object({ realm_name: TenantId(), ...versions })).properties,
    ...choices,
    status: Type.Optional(Type.Enum([...tenantStatuses])),
  },
  { title: 'TenantChangeV1' },
)
export type ChangeBody = Static<typeof ChangeBody>

/** Any text: what is no tenant ID is no tenant either, 404. */
const params = Type.Object({ tenantId: Text() })

export const listTenants = {
  name: 'tenantsV1.list',
  summary: 'List tenants',
  query: Type.Object({
    ...offsetQuery(50),
    realm_name: Type.Optional(Text()),
    status: Type.Optional(Type.Enum([...tenantStatuses])),
    analytics_enabled: Type.Optional(Text()),
    opendistro_enabled: Type.Optional(Text()),
    subscription_type: Type.Optional(SubscriptionTypeV1()),
  }),
  response: { 200: resultsPage(TenantV1) },
}

export const registerTenant = {
  name: 'tenantsV1.create',
  summary: 'Register a tenant; its realm is built in the background',
  body: RegistrationBody,
  response: {
    201: Type.Object(
      {
        ...TenantV1.properties,
        user_password: Type.Optional(Type.String({ description: 'of the user that `user` names; shown only here' })),
      },
      { title: 'RegisteredTenantV1' },
    ),
  },
}

export const readTenant = { name: 'tenantsV1.get', summary: 'Get a tenant', params, response: { 200: TenantV1 } }

export const changeTenant = {
  name: 'tenantsV1.update',
  summary: 'Change a tenant; its realm is built again when a version is named',
  params,
  body: ChangeBody,
  response: { 200: TenantV1 },
}

export const removeTenant = {
  name: 'tenantsV1.delete',
  summary: 'Unregister a tenant',
  params,
  response: { 204: Empty() },
}

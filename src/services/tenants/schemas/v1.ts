/** Tenant manager v1: document 2, "Tenant (manager v1)", and document 3, 2.6. */
import { offsetQuery, resultsPage } from '../../../kernel/paging.ts'
import { DateTime, Empty, ifMatchFails, SerialId, type Static, Text, Type } from '../../../kernel/schema.ts'
import { tenantStatuses } from '../states.ts'
import { SubscriptionTypeV1, sameAs, statusReason, TenantId } from './common.ts'

const secretText =
  'Secret of the backend client. Empty if the caller does not hold all permissions that the client holds, and for deleted tenants.'
const statusText =
  'AVAILABLE: in service. CREATING, UPDATING: the realm of the tenant is being built. FAILED: the realm could not be built. ' +
  'SUSPENDED, DISABLED: nobody can log in and devices are refused. DELETED: the tenant was deleted.'
const texts = {
  realm_template_version: 'Id of the realm template that the realm is built from.',
  realm_scopes_version: 'Id of the scope version: the scopes that the realm knows.',
  client_backend_version: 'Id of the template of the backend client.',
  client_frontend_version: 'Id of the template of the frontend client.',
  roles_version: 'Id of the role version: the roles of the realm with their scopes.',
  resources_version: 'Id of the default resource version: the resources that the realm begins with.',
  user_roles: 'Id of the role that the first administrator gets.',
  package_type: 'Id of the package type, which limits the storage of the tenant.',
  idp_server: 'Id of the identity provider server. The platform only stores it.',
  analytics_enabled: 'True when analytics are on for the tenant. The platform only stores it.',
}
const integer = (description: string) => Type.Integer({ description })

export const TenantV1 = Type.Object(
  {
    id: Type.String({ description: 'Id of the tenant.' }),
    realm_name: Type.String({ description: 'Name of the realm, which is the id of the tenant.' }),
    client_frontend_id: Type.String({ description: 'Id of the public client, for logins of users.' }),
    client_backend_id: Type.String({ description: 'Id of the confidential client, for service accounts.' }),
    client_backend_secret: Type.String({ description: secretText }),
    realm_template_version: integer(texts.realm_template_version),
    realm_scopes_version: integer(texts.realm_scopes_version),
    client_backend_version: integer(texts.client_backend_version),
    client_frontend_version: integer(texts.client_frontend_version),
    roles_version: integer(texts.roles_version),
    resources_version: integer(texts.resources_version),
    idp_version: integer('Id of the identity provider.'),
    user: Type.Optional(
      integer(
        'Id of the user template from which the first administrator was created. Omitted if there was no template.',
      ),
    ),
    user_roles: integer(texts.user_roles),
    issuer: Type.String({
      description: 'Issuer of the access tokens of the tenant: the address of its realm. Empty for deleted tenants.',
    }),
    internal_issuer: Type.Optional(Type.String({ description: 'Reserved; always absent.' })),
    status: Type.Enum([...tenantStatuses], { description: statusText }),
    status_reason: Type.Optional(statusReason()),
    created: DateTime({ description: 'Time at which the tenant was registered, in UTC.' }),
    idp_server: integer(texts.idp_server),
    package_type: integer(texts.package_type),
    analytics_enabled: Type.Optional(Type.Boolean({ description: texts.analytics_enabled })),
    js_policies: Type.Array(integer('Id of a policy.'), {
      description: 'Ids of the policies that are mapped to the tenant.',
    }),
    subscription_type: SubscriptionTypeV1(),
  },
  { title: 'TenantV1', description: 'A tenant, as tenant manager v1 shows it.' },
)
export type TenantV1 = Static<typeof TenantV1>

/** The field `idp_version`: a boolean in requests and an integer in responses. A client may send back the integer that it has read. */
const IdpVersion = () =>
  Type.Union([Type.Boolean(), SerialId()], {
    description:
      'Identity provider: true is the newest provider, false the first provider, a number the provider with this id. Default: true.',
  })

const versions = {
  realm_template_version: SerialId({ description: texts.realm_template_version }),
  realm_scopes_version: SerialId({ description: texts.realm_scopes_version }),
  client_backend_version: SerialId({ description: texts.client_backend_version }),
  client_frontend_version: SerialId({ description: texts.client_frontend_version }),
  roles_version: SerialId({ description: texts.roles_version }),
  resources_version: SerialId({ description: texts.resources_version }),
  user_roles: SerialId({ description: texts.user_roles }),
  package_type: SerialId({ description: texts.package_type }),
  subscription_type: SubscriptionTypeV1(),
}
const choices = {
  idp_version: Type.Optional(IdpVersion()),
  user: Type.Optional(
    Type.Union([SerialId(), Type.Null()], {
      description: 'Id of the user template to make the first administrator from; null or absent: no administrator.',
    }),
  ),
  idp_server: Type.Optional(SerialId({ description: texts.idp_server })),
  keycloak_server: Type.Optional(SerialId({ description: sameAs('idp_server') })),
  analytics_enabled: Type.Optional(Type.Boolean({ description: `${texts.analytics_enabled} Default: false.` })),
  opendistro_enabled: Type.Optional(Type.Boolean({ description: sameAs('analytics_enabled') })),
}

const RegistrationBody = Type.Object(
  { realm_name: TenantId(), ...versions, ...choices },
  {
    title: 'NewTenantV1',
    description: 'A tenant to register. Either `idp_server` or `keycloak_server` is required.',
    anyOf: [{ required: ['idp_server'] }, { required: ['keycloak_server'] }],
  },
)
export type RegistrationBody = Static<typeof RegistrationBody>

const ChangeBody = Type.Object(
  {
    ...Type.Partial(Type.Object({ realm_name: TenantId(), ...versions })).properties,
    ...choices,
    status: Type.Optional(
      Type.Enum([...tenantStatuses], {
        description:
          'New status; AVAILABLE, SUSPENDED and DISABLED can be set. Not together with fields that the realm is built from.',
      }),
    ),
  },
  { title: 'TenantChangeV1', description: 'The fields of a tenant to change. Absent fields keep their values.' },
)
export type ChangeBody = Static<typeof ChangeBody>

/** Accepts any text. If it is not a tenant id, the response is 404, as for an unknown tenant. */
const params = Type.Object({ tenantId: Text({ description: 'Id of the tenant.' }) })
const noTenant = 'There is no tenant with this id.'

export const listTenants = {
  name: 'tenantsV1.list',
  summary: 'List tenants',
  query: Type.Object({
    ...offsetQuery(50),
    realm_name: Type.Optional(Text({ description: 'Only the tenant with this id. Default: all.' })),
    status: Type.Optional(
      Type.Enum([...tenantStatuses], {
        description: 'Only tenants with this status. Default: all but DELETED.',
      }),
    ),
    analytics_enabled: Type.Optional(
      Text({ description: 'Only tenants with analytics on (`true`) or off (`false`). Default: all.' }),
    ),
    opendistro_enabled: Type.Optional(Text({ description: sameAs('analytics_enabled') })),
    subscription_type: Type.Optional(
      SubscriptionTypeV1('Only tenants with this subscription; RENEWAL includes trials. Default: all.'),
    ),
  }),
  response: { 200: resultsPage(TenantV1) },
}

export const registerTenant = {
  name: 'tenantsV1.create',
  summary: 'Register a tenant',
  description: 'The status is CREATING until the realm is built in the background, then AVAILABLE, or FAILED.',
  body: RegistrationBody,
  response: {
    201: Type.Object(
      {
        ...TenantV1.properties,
        user_password: Type.Optional(
          Type.String({ description: 'Generated password of the first administrator. Only this response shows it.' }),
        ),
      },
      { title: 'RegisteredTenantV1', description: 'The new tenant, with the password of its administrator.' },
    ),
  },
  fails: { 400: 'A field is missing or malformed, names an entry that does not exist, or the tenant id is taken.' },
}

export const readTenant = {
  name: 'tenantsV1.get',
  summary: 'Get a tenant',
  params,
  response: { 200: TenantV1, 304: Empty() },
  fails: { 404: noTenant },
}

export const changeTenant = {
  name: 'tenantsV1.update',
  summary: 'Change a tenant',
  description:
    'If the body names another template or version, the realm is built again in the background, with status UPDATING. The tenant stays in service meanwhile. ' +
    'A value that is already stored changes nothing, except that a FAILED tenant is built again.',
  params,
  body: ChangeBody,
  response: { 200: TenantV1 },
  fails: {
    ...ifMatchFails,
    400: 'A field is malformed or names an entry that does not exist, or the tenant cannot get this status.',
    404: noTenant,
  },
}

export const removeTenant = {
  name: 'tenantsV1.delete',
  summary: 'Unregister a tenant',
  description: 'Deletes everything that belongs to the tenant. The id of the tenant is never given to another tenant.',
  params,
  response: { 204: Empty() },
  fails: { 400: 'The tenant is built in and cannot be deleted.', 404: noTenant, ...ifMatchFails },
}

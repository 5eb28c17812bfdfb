/** Tenant manager v2: document 2, "Tenant (manager v2)", and document 3, 2.7. */
import { countedPage, offsetQuery } from '../../../kernel/paging.ts'
import {
  DateTime,
  describedAs,
  Empty,
  ifMatchFails,
  Name,
  SerialId,
  type Static,
  Text,
  type TSchema,
  Type,
} from '../../../kernel/schema.ts'
import { catalogueOf, itemShape } from '../catalogues.ts'
import { SubscriptionTypeV2, sameAs, statusReason, TenantId, Username } from './common.ts'

const statusesV2 = ['CREATING', 'UPDATING', 'FAILED', 'SUSPENDED', 'AVAILABLE', 'DELETED'] as const

const statusText =
  'AVAILABLE: in service. CREATING, UPDATING: the realm of the tenant is being built. FAILED: the realm could not be built. ' +
  'SUSPENDED: nobody can log in and devices are refused. DELETED: the tenant was deleted.'
const analyticsText = 'True when analytics are on for the tenant. The platform only stores it.'
const themeText = 'Theme of the login page. The platform only stores it.'
const packageText = 'Name of the package type, which limits the storage of the tenant.'

const person = {
  id: Type.String({ description: 'Id of the user (UUID).' }),
  irn: Type.String({ description: 'Resource name of the user: `irn:<tenant id>:identity::user/<username>`.' }),
  email: Type.String({ description: 'E-mail address; empty if it is not known.' }),
  username: Type.String({ description: 'Username, unique in the tenant.' }),
  first_name: Type.String({ description: 'First name; empty if it is not known.' }),
  last_name: Type.String({ description: 'Last name; empty if it is not known.' }),
}
const password = {
  password: Type.Optional(
    Type.String({ description: 'Generated password, if the request had none. Only this response shows it.' }),
  ),
}

const tenant = {
  id: Type.String({ description: 'Internal id of the tenant (UUID), for the paths of this API.' }),
  name: Type.String({ description: 'Name of the tenant for people.' }),
  tenant_id: Type.String({ description: 'Id of the tenant, which is the name of its realm.' }),
  login_theme: Type.Optional(Type.String({ description: themeText })),
  status: Type.Enum([...statusesV2], { description: statusText }),
  status_reason: Type.Optional(statusReason()),
  analytics_enabled: Type.Boolean({ description: analyticsText }),
  subscription_type: SubscriptionTypeV2(),
  package_type: Type.Optional(Type.String({ description: packageText })),
  objectstore: Type.Object(
    {
      key: Type.String({ description: 'Name of the tenant in the object store: its tenant id.' }),
      status: Type.String({ description: 'Status of the tenant.' }),
    },
    { title: 'TenantObjectStore', description: 'The object store of the tenant; reserved.' },
  ),
  analytics: Type.Object(
    {
      key: Type.String({ description: 'Name of the tenant in analytics: its tenant id.' }),
      uuid: Type.String({ description: 'Internal id of the tenant (UUID).' }),
      status: Type.String({ description: 'ENABLED or DISABLED.' }),
    },
    { title: 'TenantAnalytics', description: 'Analytics of the tenant; reserved.' },
  ),
  created: DateTime({ description: 'Time at which the tenant was created, in UTC.' }),
  modified: DateTime({ description: 'Time of the last change of the tenant, in UTC.' }),
}
const Administrator = Type.Object(person, {
  title: 'TenantAdministrator',
  description: 'The first administrator of a tenant.',
})
export const TenantV2 = Type.Object(
  {
    ...tenant,
    admin: Type.Optional(
      describedAs(
        Administrator,
        'The first administrator. Omitted if the tenant was created without an administrator.',
      ),
    ),
  },
  { title: 'Tenant', description: 'A tenant, as tenant manager v2 shows it.' },
)
export type TenantV2 = Static<typeof TenantV2>

const paging = offsetQuery(100, { all: false, maximum: 100 })

const NewPerson = Type.Object(
  {
    email: Type.String({ format: 'email', maxLength: 255, description: 'E-mail address.' }),
    username: Username(),
    first_name: Text({ description: 'First name.' }),
    last_name: Text({ description: 'Last name.' }),
    password: Type.Optional(
      Text({ minLength: 8, maxLength: 256, description: 'Password: 8 to 256 characters. Default: generated.' }),
    ),
  },
  { title: 'NewTenantUser', description: 'A user to create.' },
)

/** Accepts any text. If it is not a UUID, the response is 404, as for an unknown tenant. */
const params = Type.Object({ tenant_pk: Text({ description: 'Internal id of the tenant (UUID): its `id`.' }) })
const noTenant = 'There is no tenant with this internal id, or the caller may not read it.'

export const listTenants = {
  name: 'tenants.list',
  summary: 'List tenants',
  description:
    'Returns all tenants if the caller has the scope on platform-system, otherwise only the tenant of the caller.',
  query: Type.Object({
    ...paging,
    tenant_id: Type.Optional(Text({ description: 'Only the tenant with this id. Default: all.' })),
    name: Type.Optional(Text({ description: 'Only tenants whose name contains this text. Default: all.' })),
    admin: Type.Optional(
      Text({
        description: 'Only tenants whose administrator has this text in the username or e-mail address. Default: all.',
      }),
    ),
    search: Type.Optional(
      Text({
        description: 'Only tenants with this text in the name, the tenant id or the administrator. Default: all.',
      }),
    ),
    sort_by: Type.Enum(['name', 'created', 'modified'], {
      default: 'created',
      description: 'Field to sort by: name, created or modified. Default: created.',
    }),
    sort_order: Type.Enum(['asc', 'desc'], {
      default: 'desc',
      description: 'asc: ascending. desc: descending. Default: desc.',
    }),
  }),
  response: { 200: countedPage(TenantV2) },
}

export const createTenant = {
  name: 'tenants.create',
  summary: 'Create a tenant',
  description: 'The realm is built in the background. Poll `Location` until the status is AVAILABLE or FAILED.',
  body: Type.Object(
    {
      name: Name({ description: 'Name of the tenant for people.' }),
      tenant_id: Type.Optional(
        TenantId(
          'Id of the tenant: 1 to 63 lower-case letters, digits, `_` and `-`, beginning with a letter or digit; unique on ' +
            'the platform. Default: made from the name.',
        ),
      ),
      login_theme: Type.Optional(Text({ description: themeText })),
      package_type: Type.Optional(Name({ description: `${packageText} Default: the first package type.` })),
      subscription_type: Type.Optional(
        SubscriptionTypeV2('Subscription of the tenant; the platform only stores it. Default: TRIAL.'),
      ),
      analytics_enabled: Type.Optional(Type.Boolean({ description: `${analyticsText} Default: false.` })),
      opendistro_enabled: Type.Optional(Type.Boolean({ description: sameAs('analytics_enabled') })),
      idp_server: Type.Optional(
        SerialId({ description: 'Id of the identity provider server; the platform only stores it. Default: 1.' }),
      ),
      keycloak_server: Type.Optional(SerialId({ description: sameAs('idp_server') })),
      admin: describedAs(NewPerson, 'The first administrator of the tenant.'),
    },
    { title: 'NewTenant', description: 'A tenant to create.' },
  ),
  response: {
    202: Type.Object(
      {
        ...tenant,
        admin: Type.Object(
          { ...person, ...password },
          {
            title: 'CreatedTenantAdministrator',
            description: 'The first administrator, with the password if it was generated.',
          },
        ),
      },
      { title: 'CreatedTenant', description: 'The new tenant; its realm is built in the background.' },
    ),
  },
  fails: { 409: 'Another tenant has, or once had, this `tenant_id`.' },
}

export const readTenant = {
  name: 'tenants.get',
  summary: 'Get a tenant',
  params,
  response: { 200: TenantV2, 304: Empty() },
  fails: { 404: noTenant },
}

export const changeTenant = {
  name: 'tenants.update',
  summary: 'Change a tenant',
  description:
    'Absent fields keep their values. Fields other than `name` and `login_theme` need the scope on platform-system.',
  params,
  body: Type.Object(
    {
      name: Type.Optional(Name({ description: 'Name of the tenant for people.' })),
      login_theme: Type.Optional(Text({ description: themeText })),
      package_type: Type.Optional(Name({ description: packageText })),
      subscription_type: Type.Optional(SubscriptionTypeV2()),
      status: Type.Optional(
        Type.Enum([...statusesV2], { description: 'New status; AVAILABLE and SUSPENDED can be set.' }),
      ),
    },
    { title: 'TenantChange', description: 'The fields of a tenant to change.' },
  ),
  response: { 200: TenantV2 },
  fails: {
    ...ifMatchFails,
    400: 'A field is malformed, the package type does not exist, or the tenant cannot get this status.',
    404: noTenant,
  },
}

export const removeTenant = {
  name: 'tenants.delete',
  summary: 'Delete a tenant',
  description: 'Deletes everything that belongs to the tenant. The id of the tenant is never given to another tenant.',
  params,
  response: { 204: Empty() },
  fails: { 400: 'The tenant is built in and cannot be deleted.', 404: noTenant, ...ifMatchFails },
}

export const readCredentials = {
  name: 'tenants.credentials.get',
  summary: 'Get the clients and secrets of a tenant',
  params,
  response: {
    200: Type.Object(
      {
        id: Type.String({ description: 'Internal id of the tenant (UUID).' }),
        client_backend_id: Type.String({ description: 'Id of the confidential client, for service accounts.' }),
        client_backend_secret: Type.String({ description: 'Secret of the backend client.' }),
        client_frontend_id: Type.String({ description: 'Id of the public client, for logins of users.' }),
        issuer: Type.String({ description: 'Issuer of the access tokens of the tenant: the address of its realm.' }),
        objectstore_secret: Type.String({
          description: 'Secret of the object store; reserved, nothing accepts it yet.',
        }),
        // Existing clients read these names. `client_frontentd_id` contains a spelling mistake that they expect.
        client_frontentd_id: Type.String({ description: sameAs('client_frontend_id') }),
        minio_secret: Type.String({ description: sameAs('objectstore_secret') }),
      },
      { title: 'TenantCredentials', description: 'The clients of a tenant with their secrets.' },
    ),
  },
  fails: {
    403: 'The caller does not hold all permissions that the backend client holds, so it may not see its secret.',
    404: noTenant,
  },
}

const pk = Type.Object({ pk: SerialId({ description: 'Id of the entry.' }) })
const noEntry = { 404: 'There is no entry with this id.' }
const resultsOf = <T extends TSchema>(item: T, title: string) =>
  Type.Object(
    { results: Type.Array(item, { description: 'All entries.' }) },
    { title, description: 'All entries of a list.' },
  )

const IdpServer = itemShape(catalogueOf('idp_servers'))
/** Existing clients use the path `keycloak-servers` (document 3, "Words and roots"). */
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
      fails: noEntry,
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
  fails: noEntry,
}

export const listSubscriptions = {
  name: 'tenants.subscriptions.list',
  summary: 'List the subscriptions of a tenant',
  description: 'The oldest subscription comes first.',
  query: Type.Object({ ...paging, tenant_id: Text({ description: 'Id of the tenant.' }) }),
  response: { 200: countedPage(itemShape(catalogueOf('tenants_subscriptions'))) },
}

const User = Type.Object(
  { ...person, enabled: Type.Boolean({ description: 'True when the user can log in.' }) },
  { title: 'TenantUser', description: 'A user of a tenant.' },
)
const ofTenant = {
  tenant_id: Type.Optional(
    Text({ description: "Id of another tenant; needs the scope on platform-system. Default: the caller's tenant." }),
  ),
}
export const listUsers = {
  name: 'tenants.users.list',
  summary: 'List the users of a tenant',
  query: Type.Object({
    ...paging,
    ...ofTenant,
    search: Type.Optional(
      Text({ description: 'Only users with this text in the username, the e-mail address or a name. Default: all.' }),
    ),
    enabled: Type.Optional(
      Type.Boolean({
        description: 'Only users who can log in (true) or who cannot log in (false). Default: all.',
      }),
    ),
  }),
  response: { 200: countedPage(User) },
}
export const createUser = {
  name: 'tenants.users.create',
  summary: 'Create a user without roles',
  description: 'To give the user roles, use `PUT /iam/api/v1/users/{id}/roles`.',
  query: Type.Object(ofTenant),
  body: NewPerson,
  response: {
    201: Type.Object(
      { ...User.properties, ...password },
      { title: 'CreatedTenantUser', description: 'The new user, with the password if it was generated.' },
    ),
  },
  fails: { 409: 'Another user of the tenant has this username.' },
}
export const removeUser = {
  name: 'tenants.users.delete',
  summary: 'Delete a user',
  params: Type.Object({ pk: Text({ description: 'Id of the user (UUID).' }) }),
  query: Type.Object(ofTenant),
  response: { 204: Empty() },
  fails: {
    404: 'The tenant has no user with this id.',
    409: 'The user is the last enabled administrator of the tenant.',
  },
}

import {
  AnyJson,
  DateTime,
  describedAs,
  Empty,
  ifMatchFails,
  JsonObject,
  Name,
  Text,
  TextList,
  Type,
} from '../../kernel/schema.ts'

// ── resources

const naming = {
  displayName: Type.Optional(Text({ description: 'Name for people. Default: none.' })),
  description: Type.Optional(Text({ maxLength: 4096, description: 'Free text. Default: none.' })),
}
const dates = {
  createdDate: DateTime({ description: 'Time at which the application was created, in UTC.' }),
  updatedDate: DateTime({ description: 'Time of the last change of the display name or description, in UTC.' }),
}

const Version = Type.Object(
  { name: Name({ description: 'Name of the version: `<application>-<suffix>`.' }), ...naming, ...dates },
  { title: 'ApplicationVersion', description: 'A version of an application; every endpoint belongs to a version.' },
)
const Application = Type.Object(
  {
    name: Name({ description: 'Name of the application, unique on the platform.' }),
    tenantId: Name({ description: 'Id of the tenant that owns the application.' }),
    ...naming,
    ...dates,
    versions: Type.Array(Version, { description: 'All versions of the application.' }),
  },
  { title: 'Application', description: 'An application: a kind of device, with its versions.' },
)
const schemaText = (level: string) =>
  `JSON schema of the configuration of ${level}. Present only if \`include\` contains its name and the instance has such a schema.`
const ServiceInstance = Type.Object(
  {
    name: Name({ description: 'Name of the instance, such as `epts`; configurations are addressed by it.' }),
    serviceName: Name({ description: 'Name of the service that the instance belongs to, such as `EPTS`.' }),
    serviceGroup: Name({ description: 'Group that a user interface shows the instance in.' }),
    description: Type.Optional(Text({ description: 'Purpose of the instance.' })),
    urlPrefix: Type.Optional(Text({ description: 'First part of the paths of the service, such as `/epts`.' })),
    appConfigurationSchemaPresent: Type.Boolean({
      description: 'True when configurations of applications are checked against a JSON schema.',
    }),
    appConfigurationSchema: Type.Optional(JsonObject({ description: schemaText('an application') })),
    appVersionConfigurationSchemaPresent: Type.Boolean({
      description: 'True when configurations of application versions are checked against a JSON schema.',
    }),
    appVersionConfigurationSchema: Type.Optional(JsonObject({ description: schemaText('an application version') })),
  },
  { title: 'ServiceInstance', description: 'A service that can be configured for applications, versions and tenants.' },
)
const Envelope = JsonObject({
  title: 'Configurations',
  description:
    'Configurations of applications by service instance: `{<instance>: {platform: {applications: {<application>: ' +
    '{…, versions: {<version>: {…}}}}}}}`. `kaa` is accepted in place of `platform`.',
})
const TenantEnvelope = JsonObject({
  title: 'TenantConfigurations',
  description:
    'Configurations of a tenant by service instance: `{<instance>: {platform: {tenants: {<tenant id>: {config: {…}}}}}}`. ' +
    '`kaa` is accepted in place of `platform`.',
})

// ── parts

const nameLengthMax = 128
const appName = Name({ description: 'Name of the application.' })
const ofApplication = Type.Object({ appName })
const ofVersion = Type.Object({
  appName,
  appVersionName: Name({ description: 'Name of the application version: `<application>-<suffix>`.' }),
})
const tenantId = Type.Optional(
  Name({
    description:
      "Id of the tenant. A tenant other than the caller's requires the scope on platform-system. Default: the caller's tenant.",
  }),
)
const serviceInstanceName = Type.Optional(
  TextList({ description: 'Only configurations of these service instances. Default: all.' }),
)
const include = Type.Optional(
  TextList({
    description:
      'JSON schemas to include: appConfigurationSchema, appVersionConfigurationSchema, or both. Default: neither.',
  }),
)
const none = { 204: Empty() }
const noApplication = 'The application does not exist, or the caller may not read it.'
const noVersion = 'The application or the version does not exist, or the caller may not read it.'

// ── service instances

export const listInstances = {
  name: 'serviceInstances.list',
  summary: 'List service instances',
  description: 'Service instances are the services that can be configured for applications, versions and tenants.',
  query: Type.Object({ include }),
  response: { 200: Type.Array(ServiceInstance, { description: 'All service instances.' }) },
}
export const readInstance = {
  name: 'serviceInstances.get',
  summary: 'Get a service instance',
  params: Type.Object({ serviceInstanceName: Name({ description: 'Name of the service instance, such as `epts`.' }) }),
  query: Type.Object({ include }),
  response: { 200: ServiceInstance },
  fails: { 404: 'There is no service instance with this name.' },
}

// ── applications

export const createApplication = {
  name: 'applications.create',
  summary: 'Create an application',
  query: Type.Object({ tenantId }),
  body: Type.Object(
    {
      // Empty if WAYPOST_GENERATE_APPLICATION_NAMES is on.
      name: Type.Optional(
        Type.String({
          pattern: '^[a-z0-9_-]*$',
          maxLength: nameLengthMax,
          description:
            'Name: 1 to 128 lower-case letters, digits, `_` and `-`; unique on the platform. Required, unless the platform ' +
            'generates names: then it must be empty or absent.',
        }),
      ),
      ...naming,
    },
    {
      title: 'NewApplication',
      description: 'An application to create.',
      examples: [{ name: 'greenhouse', displayName: 'Greenhouse' }],
    },
  ),
  response: { 201: Empty('The application was created; `Location` holds its address.') },
  fails: { 409: 'Another application on the platform has this name.' },
}
export const listApplications = {
  name: 'applications.list',
  summary: 'List applications with their versions',
  query: Type.Object({ tenantId }),
  response: {
    200: Type.Array(Application, { description: 'All applications that the caller may read.' }),
    304: Empty(),
  },
}
export const readApplication = {
  name: 'applications.get',
  summary: 'Get an application with its versions',
  params: ofApplication,
  query: Type.Object({ tenantId }),
  response: { 200: Application, 304: Empty() },
  fails: { 404: noApplication },
}
const renaming = Type.Object(naming, {
  title: 'Naming',
  description: 'The fields to change. An absent field keeps its value.',
  examples: [{ displayName: 'Greenhouse north' }],
})
export const updateApplication = {
  name: 'applications.patch',
  summary: 'Change the display name and the description of an application',
  params: ofApplication,
  body: renaming,
  response: none,
  fails: { 404: noApplication, ...ifMatchFails },
}
export const deleteApplication = {
  name: 'applications.delete',
  summary: 'Delete an application',
  description:
    'Deletes the versions and configurations of the application too. An application with endpoints cannot be deleted.',
  params: ofApplication,
  response: none,
  fails: {
    404: noApplication,
    409: 'The application is still in use, for example by endpoints; the text names what uses it.',
    ...ifMatchFails,
  },
}

// ── versions

export const createVersion = {
  name: 'applications.versions.create',
  summary: 'Create a version of an application',
  params: ofApplication,
  body: Type.Object(
    {
      nameSuffix: Name({
        pattern: '^[a-z0-9]+$',
        maxLength: 64,
        description:
          'Suffix: 1 to 64 lower-case letters and digits. The name of the version is `<application>-<suffix>`.',
      }),
      ...naming,
    },
    { title: 'NewApplicationVersion', description: 'A version to create.', examples: [{ nameSuffix: 'v1' }] },
  ),
  response: { 201: Empty('The version was created; `Location` holds its address.') },
  fails: {
    404: noApplication,
    409: 'The application already has a version with this name, or as many versions as it may have.',
  },
}
export const listVersions = {
  name: 'applications.versions.list',
  summary: 'List the versions of an application',
  params: ofApplication,
  response: { 200: Type.Array(Version, { description: 'All versions of the application.' }), 304: Empty() },
  fails: { 404: noApplication },
}
export const readVersion = {
  name: 'applications.versions.get',
  summary: 'Get a version of an application',
  params: ofVersion,
  response: { 200: Version, 304: Empty() },
  fails: { 404: noVersion },
}
export const updateVersion = {
  name: 'applications.versions.patch',
  summary: 'Change the display name and the description of a version',
  params: ofVersion,
  body: renaming,
  response: none,
  fails: { 404: noVersion, ...ifMatchFails },
}
export const deleteVersion = {
  name: 'applications.versions.delete',
  summary: 'Delete a version of an application',
  description: 'Deletes the configurations of the version too. A version with endpoints cannot be deleted.',
  params: ofVersion,
  response: none,
  fails: {
    404: noVersion,
    409: 'The version is still in use, for example by endpoints; the text names what uses it.',
    ...ifMatchFails,
  },
}

// ── configurations

const byInstance = Type.Object({ serviceInstanceName })
const patch = AnyJson({
  description: 'A JSON merge patch (RFC 7396) of the configuration itself, without the envelope; null deletes a key.',
})

export const loadConfigurations = {
  name: 'applications.configurations.import',
  summary: 'Load configurations into a platform without configurations',
  description: 'This operation is for the initial load only. Use PUT and PATCH of an application afterwards.',
  body: Envelope,
  response: { 201: describedAs(Envelope, 'The configurations that were stored.') },
  fails: { 409: 'At least one application already has a configuration.' },
}
export const readAllConfigurations = {
  name: 'applications.configurations.list',
  summary: 'List the configurations of all applications',
  query: byInstance,
  response: { 200: Envelope },
}

const configurationsOf = <P extends typeof ofApplication | typeof ofVersion>(
  params: P,
  noun: string,
  owner: string,
  missing: string,
) => ({
  replace: {
    name: `${noun}.update`,
    summary: `Replace the configurations of ${owner}`,
    description:
      'Replaces the configurations of the service instances in the body. Configurations of other service instances stay as they are.',
    params,
    body: Envelope,
    response: none,
    fails: {
      ...ifMatchFails,
      400: 'The envelope is malformed, contains an unknown service instance or an object that is not in the path, or violates a schema.',
      404: missing,
    },
  },
  read: {
    name: `${noun}.get`,
    summary: `Get the configurations of ${owner}`,
    params,
    query: byInstance,
    response: { 200: Envelope, 304: Empty() },
    fails: { 404: missing },
  },
  merge: {
    name: `${noun}.patch`,
    summary: `Change a configuration of ${owner} by a merge patch`,
    description: 'Changes the configuration of one service instance. `serviceInstanceName` is required.',
    params,
    query: byInstance,
    body: patch,
    response: none,
    fails: {
      ...ifMatchFails,
      400: '`serviceInstanceName` is missing or unknown, or the changed configuration violates its schema.',
      404: missing,
    },
  },
})
export const applicationConfigurations = configurationsOf(
  ofApplication,
  'applications.configurations',
  'an application',
  noApplication,
)
export const versionConfigurations = configurationsOf(
  ofVersion,
  'applications.versions.configurations',
  'a version',
  noVersion,
)

const Attributes = AnyJson({
  title: 'Attributes',
  description:
    'Attributes that devices of the version look up with the extension `adx`: any JSON. The keys of an object take precedence over ' +
    'the attributes of the application. Any other value replaces the attributes of the application.',
})
export const replaceAttributes = {
  name: 'applications.versions.attributes.update',
  summary: 'Replace the attributes of a version',
  params: ofVersion,
  body: Attributes,
  response: none,
  fails: { 404: noVersion, ...ifMatchFails },
}
export const readAttributes = {
  name: 'applications.versions.attributes.get',
  summary: 'Get the attributes of a version',
  params: ofVersion,
  response: { 200: Attributes, 304: Empty() },
  fails: { 404: noVersion },
}

const ofTenant = Type.Object({ serviceInstanceName, tenantId })
export const replaceTenantConfigurations = {
  name: 'tenants.configurations.update',
  summary: 'Replace the configurations of a tenant',
  query: ofTenant,
  body: TenantEnvelope,
  response: none,
  fails: ifMatchFails,
}
export const readTenantConfigurations = {
  name: 'tenants.configurations.get',
  summary: 'Get the configurations of a tenant',
  query: ofTenant,
  response: { 200: TenantEnvelope, 304: Empty() },
}

// ── everything

export const readBulk = {
  name: 'applications.export',
  summary: 'Export all service instances, applications and configurations in one response',
  query: Type.Object({
    serviceInstanceName,
    include,
    appName: Type.Optional(TextList({ description: 'Only these applications. Default: all.' })),
  }),
  response: {
    200: Type.Object(
      {
        serviceInstances: Type.Array(ServiceInstance, { description: 'The service instances.' }),
        applications: Type.Array(Application, { description: 'The applications with their versions.' }),
        appConfigs: describedAs(Envelope, 'The configurations of the applications and versions.'),
      },
      { title: 'Everything', description: 'All service instances, applications and configurations.' },
    ),
  },
}

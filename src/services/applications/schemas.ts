import { AnyJson, DateTime, Empty, JsonObject, Name, Text, TextList, Type } from '../../kernel/schema.ts'

// ── resources

const naming = {
  displayName: Type.Optional(Text()),
  description: Type.Optional(Text({ maxLength: 4096 })),
}
const dates = { createdDate: DateTime(), updatedDate: DateTime() }

const Version = Type.Object({ name: Name(), ...naming, ...dates }, { title: 'ApplicationVersion' })
const Application = Type.Object(
  { name: Name(), tenantId: Name(), ...naming, ...dates, versions: Type.Array(Version) },
  { title: 'Application' },
)
const ServiceInstance = Type.Object(
  {
    name: Name(),
    serviceName: Name(),
    serviceGroup: Name(),
    description: Type.Optional(Text()),
    urlPrefix: Type.Optional(Text()),
    appConfigurationSchemaPresent: Type.Boolean(),
    appConfigurationSchema: Type.Optional(JsonObject()),
    appVersionConfigurationSchemaPresent: Type.Boolean(),
    appVersionConfigurationSchema: Type.Optional(JsonObject()),
  },
  { title: 'ServiceInstance' },
)
const Envelope = JsonObject({
  title: 'Configurations',
  description: '{<instance>: {platform: {applications: {<application>: {…}}}}}',
})
const TenantEnvelope = JsonObject({
  title: 'TenantConfigurations',
  description: '{<instance>: {platform: {tenants: {<tenant>: {config: {…}}}}}}',
})

// ── parts

const nameLengthMax = 128
const appName = Name({ description: 'The name of an application' })
const ofApplication = Type.Object({ appName })
const ofVersion = Type.Object({ appName, appVersionName: Name({ description: '<application>-<suffix>' }) })
const tenantId = Type.Optional(Name({ description: "Default: the caller's tenant" }))
const serviceInstanceName = Type.Optional(TextList({ description: 'One or several service instances' }))
const include = Type.Optional(
  TextList({ description: 'appConfigurationSchema, appVersionConfigurationSchema, or both' }),
)
const none = { 204: Empty() }

// ── service instances

export const listInstances = {
  name: 'serviceInstances.list',
  summary: 'List service instances',
  description: 'What can be configured for applications, with the schemas when asked for.',
  query: Type.Object({ include }),
  response: { 200: Type.Array(ServiceInstance) },
}
export const readInstance = {
  name: 'serviceInstances.get',
  summary: 'Get a service instance',
  params: Type.Object({ serviceInstanceName: Name({ description: 'The name of a service instance' }) }),
  query: Type.Object({ include }),
  response: { 200: ServiceInstance },
}

// ── applications

export const createApplication = {
  name: 'applications.create',
  summary: 'Create an application',
  query: Type.Object({ tenantId }),
  body: Type.Object(
    {
      // Empty where names are generated, which is a setting.
      name: Type.Optional(
        Type.String({
          pattern: '^[a-z0-9_-]*$',
          maxLength: nameLengthMax,
          description:
            'Lower-case letters, digits, _ and -, unique on the platform; empty or absent where names are generated',
        }),
      ),
      ...naming,
    },
    { title: 'NewApplication', examples: [{ name: 'greenhouse', displayName: 'Greenhouse' }] },
  ),
  response: { 201: Empty('Created, see Location') },
  fails: [409],
}
export const listApplications = {
  name: 'applications.list',
  summary: 'List applications with their versions',
  query: Type.Object({ tenantId }),
  response: { 200: Type.Array(Application), 304: Empty() },
}
export const readApplication = {
  name: 'applications.get',
  summary: 'Get an application with its versions',
  params: ofApplication,
  query: Type.Object({ tenantId }),
  response: { 200: Application, 304: Empty() },
}
const renaming = Type.Object(naming, { title: 'Naming', examples: [{ displayName: 'Greenhouse north' }] })
export const updateApplication = {
  name: 'applications.patch',
  summary: 'Change the display name and the description of an application',
  params: ofApplication,
  body: renaming,
  response: none,
  fails: [412],
}
export const deleteApplication = {
  name: 'applications.delete',
  summary: 'Delete an application that nothing uses any more',
  params: ofApplication,
  response: none,
  fails: [409, 412],
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
        description: 'Lower-case letters and digits; the name is <application>-<suffix>',
      }),
      ...naming,
    },
    { title: 'NewApplicationVersion', examples: [{ nameSuffix: 'v1' }] },
  ),
  response: { 201: Empty('Created, see Location') },
  fails: [409],
}
export const listVersions = {
  name: 'applications.versions.list',
  summary: 'List the versions of an application',
  params: ofApplication,
  response: { 200: Type.Array(Version), 304: Empty() },
}
export const readVersion = {
  name: 'applications.versions.get',
  summary: 'Get a version of an application',
  params: ofVersion,
  response: { 200: Version, 304: Empty() },
}
export const updateVersion = {
  name: 'applications.versions.patch',
  summary: 'Change the display name and the description of a version',
  params: ofVersion,
  body: renaming,
  response: none,
  fails: [412],
}
export const deleteVersion = {
  name: 'applications.versions.delete',
  summary: 'Delete a version that nothing uses any more',
  params: ofVersion,
  response: none,
  fails: [409, 412],
}

// ── configurations

const byInstance = Type.Object({ serviceInstanceName })
const patch = AnyJson({ description: 'The bare configuration, merged as RFC 7396 says' })

export const loadConfigurations = {
  name: 'applications.configurations.import',
  summary: 'Load configurations into a platform that has none',
  body: Envelope,
  response: { 201: Envelope },
  fails: [409],
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
  whose: string,
) => ({
  replace: {
    name: `${noun}.update`,
    summary: `Replace the configurations of ${whose}`,
    params,
    body: Envelope,
    response: none,
  },
  read: {
    name: `${noun}.get`,
    summary: `Get the configurations of ${whose}`,
    params,
    query: byInstance,
    response: { 200: Envelope, 304: Empty() },
  },
  merge: {
    name: `${noun}.patch`,
    summary: `Merge into a configuration of ${whose}`,
    params,
    query: byInstance,
    body: patch,
    response: none,
  },
})
export const applicationConfigurations = configurationsOf(
  ofApplication,
  'applications.configurations',
  'an application',
)
export const versionConfigurations = configurationsOf(ofVersion, 'applications.versions.configurations', 'a version')

const Attributes = JsonObject({ title: 'Attributes', description: 'What devices look up with adx; any object' })
export const replaceAttributes = {
  name: 'applications.versions.attributes.update',
  summary: 'Replace the attributes of a version',
  params: ofVersion,
  body: Attributes,
  response: none,
}
export const readAttributes = {
  name: 'applications.versions.attributes.get',
  summary: 'Get the attributes of a version',
  params: ofVersion,
  response: { 200: Attributes, 304: Empty() },
}

const ofTenant = Type.Object({ serviceInstanceName, tenantId })
export const replaceTenantConfigurations = {
  name: 'tenants.configurations.update',
  summary: 'Replace the configurations of a tenant',
  query: ofTenant,
  body: TenantEnvelope,
  response: none,
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
  summary: 'Export all service instances, applications and configurations at once',
  query: Type.Object({
    serviceInstanceName,
    include,
    appName: Type.Optional(TextList({ description: 'One or several applications' })),
  }),
  response: {
    200: Type.Object(
      {
        serviceInstances: Type.Array(ServiceInstance),
        applications: Type.Array(Application),
        appConfigs: Envelope,
      },
      { title: 'Everything' },
    ),
  },
}

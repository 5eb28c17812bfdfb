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
const Envelope = JsonObject({ description: '{<instance>: {platform: {applications: {<application>: {…}}}}}' })
const TenantEnvelope = JsonObject({ description: '{<instance>: {platform: {tenants: {<tenant>: {config: {…}}}}}}' })

// ── parts

const nameLengthMax = 128
const ofApplication = Type.Object({ appName: Name() })
const ofVersion = Type.Object({ appName: Name(), appVersionName: Name() })
const tenantId = Type.Optional(Name({ description: "Default: the caller's tenant" }))
const serviceInstanceName = Type.Optional(TextList({ description: 'One or several service instances' }))
const include = Type.Optional(
  TextList({ description: 'appConfigurationSchema, appVersionConfigurationSchema, or both' }),
)
const none = { 204: Empty() }

// ── service instances

export const listInstances = {
  query: Type.Object({ include }),
  response: { 200: Type.Array(ServiceInstance) },
}
export const readInstance = {
  params: Type.Object({ serviceInstanceName: Name() }),
  query: Type.Object({ include }),
  response: { 200: ServiceInstance },
}

// ── applications

export const createApplication = {
  query: Type.Object({ tenantId }),
  body: Type.Object({
    // Empty where names are generated, which is a setting.
    name: Type.Optional(
      Type.String({
        pattern: '^[a-z0-9_-]*$',
        maxLength: nameLengthMax,
        description: 'Unique on the platform; empty or absent where names are generated',
      }),
    ),
    ...naming,
  }),
  response: { 201: Empty('Created, see Location') },
  fails: [409],
}
export const listApplications = {
  query: Type.Object({ tenantId }),
  response: { 200: Type.Array(Application), 304: Empty() },
}
export const readApplication = {
  params: ofApplication,
  query: Type.Object({ tenantId }),
  response: { 200: Application, 304: Empty() },
}
export const updateApplication = { params: ofApplication, body: Type.Object(naming), response: none, fails: [412] }
export const deleteApplication = { params: ofApplication, response: none, fails: [409, 412] }

// ── versions

export const createVersion = {
  params: ofApplication,
  body: Type.Object({
    nameSuffix: Name({ pattern: '^[a-z0-9]+$', maxLength: 64, description: 'The name is <application>-<suffix>' }),
    ...naming,
  }),
  response: { 201: Empty('Created, see Location') },
  fails: [409],
}
export const listVersions = { params: ofApplication, response: { 200: Type.Array(Version), 304: Empty() } }
export const readVersion = { params: ofVersion, response: { 200: Version, 304: Empty() } }
export const updateVersion = { params: ofVersion, body: Type.Object(naming), response: none, fails: [412] }
export const deleteVersion = { params: ofVersion, response: none, fails: [409, 412] }

// ── configurations

const byInstance = Type.Object({ serviceInstanceName })
const patch = AnyJson({ description: 'The bare configuration, merged as RFC 7396 says' })

export const loadConfigurations = { body: Envelope, response: { 201: Envelope }, fails: [409] }
export const readAllConfigurations = { query: byInstance, response: { 200: Envelope } }

const configurationsOf = <P extends typeof ofApplication | typeof ofVersion>(params: P) => ({
  replace: { params, body: Envelope, response: none },
  read: { params, query: byInstance, response: { 200: Envelope, 304: Empty() } },
  merge: { params, query: byInstance, body: patch, response: none },
})
export const applicationConfigurations = configurationsOf(ofApplication)
export const versionConfigurations = configurationsOf(ofVersion)

const ofTenant = Type.Object({ serviceInstanceName, tenantId })
export const replaceTenantConfigurations = { query: ofTenant, body: TenantEnvelope, response: none }
export const readTenantConfigurations = { query: ofTenant, response: { 200: TenantEnvelope, 304: Empty() } }

// ── everything

export const readBulk = {
  query: Type.Object({
    serviceInstanceName,
    include,
    appName: Type.Optional(TextList({ description: 'One or several applications' })),
  }),
  response: {
    200: Type.Object({
      serviceInstances: Type.Array(ServiceInstance),
      applications: Type.Array(Application),
      appConfigs: Envelope,
    }),
  },
}

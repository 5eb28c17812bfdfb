import { pageQuery } from '../../kernel/paging.ts'
import { AnyJson, DateTime, Empty, ifMatchFails, JsonObject, Name, Text, TextList, Type } from '../../kernel/schema.ts'

/** The name, in the API, of the configuration that has no name in the device protocol. */
export const defaultName = 'default'

export const namePattern = '^[a-zA-Z0-9_-]+$'
const configName = Type.String({
  minLength: 1,
  maxLength: 255,
  pattern: namePattern,
  default: defaultName,
  description: 'Name of the configuration: letters, digits, `_` and `-`. Default: default.',
})

const configFields = {
  configId: Type.String({
    description: 'Id of this configuration (UUID), also its ETag. Every change of the JSON creates a new id.',
    examples: ['5d0e1c2a-7a8e-4c43-9d64-0a4f0d7b2f11'],
  }),
  name: Type.String({ description: 'Name of the configuration.', examples: ['default'] }),
  config: Type.String({ description: 'The configuration: JSON as text.', examples: ['{"interval":5}'] }),
  createdDate: DateTime({ description: 'Time at which the first configuration with this name was written, in UTC.' }),
  updatedDate: DateTime({ description: 'Time at which this configuration was written, in UTC.' }),
}
const Configuration = Type.Object(configFields, {
  title: 'EndpointConfiguration',
  description: 'A configuration of an endpoint, or the default of an application version.',
})
const BatchConfiguration = Type.Object(
  {
    ...configFields,
    endpointsCount: Type.Integer({ description: 'Number of endpoints that have the configuration now.' }),
  },
  { title: 'BatchConfiguration', description: 'A configuration that was given to many endpoints in one request.' },
)

const endpointId = Name({ description: 'Id of the endpoint.' })
const appVersionName = Name({ description: 'Name of the application version.' })
const ofEndpoint = Type.Object({ endpointId, appVersionName })
const ofVersion = Type.Object({ appVersionName })
const named = Type.Object({ name: configName })

const payload = AnyJson({
  description: 'The configuration: any JSON of at most 1,000,000 bytes.',
  examples: [{ interval: 5, mode: 'eco' }],
})
const list = Type.Array(Configuration, { description: 'The configurations, sorted by name.' })

const noEndpoint =
  'The endpoint does not exist or the caller may not read it, or the version does not belong to its application'
const noVersion = 'The application version does not exist, or the caller may not read it'
const writeFails = {
  400: 'The body is not JSON, or a parameter is malformed.',
  413: 'The configuration has more than 1,000,000 bytes of JSON.',
  422: 'The configuration violates the schema of the version; `errors` lists `path` (JSON pointer) and `message` of the first 100 violations, `moreErrors` counts further violations.',
  503: 'The stored schema cannot be used, or the database does not answer. Nothing was changed.',
}
const schemaMissing = '; or the application requires a schema and the version has no schema.'

export const putEndpointConfig = {
  name: 'configurations.endpoints.update',
  summary: 'Set the configuration of an endpoint',
  description:
    'Creates or replaces the configuration for this version, which may be any version of the application. JSON that equals the current ' +
    'configuration changes nothing. If the effective configuration of a connected device changes, the device gets it immediately.',
  params: ofEndpoint,
  query: named,
  body: payload,
  response: { 200: Configuration },
  fails: { ...writeFails, 404: noEndpoint + schemaMissing, ...ifMatchFails },
}
export const getEndpointConfig = {
  name: 'configurations.endpoints.get',
  summary: 'Get the configuration of an endpoint',
  description:
    'Returns the configuration of the endpoint itself, or the default of the version if the endpoint has no configuration.',
  params: ofEndpoint,
  query: named,
  response: { 200: Configuration, 304: Empty() },
  fails: { 404: `${noEndpoint}; or there is neither a configuration nor a default.` },
}
export const deleteEndpointConfig = {
  name: 'configurations.endpoints.delete',
  summary: 'Delete the configuration of an endpoint',
  description: 'The default of the version becomes effective. The response is 204 even if there was no configuration.',
  params: ofEndpoint,
  query: named,
  response: { 204: Empty() },
  fails: { 404: `${noEndpoint}.`, ...ifMatchFails },
}
export const listEndpointConfigs = {
  name: 'configurations.endpoints.list',
  summary: 'List the configurations of an endpoint',
  description: 'Only configurations of the endpoint itself, without the defaults of the version.',
  params: ofEndpoint,
  response: { 200: list },
  fails: { 404: `${noEndpoint}.` },
}

const batchFails = {
  ...writeFails,
  403: 'The caller may read an endpoint but not change it. Nothing was changed.',
}
export const putBatch = {
  name: 'configurations.batch.update',
  summary: 'Set one configuration for endpoints of several versions',
  description:
    'All endpoints get the same configuration and `configId`, or no endpoint gets the configuration. `GET /statuses?configId=` shows the progress.',
  query: named,
  body: Type.Object(
    {
      configPayload: payload,
      endpoints: Type.Record(Name(), Type.Array(Name({ description: 'Id of an endpoint.' }), { maxItems: 100_000 }), {
        description: 'Ids of endpoints by name of the application version.',
        examples: [{ 'thermostat-v1': ['7d7a5d80-2f1c-4f5d-8c83-54b7fd9a2c11'] }],
      }),
    },
    { title: 'ConfigurationBatch', description: 'A configuration and the endpoints that get it.' },
  ),
  response: { 200: BatchConfiguration },
  fails: {
    ...batchFails,
    404: `A version or an endpoint does not exist or is not visible for the caller, or the version does not belong to the application of the endpoint${schemaMissing}`,
  },
}
export const putByFilter = {
  name: 'configurations.filters.update',
  summary: 'Set one configuration for all endpoints of a filter',
  description:
    'All endpoints that match now get the same configuration and `configId`, or no endpoint gets it. Endpoints that match later do not get it. ' +
    '`GET /statuses?configId=` shows the progress.',
  params: Type.Object({ filterId: Name({ description: 'Id of the filter.' }) }),
  query: named,
  body: payload,
  response: { 200: BatchConfiguration },
  fails: {
    ...batchFails,
    400: 'The body is not JSON, a parameter is malformed, or the filter is not active.',
    404: `The filter does not exist or the caller may not read it, or an endpoint is not visible for the caller${schemaMissing}`,
  },
}

export const putDefault = {
  name: 'configurations.defaults.update',
  summary: 'Set the default configuration of an application version',
  description:
    'The default is effective for all endpoints of the version without a configuration of their own. Connected devices get it immediately.',
  params: ofVersion,
  query: named,
  body: payload,
  response: { 200: Configuration },
  fails: { ...writeFails, 404: noVersion + schemaMissing, ...ifMatchFails },
}
export const getDefault = {
  name: 'configurations.defaults.get',
  summary: 'Get the default configuration of an application version',
  params: ofVersion,
  query: named,
  response: { 200: Configuration, 304: Empty() },
  fails: { 404: `${noVersion}; or it has no default with this name.` },
}
export const deleteDefault = {
  name: 'configurations.defaults.delete',
  summary: 'Delete the default configuration of an application version',
  params: ofVersion,
  query: named,
  response: { 204: Empty() },
  fails: { 404: `${noVersion}; or it has no default with this name.`, ...ifMatchFails },
}
export const listDefaults = {
  name: 'configurations.defaults.list',
  summary: 'List the default configurations of an application version',
  params: ofVersion,
  response: { 200: list },
  fails: { 404: `${noVersion}.` },
}

export const getSchema = {
  name: 'configurations.schemas.get',
  summary: 'Get the schema of configurations',
  description:
    'The schema of the version, or of its application: `endpointConfigurationSchema` in the configuration of the service instance `ecr`.',
  params: ofVersion,
  response: { 200: JsonObject({ title: 'ConfigurationSchema', description: 'A JSON schema.' }) },
  fails: { 404: `${noVersion}; or it has no schema.` },
}
export const validateSchema = {
  name: 'configurations.schemas.validate',
  summary: 'Validate a candidate for the schema of configurations',
  description:
    'JSON schema draft-07 (also without `$schema`), 2019-09 or 2020-12. References to other documents, and patterns that cannot be run in ' +
    'linear time, are refused. Nothing is stored.',
  params: ofVersion,
  body: AnyJson({ description: 'The JSON schema.', examples: [{ type: 'object', required: ['interval'] }] }),
  response: { 204: Empty('The schema can be used.') },
  fails: {
    400: 'The body is not JSON.',
    404: `${noVersion}.`,
    422: 'The schema cannot be used; `errors` lists `path` (JSON pointer) and `message` of the first 100 problems, `moreErrors` counts further problems.',
  },
}

const Status = Type.Object(
  {
    configId: Type.String({ description: 'Id of the configuration.' }),
    endpointId: Type.String({ description: 'Id of the endpoint.' }),
    appVersionName: Type.String({ description: 'Name of the application version.' }),
    name: Type.String({ description: 'Name of the configuration.' }),
    status: Type.Enum(['PENDING', 'DISPATCHED', 'APPLIED', 'FAILED'], {
      description:
        'PENDING: never sent. DISPATCHED: sent to the device, which has not reported. APPLIED: the device reported success (2xx). FAILED: it reported another status.',
    }),
    config: Type.Optional(Type.String({ description: 'The configuration: JSON as text.' })),
    lastDispatchedDate: Type.Optional(
      DateTime({ description: 'Time at which the configuration was last sent to the device, in UTC.' }),
    ),
    lastConfirmedDate: Type.Optional(
      DateTime({ description: 'Time at which the device last reported on the configuration, in UTC.' }),
    ),
    confirmationStatusCode: Type.Optional(Type.Integer({ description: 'Status code of the last report.' })),
    confirmationReasonPhrase: Type.Optional(Type.String({ description: 'Reason in the last report.' })),
  },
  { title: 'ConfigurationStatus', description: 'The progress of a configuration on an endpoint.' },
)
const flag = (description: string) => Type.Boolean({ description })
const count = (description: string) => Type.Integer({ description })
const sortText = 'Always sorted by the date of the configuration, the newest first.'
const Sort = Type.Object(
  { sorted: flag('Always true.'), unsorted: flag('Always false.'), empty: flag('Always false.') },
  { title: 'StatusSort', description: sortText },
)
export const listStatuses = {
  name: 'configurations.statuses.list',
  summary: 'List the statuses of configurations',
  description:
    'One record for each endpoint, version, name and configuration, the newest configuration first: the effective configurations, and up to ' +
    '20 for each endpoint, version and name that were sent before. Only endpoints that the caller may read.',
  query: Type.Object({
    endpointId: Type.Optional(TextList({ description: 'Only these endpoints (ids). Default: all.' })),
    appVersionName: Type.Optional(Text({ description: 'Only this application version. Default: all.' })),
    configId: Type.Optional(Text({ description: 'Only this configuration: the progress of a batch. Default: all.' })),
    name: Type.Optional(Text({ description: 'Only configurations of this name. Default: all.' })),
    status: Type.Optional(
      Type.Enum(['PENDING', 'DISPATCHED', 'APPLIED', 'FAILED'], { description: 'Only this status. Default: all.' }),
    ),
    ...pageQuery(20),
  }),
  response: {
    200: Type.Object(
      {
        content: Type.Array(Status, { description: 'The records of this page.' }),
        pageable: Type.Object(
          {
            offset: count('Number of records before this page.'),
            pageNumber: count('Number of the page, from 0.'),
            pageSize: count('Maximum number of records on a page.'),
            paged: flag('Always true.'),
            unpaged: flag('Always false.'),
            sort: Sort,
          },
          { title: 'StatusPageable', description: 'The page that was asked for.' },
        ),
        totalElements: count('Number of all matching records, on all pages.'),
        totalPages: count('Number of pages.'),
        last: flag('True when this is the last page.'),
        first: flag('True when this is the first page.'),
        sort: Sort,
        numberOfElements: count('Number of records on this page.'),
        size: count('Maximum number of records on a page.'),
        number: count('Number of the page, from 0.'),
        empty: flag('True when this page has no records.'),
      },
      { title: 'ConfigurationStatusPage', description: 'A page of statuses.' },
    ),
  },
}

import { failure } from '../../../kernel/faces.ts'
import { contentPage, offsetQuery } from '../../../kernel/paging.ts'
import { AnyJson, Empty, Name, TextList, Type } from '../../../kernel/schema.ts'
import {
  Endpoint,
  EndpointId,
  EndpointToken,
  EndpointVersion,
  LinkOutcome,
  Metadata,
  none,
  ofEndpoint,
} from '../schemas.ts'

const tenantId = Type.Optional(Name({ description: "Default: the caller's tenant" }))
const include = Type.Optional(TextList({ description: 'metadata, filters, or both; by default neither' }))
const regexLengthMax = 500
const versionName = Name({ description: 'The name of an application version' })
const VersionName = Type.Object({ name: versionName }, { title: 'VersionName', examples: [{ name: 'greenhouse-v2' }] })

// ── one

export const registerEndpoint = {
  name: 'endpoints.create',
  summary: 'Register an endpoint',
  description:
    'The token is shown here only. A relation with from puts the new endpoint below another, with to above it.',
  body: Type.Object(
    {
      appVersion: VersionName,
      metadata: Type.Optional(Metadata),
      endpointToken: Type.Optional(EndpointToken()),
      endpointId: Type.Optional(EndpointId()),
      relations: Type.Optional(
        Type.Array(
          Type.Object(
            { type: Type.Literal('contains'), from: Type.Optional(Name()), to: Type.Optional(Name()) },
            { title: 'NewRelation', description: 'with either from or to' },
          ),
          { maxItems: 1000 },
        ),
      ),
      resourceGroupIds: Type.Optional(Type.Array(Name(), { maxItems: 100 })),
    },
    {
      title: 'NewEndpoint',
      examples: [
        { appVersion: { name: 'greenhouse-v1' }, endpointId: 'thermo-1', metadata: { city: 'Kyiv', floor: 1 } },
      ],
    },
  ),
  response: {
    201: Type.Object(
      {
        endpointId: Name(),
        token: Type.String({ description: 'What the endpoint authenticates with' }),
        status: Type.Literal('Inactive'),
        relations: Type.Optional(LinkOutcome),
      },
      { title: 'RegisteredEndpoint' },
    ),
    404: failure('An endpoint of a relation was not found'),
    409: failure('The endpoint id or token is taken'),
  },
}
export const readEndpoint = {
  name: 'endpoints.get',
  summary: 'Get an endpoint',
  params: ofEndpoint,
  query: Type.Object({ include, tenantId }),
  response: { 200: Endpoint, 304: Empty() },
}
export const deleteEndpoint = {
  name: 'endpoints.delete',
  summary: 'Unregister an endpoint, with all that belongs to it',
  params: ofEndpoint,
  response: none,
}
export const readVersion = {
  name: 'endpoints.version.get',
  summary: 'Get the application version of an endpoint',
  params: ofEndpoint,
  response: { 200: EndpointVersion },
}
export const updateVersion = {
  name: 'endpoints.version.update',
  summary: 'Move an endpoint to another version of its application',
  params: ofEndpoint,
  body: VersionName,
  response: none,
}

// ── several

export const listEndpoints = {
  name: 'endpoints.list',
  summary: 'List endpoints',
  description: 'Oldest first unless multiFilter sorts. All conditions have to hold.',
  query: Type.Object({
    endpointId: Type.Optional(TextList({ description: 'One or several endpoints' })),
    applicationName: Type.Optional(TextList({ description: 'One or several applications' })),
    applicationVersionName: Type.Optional(TextList({ description: 'One or several application versions' })),
    tenantId,
    ...offsetQuery(100),
    metadataFilter: Type.Optional(
      Type.String({
        maxLength: 8192,
        description: 'JSON object of metadata key to required value, such as {"city":"Kyiv"}',
      }),
    ),
    multiFilter: Type.Optional(
      Type.String({
        maxLength: 16_384,
        description:
          'JSON object with and or or: an array of {key, operator: IN, NOT_IN, IN_REGEX or NOT_IN_REGEX, values}; ' +
          'optionally sort (a metadata key) and sortOrder (asc or desc)',
      }),
    ),
    regex: Type.Optional(
      Type.String({
        maxLength: regexLengthMax,
        description:
          'Found anywhere in the id, a metadata key or value, or the application version name; as RE2 understands it',
      }),
    ),
    filterId: Type.Optional(
      TextList({ description: 'One or several active filters; endpoints that match all of them' }),
    ),
    metadataKeys: Type.Optional(TextList({ description: 'Only these metadata keys' })),
    include,
  }),
  response: { 200: contentPage(Endpoint), 304: Empty() },
}

const Criteria = (description: string) =>
  Type.Array(
    AnyJson({ description: '{key, operator: IN, NOT_IN, IN_REGEX or NOT_IN_REGEX, values}, or {or: [such]} in and' }),
    { maxItems: 100, description },
  )
const searchExample = {
  and: [{ key: 'city', operator: 'IN', values: ['Kyiv', 'Lviv'] }],
  applicationName: 'greenhouse',
  include: ['metadata'],
  sort: 'floor',
}
export const searchEndpoints = {
  name: 'endpoints.search',
  summary: 'Search endpoints',
  description:
    'As the list, with the conditions in the body. A key is endpointId, appName, appVersion.name, createdDate, or a ' +
    'metadata key with a path into its value, such as location.lat.',
  body: Type.Object(
    {
      and: Criteria('All of them hold; may be empty'),
      or: Type.Optional(Criteria('At least one of them holds')),
      applicationName: Type.Optional(TextList({ description: 'a text or an array of texts' })),
      applicationVersionName: Type.Optional(TextList({ description: 'a text or an array of texts' })),
      endpointIds: Type.Optional(Type.Array(Name(), { maxItems: 1000 })),
      filterIds: Type.Optional(Type.Array(Name(), { maxItems: 100, description: 'Active filters; all of them match' })),
      regex: Type.Optional(Type.String({ maxLength: regexLengthMax, description: 'As in the list' })),
      include: Type.Optional(TextList({ description: 'metadata, filters, or both' })),
      metadataKeys: Type.Optional(Type.Array(Name({ pattern: '^[a-zA-Z0-9_]+$' }), { maxItems: 500 })),
      sort: Type.Optional(Name({ description: 'A key as in the conditions' })),
      sortOrder: Type.Optional(Type.Enum(['asc', 'desc'])),
      offset: Type.Optional(Type.Integer({ minimum: 0, maximum: 2_147_483_647, default: 0 })),
      limit: Type.Optional(Type.Integer({ minimum: 0, maximum: 2_147_483_647, default: 100, description: '0: all' })),
    },
    { title: 'EndpointSearch', examples: [searchExample] },
  ),
  response: { 200: contentPage(Endpoint) },
}
export const deleteEndpoints = {
  name: 'endpoints.deleteMany',
  summary: 'Unregister several endpoints',
  description: 'Those that cannot be unregistered are in failed, with the reason; the others are gone.',
  body: Type.Object(
    { endpointIds: Type.Array(Name(), { minItems: 1, maxItems: 1000 }) },
    { title: 'EndpointIds', examples: [{ endpointIds: ['thermo-1', 'thermo-2'] }] },
  ),
  response: {
    200: Type.Object(
      {
        deletedCount: Type.Integer(),
        failedCount: Type.Integer(),
        deleted: Type.Array(Name()),
        failed: Type.Array(Type.Object({ endpointId: Name(), reason: Type.String() }, { title: 'FailedDeletion' })),
      },
      { title: 'DeletionOutcome' },
    ),
  },
}

// ── batches

const batchMax = 1000
const batchExample = {
  appVersion: { name: 'greenhouse-v1' },
  endpoints: [{ endpointId: 'thermo-2', metadata: { city: 'Kyiv' } }, { endpointToken: 'SENSOR-3' }],
}
export const startBatch = {
  name: 'endpoints.batches.create',
  summary: 'Register up to 1000 endpoints in the background',
  description: 'The status of the batch has all of them when createdCount and failedCount add up to what was sent.',
  body: Type.Object(
    {
      appVersion: VersionName,
      endpoints: Type.Array(
        Type.Object(
          {
            endpointToken: Type.Optional(EndpointToken()),
            endpointId: Type.Optional(EndpointId()),
            metadata: Type.Optional(Metadata),
          },
          { title: 'BatchItem' },
        ),
        { minItems: 1, maxItems: batchMax },
      ),
    },
    { title: 'NewBatch', examples: [batchExample] },
  ),
  response: {
    202: Type.Object({ taskId: Name() }, { title: 'BatchTask' }),
    404: failure('There is no such application version'),
  },
}
export const readBatch = {
  name: 'endpoints.batches.get',
  summary: 'Get how far a batch of registrations is',
  query: Type.Object({
    appName: Type.Optional(Name({ description: 'The application of the batch' })),
    taskId: Name({ description: 'As the batch was answered with' }),
  }),
  response: {
    200: Type.Object(
      {
        createdCount: Type.Integer(),
        failedCount: Type.Integer(),
        created: Type.Array(
          Type.Object(
            { endpointToken: Type.String(), endpointId: Name(), metadata: Type.Optional(Metadata) },
            { title: 'BatchCreated' },
          ),
        ),
        failed: Type.Array(
          Type.Object(
            {
              endpointToken: Type.Optional(Type.String()),
              endpointId: Type.Optional(Name()),
              metadata: Type.Optional(Metadata),
              status: Type.Literal('FAILED'),
              statusReason: Type.String(),
            },
            { title: 'BatchFailed' },
          ),
        ),
      },
      { title: 'BatchStatus' },
    ),
    404: failure('There is no such batch'),
  },
}

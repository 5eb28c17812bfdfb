import { contentPage, offsetQuery } from '../../../kernel/paging.ts'
import { AnyJson, DateTime, Empty, JsonObject, Name, TextList, Type } from '../../../kernel/schema.ts'
import { Endpoint, EndpointId, EndpointToken, LinkOutcome, none, ofEndpoint } from './common.ts'

const tenantId = Type.Optional(Name({ description: "Default: the caller's tenant" }))
const include = Type.Optional(TextList({ description: 'metadata, filters, or both; by default neither' }))
const regexLengthMax = 500

// ── one

export const registerEndpoint = {
  summary: 'Register an endpoint',
  body: Type.Object({
    appVersion: Type.Object({ name: Name() }),
    metadata: Type.Optional(JsonObject()),
    endpointToken: Type.Optional(EndpointToken()),
    endpointId: Type.Optional(EndpointId()),
    relations: Type.Optional(
      Type.Array(
        Type.Object(
          { type: Type.Literal('contains'), from: Type.Optional(Name()), to: Type.Optional(Name()) },
          { description: 'with either from or to' },
        ),
        { maxItems: 1000 },
      ),
    ),
    resourceGroupIds: Type.Optional(Type.Array(Name(), { maxItems: 100 })),
  }),
  response: {
    201: Type.Object({
      endpointId: Name(),
      token: Type.String(),
      status: Type.Literal('Inactive'),
      relations: Type.Optional(LinkOutcome),
    }),
    404: Type.Object({ message: Type.String() }, { description: 'An endpoint of a relation was not found' }),
    409: Type.Object({ message: Type.String() }, { description: 'The endpoint id or token is taken' }),
  },
}
export const readEndpoint = {
  params: ofEndpoint,
  query: Type.Object({ include, tenantId }),
  response: { 200: Endpoint, 304: Empty() },
}
export const deleteEndpoint = { params: ofEndpoint, response: none }
export const readVersion = {
  params: ofEndpoint,
  response: { 200: Type.Object({ name: Name(), registeredDate: DateTime() }) },
}
export const updateVersion = { params: ofEndpoint, body: Type.Object({ name: Name() }), response: none }

// ── several

export const listEndpoints = {
  query: Type.Object({
    endpointId: Type.Optional(TextList({ description: 'One or several endpoints' })),
    applicationName: Type.Optional(TextList({ description: 'One or several applications' })),
    applicationVersionName: Type.Optional(TextList({ description: 'One or several application versions' })),
    tenantId,
    ...offsetQuery(100),
    metadataFilter: Type.Optional(
      Type.String({ maxLength: 8192, description: 'JSON object of metadata key to required value' }),
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
        description: 'Matched against the id, metadata keys and values, and the application version name',
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

const Criteria = Type.Array(
  AnyJson({ description: '{key, operator: IN, NOT_IN, IN_REGEX or NOT_IN_REGEX, values}, or {or: [such]} in and' }),
  { maxItems: 100 },
)
export const searchEndpoints = {
  summary: 'Search endpoints',
  body: Type.Object({
    and: Criteria,
    or: Type.Optional(Criteria),
    applicationName: Type.Optional(TextList({ description: 'a text or an array of texts' })),
    applicationVersionName: Type.Optional(TextList({ description: 'a text or an array of texts' })),
    endpointIds: Type.Optional(Type.Array(Name(), { maxItems: 1000 })),
    filterIds: Type.Optional(Type.Array(Name(), { maxItems: 100 })),
    regex: Type.Optional(Type.String({ maxLength: regexLengthMax })),
    include: Type.Optional(TextList({ description: 'metadata, filters, or both' })),
    metadataKeys: Type.Optional(Type.Array(Name({ pattern: '^[a-zA-Z0-9_]+$' }), { maxItems: 500 })),
    sort: Type.Optional(Name()),
    sortOrder: Type.Optional(Type.Enum(['asc', 'desc'])),
    offset: Type.Optional(Type.Integer({ minimum: 0, maximum: 2_147_483_647, default: 0 })),
    limit: Type.Optional(Type.Integer({ minimum: 0, maximum: 2_147_483_647, default: 100, description: '0: all' })),
  }),
  response: { 200: contentPage(Endpoint) },
}
export const deleteEndpoints = {
  summary: 'Unregister several endpoints',
  body: Type.Object({ endpointIds: Type.Array(Name(), { minItems: 1, maxItems: 1000 }) }),
  response: {
    200: Type.Object({
      deletedCount: Type.Integer(),
      failedCount: Type.Integer(),
      deleted: Type.Array(Name()),
      failed: Type.Array(Type.Object({ endpointId: Name(), reason: Type.String() })),
    }),
  },
}

// ── batches

const batchMax = 1000
export const startBatch = {
  summary: 'Register up to 1000 endpoints',
  body: Type.Object({
    appVersion: Type.Object({ name: Name() }),
    endpoints: Type.Array(
      Type.Object({
        endpointToken: Type.Optional(EndpointToken()),
        endpointId: Type.Optional(EndpointId()),
        metadata: Type.Optional(JsonObject()),
      }),
      { minItems: 1, maxItems: batchMax },
    ),
  }),
  response: {
    202: Type.Object({ taskId: Name() }),
    404: Type.Object({ message: Type.String() }, { description: 'There is no such application version' }),
  },
}
export const readBatch = {
  query: Type.Object({ appName: Type.Optional(Name()), taskId: Name() }),
  response: {
    200: Type.Object({
      createdCount: Type.Integer(),
      failedCount: Type.Integer(),
      created: Type.Array(
        Type.Object({ endpointToken: Type.String(), endpointId: Name(), metadata: Type.Optional(JsonObject()) }),
      ),
      failed: Type.Array(
        Type.Object({
          endpointToken: Type.Optional(Type.String()),
          endpointId: Type.Optional(Name()),
          metadata: Type.Optional(JsonObject()),
          status: Type.Literal('FAILED'),
          statusReason: Type.String(),
        }),
      ),
    }),
    404: Type.Object({ message: Type.String() }, { description: 'There is no such batch' }),
  },
}

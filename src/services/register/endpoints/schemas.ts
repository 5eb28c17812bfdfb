import { failure } from '../../../kernel/error-formats.ts'
import { contentPage, offsetQuery } from '../../../kernel/paging.ts'
import { AnyJson, describedAs, Empty, Name, TextList, Type } from '../../../kernel/schema.ts'
import {
  Endpoint,
  EndpointId,
  EndpointToken,
  EndpointVersion,
  LinkOutcome,
  Metadata,
  noEndpoint,
  none,
  ofEndpoint,
  relationType,
} from '../schemas.ts'

const tenantId = Type.Optional(
  Name({
    description:
      "Id of the tenant. A tenant other than the caller's requires the scope on platform-system. Default: the caller's tenant.",
  }),
)
const includeText =
  'Optional fields to return: `metadata` adds metadata and metadataUpdatedDate, `filters` the ids of matching filters. Default: neither.'
const include = Type.Optional(TextList({ description: includeText }))
const regexLengthMax = 500
const regexText =
  'Regular expression (RE2 syntax) that matches a part of the id, of a metadata key or value, or of the name of the application version.'
const versionName = Name({ description: 'Name of the application version.' })
const VersionName = Type.Object(
  { name: versionName },
  { title: 'VersionName', description: 'An application version by its name.', examples: [{ name: 'greenhouse-v2' }] },
)

// ── one endpoint

const NewRelation = Type.Object(
  {
    type: relationType(),
    from: Type.Optional(Name({ description: 'Id of the endpoint that contains the new endpoint.' })),
    to: Type.Optional(Name({ description: 'Id of the endpoint that the new endpoint contains.' })),
  },
  { title: 'NewRelation', description: 'A relation of the endpoint to register; exactly one of `from` and `to`.' },
)

export const registerEndpoint = {
  name: 'endpoints.create',
  summary: 'Register an endpoint',
  description:
    'Creates the endpoint with one token, which only this response shows. The device uses the token to authenticate.',
  body: Type.Object(
    {
      appVersion: describedAs(VersionName, 'Application version that the endpoint belongs to.'),
      metadata: Type.Optional(describedAs(Metadata, 'Metadata of the endpoint by key. Default: none.')),
      endpointToken: Type.Optional(EndpointToken()),
      endpointId: Type.Optional(EndpointId()),
      relations: Type.Optional(
        Type.Array(NewRelation, {
          maxItems: 1000,
          description: 'Relations of the new endpoint to existing endpoints. Default: none.',
        }),
      ),
      resourceGroupIds: Type.Optional(
        Type.Array(Name({ description: 'Id of a pool.' }), {
          maxItems: 100,
          description: 'Ids of pools; the endpoint shows these ids as `poolIds`. Default: none.',
        }),
      ),
    },
    {
      title: 'NewEndpoint',
      description: 'An endpoint to register.',
      examples: [
        { appVersion: { name: 'greenhouse-v1' }, endpointId: 'thermo-1', metadata: { city: 'Kyiv', floor: 1 } },
      ],
    },
  ),
  response: {
    201: Type.Object(
      {
        endpointId: Name({ description: 'Id of the endpoint.' }),
        token: Type.String({ description: 'Token that the device authenticates with. Only this response shows it.' }),
        status: Type.Literal('Inactive', { description: 'Status of the token: always Inactive, it was not used yet.' }),
        relations: Type.Optional(
          describedAs(LinkOutcome, 'Result for each relation. Omitted if all were made, or if none was requested.'),
        ),
      },
      { title: 'RegisteredEndpoint', description: 'The new endpoint with its token.' },
    ),
    404: failure('An endpoint of a relation does not exist, or the caller may not read it. Nothing was registered.'),
    409: failure('Another endpoint has this id, or another endpoint of the application has this token.'),
  },
}
export const readEndpoint = {
  name: 'endpoints.get',
  summary: 'Get an endpoint',
  params: ofEndpoint,
  query: Type.Object({ include, tenantId }),
  response: { 200: Endpoint, 304: Empty() },
  fails: { 404: noEndpoint },
}
export const deleteEndpoint = {
  name: 'endpoints.delete',
  summary: 'Unregister an endpoint',
  description: 'Deletes the tokens, metadata, relations, time series, files and blobs of the endpoint too.',
  params: ofEndpoint,
  response: none,
  fails: { 404: noEndpoint },
}
export const readVersion = {
  name: 'endpoints.version.get',
  summary: 'Get the application version of an endpoint',
  params: ofEndpoint,
  response: { 200: EndpointVersion },
  fails: { 404: noEndpoint },
}
export const updateVersion = {
  name: 'endpoints.version.update',
  summary: 'Move an endpoint to another version of its application',
  params: ofEndpoint,
  body: VersionName,
  response: none,
  fails: { 400: 'The version does not exist or belongs to another application.', 404: noEndpoint },
}

// ── several endpoints

const cursor = Type.Optional(
  Type.String({
    maxLength: 200,
    description:
      '`nextCursor` of the page before, with the same conditions and sort; `offset` is then ignored. Empty: the first page. ' +
      'Reading a long list takes less time with cursors than with offsets. Default: pages without `nextCursor`.',
  }),
)
const EndpointPage = Type.Object(
  {
    ...contentPage(Endpoint).properties,
    nextCursor: Type.Optional(
      Type.String({
        description:
          'Position of the next page, for `cursor`. Absent on the last page, and without `cursor` in the request.',
      }),
    ),
  },
  {
    title: 'EndpointPage',
    description:
      'One page of a list, with the number of all matching items; after a cursor, the number when the first page was read.',
  },
)

export const listEndpoints = {
  name: 'endpoints.list',
  summary: 'List endpoints',
  description:
    'Endpoints that meet all conditions, in the order of their registration, unless `multiFilter` defines another order.',
  query: Type.Object({
    endpointId: Type.Optional(TextList({ description: 'Only these endpoints (ids). Default: all.' })),
    applicationName: Type.Optional(TextList({ description: 'Only endpoints of these applications. Default: all.' })),
    applicationVersionName: Type.Optional(
      TextList({ description: 'Only endpoints of these application versions. Default: all.' }),
    ),
    tenantId,
    ...offsetQuery(100),
    cursor,
    metadataFilter: Type.Optional(
      Type.String({
        maxLength: 8192,
        description:
          'JSON object of metadata keys with the value that each must have, such as `{"city":"Kyiv"}`; URL-encoded.',
      }),
    ),
    multiFilter: Type.Optional(
      Type.String({
        maxLength: 16_384,
        description:
          'JSON object with `and` or `or`: an array of conditions `{key, operator, values}`; the operator is IN, NOT_IN, ' +
          'IN_REGEX or NOT_IN_REGEX. Optional: `sort` (a metadata key) and `sortOrder` (`asc` or `desc`). URL-encoded.',
      }),
    ),
    regex: Type.Optional(
      Type.String({
        maxLength: regexLengthMax,
        description: regexText,
      }),
    ),
    filterId: Type.Optional(
      TextList({ description: 'Only endpoints that match all these filters (ids); each must be active.' }),
    ),
    metadataKeys: Type.Optional(
      TextList({ description: 'Return only these metadata keys; implies `include=metadata`. Default: all.' }),
    ),
    include,
  }),
  response: { 200: EndpointPage, 304: Empty() },
}

const Criteria = (description: string) =>
  Type.Array(
    AnyJson({
      description:
        'A condition `{key, operator, values}`; the operator is IN, NOT_IN, IN_REGEX or NOT_IN_REGEX. In `and` also ' +
        '`{or: [conditions]}`.',
    }),
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
    'The same as the list of endpoints, with the conditions in the body. A key is `endpointId`, `appName`, `appVersion.name`, ' +
    '`createdDate`, or a metadata key with a path into its value, such as `location.lat`.',
  body: Type.Object(
    {
      and: Criteria('Conditions that must all hold; may be empty.'),
      or: Type.Optional(Criteria('Conditions of which at least one must hold. Default: none.')),
      applicationName: Type.Optional(
        TextList({ description: 'Only endpoints of this application, or of these. Default: all.' }),
      ),
      applicationVersionName: Type.Optional(
        TextList({ description: 'Only endpoints of this application version, or of these. Default: all.' }),
      ),
      endpointIds: Type.Optional(
        Type.Array(Name({ description: 'Id of an endpoint.' }), {
          maxItems: 1000,
          description: 'Only these endpoints (ids). Default: all.',
        }),
      ),
      filterIds: Type.Optional(
        Type.Array(Name({ description: 'Id of a filter.' }), {
          maxItems: 100,
          description: 'Only endpoints that match all these filters (ids); each must be active.',
        }),
      ),
      regex: Type.Optional(Type.String({ maxLength: regexLengthMax, description: regexText })),
      include: Type.Optional(TextList({ description: includeText })),
      metadataKeys: Type.Optional(
        Type.Array(Name({ pattern: '^[a-zA-Z0-9_]+$', description: 'Metadata key: letters, digits and `_`.' }), {
          maxItems: 500,
          description: 'Return only these metadata keys; implies `include: ["metadata"]`. Default: all.',
        }),
      ),
      sort: Type.Optional(
        Name({ description: 'Key to sort by, as in the conditions. Default: the order of registration.' }),
      ),
      sortOrder: Type.Optional(
        Type.Enum(['asc', 'desc'], { description: 'asc: ascending. desc: descending. Default: asc.' }),
      ),
      ...Type.Partial(Type.Object(offsetQuery(100))).properties,
      cursor,
    },
    { title: 'EndpointSearch', description: 'Conditions that endpoints must meet.', examples: [searchExample] },
  ),
  response: { 200: EndpointPage },
}
export const deleteEndpoints = {
  name: 'endpoints.deleteMany',
  summary: 'Unregister several endpoints',
  description:
    'Unregisters endpoints one by one. `failed` lists the endpoints that could not be unregistered, with the reason.',
  body: Type.Object(
    {
      endpointIds: Type.Array(Name({ description: 'Id of an endpoint.' }), {
        minItems: 1,
        maxItems: 1000,
        description: 'Ids of the endpoints to unregister.',
      }),
    },
    {
      title: 'EndpointIds',
      description: 'Several endpoints by their ids.',
      examples: [{ endpointIds: ['thermo-1', 'thermo-2'] }],
    },
  ),
  response: {
    200: Type.Object(
      {
        deletedCount: Type.Integer({ description: 'Number of endpoints that were unregistered.' }),
        failedCount: Type.Integer({ description: 'Number of endpoints that were not unregistered.' }),
        deleted: Type.Array(Name({ description: 'Id of an endpoint.' }), {
          description: 'Ids of the endpoints that were unregistered.',
        }),
        failed: Type.Array(
          Type.Object(
            {
              endpointId: Name({ description: 'Id of the endpoint.' }),
              reason: Type.String({ description: 'Reason why the endpoint was not unregistered.' }),
            },
            { title: 'FailedDeletion', description: 'An endpoint that was not unregistered.' },
          ),
          { description: 'Endpoints that were not unregistered, each with its reason.' },
        ),
      },
      { title: 'DeletionOutcome', description: 'The result for each endpoint of the request.' },
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
  description:
    'Answers immediately with the id of a task. The batch is complete when `createdCount` and `failedCount` of its status add up to ' +
    'the number of endpoints in the request.',
  body: Type.Object(
    {
      appVersion: describedAs(VersionName, 'Application version that all endpoints of the batch belong to.'),
      endpoints: Type.Array(
        Type.Object(
          {
            endpointToken: Type.Optional(EndpointToken()),
            endpointId: Type.Optional(EndpointId()),
            metadata: Type.Optional(describedAs(Metadata, 'Metadata of the endpoint by key. Default: none.')),
          },
          { title: 'BatchItem', description: 'An endpoint of a batch to register.' },
        ),
        { minItems: 1, maxItems: batchMax, description: 'The endpoints to register: 1 to 1000.' },
      ),
    },
    { title: 'NewBatch', description: 'Endpoints to register in the background.', examples: [batchExample] },
  ),
  response: {
    202: Type.Object(
      { taskId: Name({ description: 'Id of the task, for reading its status.' }) },
      { title: 'BatchTask', description: 'A task that registers endpoints in the background.' },
    ),
    404: failure('The application version does not exist, or the caller may not read it.'),
  },
}
export const readBatch = {
  name: 'endpoints.batches.get',
  summary: 'Get the status of a batch registration',
  query: Type.Object({
    appName: Type.Optional(Name({ description: 'Name of the application of the batch. Default: not checked.' })),
    taskId: Name({ description: 'Id of the task, from the response that started the batch.' }),
  }),
  response: {
    200: Type.Object(
      {
        createdCount: Type.Integer({ description: 'Number of endpoints registered so far.' }),
        failedCount: Type.Integer({ description: 'Number of endpoints that could not be registered so far.' }),
        created: Type.Array(
          Type.Object(
            {
              endpointToken: Type.String({ description: 'Token that the device authenticates with.' }),
              endpointId: Name({ description: 'Id of the endpoint.' }),
              metadata: Type.Optional(describedAs(Metadata, 'Metadata as it was sent.')),
            },
            { title: 'BatchCreated', description: 'An endpoint that a batch registered.' },
          ),
          { description: 'Endpoints registered so far.' },
        ),
        failed: Type.Array(
          Type.Object(
            {
              endpointToken: Type.Optional(Type.String({ description: 'Token as it was sent.' })),
              endpointId: Type.Optional(Name({ description: 'Id of the endpoint, exactly as in the request.' })),
              metadata: Type.Optional(describedAs(Metadata, 'Metadata as it was sent.')),
              status: Type.Literal('FAILED', { description: 'Always FAILED.' }),
              statusReason: Type.String({ description: 'Reason why the endpoint was not registered.' }),
            },
            { title: 'BatchFailed', description: 'An endpoint that a batch could not register.' },
          ),
          { description: 'Endpoints that could not be registered, each with its reason.' },
        ),
      },
      { title: 'BatchStatus', description: 'The progress of a batch registration.' },
    ),
    404: failure('There is no batch with this task id, or it belongs to another application.'),
  },
}

import {
  AnyJson,
  DateTime,
  describedAs,
  JsonObject,
  Name,
  RequestTime,
  Text,
  TextList,
  Type,
} from '../../../kernel/schema.ts'
import { EndpointVersion } from '../schemas.ts'

const tenantId = Type.Optional(
  Name({
    description:
      "Id of the tenant. A tenant other than the caller's requires the scope on platform-system. Default: the caller's tenant.",
  }),
)
const applicationName = Type.Optional(TextList({ description: 'Only endpoints of these applications. Default: all.' }))
const connectionText =
  '`connected`; `disconnected`; `never`: it has not connected yet, or it uses HTTP, which has no connections.'

/** Conditions of lists and counts. */
const conditions = {
  endpointId: Type.Optional(TextList({ description: 'Only endpoints with these ids. Default: all.' })),
  search: Type.Optional(
    Text({
      maxLength: 100,
      description:
        'Words that the endpoint has in its id or in the values of the metadata keys that its application indexes (by default name, ' +
        'serial number, model and others). A word matches any part, in upper or lower case. Up to 5 words.',
    }),
  ),
  applicationName,
  applicationVersionName: Type.Optional(
    TextList({ description: 'Only endpoints of these application versions. Default: all.' }),
  ),
  connection: Type.Optional(
    TextList({ description: `Only endpoints in these states: ${connectionText} Default: all.` }),
  ),
  activeAfter: Type.Optional(RequestTime({ description: 'Only endpoints that were active at this time or later.' })),
  activeBefore: Type.Optional(
    RequestTime({
      description:
        'Only endpoints that were last active before this time, or that were registered before it and never active.',
    }),
  ),
  filterId: Type.Optional(
    TextList({ description: 'Only endpoints that match all these filters (ids); each must be active.' }),
  ),
  metadataFilter: Type.Optional(
    Type.String({
      maxLength: 8192,
      description:
        'JSON object of metadata keys with the value that each must have, such as `{"city":"Kyiv"}`; URL-encoded.',
    }),
  ),
  tenantId,
}

const DirectoryEndpoint = Type.Object(
  {
    endpointId: Name({ description: 'Id of the endpoint, unique on the platform.' }),
    createdDate: DateTime({ description: 'Time at which the endpoint was registered, in UTC.' }),
    appName: Name({ description: 'Name of the application.' }),
    appVersion: describedAs(EndpointVersion, 'Version of the application.'),
    connection: Type.Enum(['never', 'disconnected', 'connected'], { description: connectionText }),
    lastActivity: Type.Optional(
      DateTime({
        description:
          'Time at which the endpoint last connected, disconnected or sent a message, in UTC. For messages it is exact to the minute. Omitted if the endpoint never did any of these.',
      }),
    ),
    metadata: Type.Optional(JsonObject({ description: 'Metadata by key. Present only if `include` asks for it.' })),
    metadataUpdatedDate: Type.Optional(
      DateTime({
        description:
          'Time of the last change of the metadata, in UTC. Omitted without `metadata`, and if the metadata never changed.',
      }),
    ),
  },
  { title: 'DirectoryEndpoint', description: 'An endpoint with its connection and last activity.' },
)

export const listDirectory = {
  name: 'endpoints.directory.list',
  summary: 'Search and sort endpoints',
  description:
    'Endpoints that meet all conditions, one page after a cursor. The list is meant for user interfaces: a page takes about as long for a million endpoints as for a ' +
    'hundred, and there is no total. If few of many endpoints meet the conditions, a page may have fewer endpoints than `limit`, or no endpoints, ' +
    'but still a `nextCursor` that leads to more endpoints. Changes of the id, of metadata and of the connection are found after some seconds.',
  query: Type.Object({
    ...conditions,
    sort: Type.Optional(
      Name({
        description:
          'Key to sort by: `endpointId`, `createdDate`, `lastActivity` or a metadata key. Endpoints without a value come last. More than ' +
          '20000 endpoints are sorted only by metadata keys that are configured for all of their versions. Default: createdDate.',
      }),
    ),
    sortOrder: Type.Optional(
      Type.Enum(['asc', 'desc'], { description: 'asc: ascending. desc: descending. Default: asc.' }),
    ),
    cursor: Type.Optional(
      Type.String({
        maxLength: 4096,
        description:
          '`nextCursor` of the page before, with the same conditions and sort. Empty, or by default: the first page.',
      }),
    ),
    limit: Type.Integer({
      minimum: 1,
      maximum: 1000,
      default: 100,
      description: 'Maximum number of endpoints to return. Default: 100.',
    }),
    include: Type.Optional(
      TextList({
        description: 'Optional fields to return: `metadata` adds metadata and metadataUpdatedDate. Default: none.',
      }),
    ),
  }),
  response: {
    200: Type.Object(
      {
        content: Type.Array(DirectoryEndpoint, { description: 'The endpoints of this page.' }),
        nextCursor: Type.Optional(
          Type.String({ description: 'Position of the next page, for `cursor`. Absent on the last page.' }),
        ),
      },
      { title: 'DirectoryPage', description: 'A page of endpoints.' },
    ),
  },
}

const DimensionCounts = Type.Object(
  {
    by: Name({ description: 'Field or metadata key by which endpoints are counted, as in the request.' }),
    values: Type.Array(
      Type.Object(
        {
          value: AnyJson({ description: 'A text, number or boolean.' }),
          count: Type.Integer({ description: 'Number of endpoints with this value.' }),
        },
        { title: 'ValueCount', description: 'A value with its number of endpoints.' },
      ),
      { description: 'The most frequent values, the most frequent first.' },
    ),
    others: Type.Integer({ description: 'Number of endpoints whose value is not in `values`.' }),
    missing: Type.Integer({
      description:
        'Number of endpoints without a value, or whose value is an object, an array or longer than 200 characters.',
    }),
  },
  { title: 'DimensionCounts', description: 'Numbers of endpoints by the values of one field or metadata key.' },
)

export const countDirectory = {
  name: 'endpoints.counts.get',
  summary: 'Get numbers of endpoints by version, connection or metadata',
  description:
    'Counts the endpoints that meet all conditions and that the caller may read. By application, version and connection this takes little longer for a ' +
    'million endpoints than for one. Other counts read every endpoint, for at most about two seconds: then `complete` is false, and only the ' +
    'endpoints that were registered first are counted.',
  query: Type.Object({
    ...conditions,
    by: Type.Optional(
      TextList({
        description:
          'Up to 5 of: `application`, `version`, `connection`, or metadata keys. Default: none; then only the total is counted.',
      }),
    ),
    top: Type.Integer({
      minimum: 1,
      maximum: 1000,
      default: 20,
      description: 'Maximum number of values to return for each key, the most frequent values first. Default: 20.',
    }),
  }),
  response: {
    200: Type.Object(
      {
        total: Type.Integer({ description: 'Number of endpoints that were counted.' }),
        complete: Type.Boolean({
          description:
            'True when all endpoints that meet the conditions were counted; false when the platform stopped counting because it took too long.',
        }),
        counts: Type.Array(DimensionCounts, { description: 'One element for each key of `by`, in the same order.' }),
      },
      { title: 'EndpointCounts', description: 'Numbers of endpoints.' },
    ),
  },
}

const latitude = (description: string) =>
  Type.Unsafe<number>({ type: 'number', minimum: -90, maximum: 90, description })
const longitude = (description: string) =>
  Type.Unsafe<number>({ type: 'number', minimum: -180, maximum: 180, description })

export const listPlaces = {
  name: 'endpoints.places.list',
  summary: 'List places of endpoints on a map',
  description:
    'Endpoints within a rectangle, as clusters: endpoints in the same cell of a grid are one cluster at the middle of their places. The ' +
    'rectangle is extended to whole cells. The place of an endpoint is in its metadata (for example `latitude` and `longitude`, or `location.lat` and ' +
    '`location.lon`), in the metadata keys that the application configures, or in the newest point of a configured time series. Places are ' +
    'updated after some seconds.',
  query: Type.Object({
    south: latitude('Southern edge of the rectangle, in degrees.'),
    west: longitude(
      'Western edge of the rectangle, in degrees. Greater than `east` if the rectangle crosses the antimeridian.',
    ),
    north: latitude('Northern edge of the rectangle, in degrees.'),
    east: longitude('Eastern edge of the rectangle, in degrees.'),
    applicationName,
    tenantId,
    limit: Type.Integer({
      minimum: 1,
      maximum: 2000,
      default: 500,
      description: 'Maximum number of clusters. It determines the size of the cells of the grid. Default: 500.',
    }),
  }),
  response: {
    200: Type.Object(
      {
        count: Type.Integer({ description: 'Number of endpoints in all clusters.' }),
        content: Type.Array(
          Type.Object(
            {
              latitude: Type.Unsafe<number>({
                type: 'number',
                description: 'Mean latitude of the endpoints, in degrees.',
              }),
              longitude: Type.Unsafe<number>({
                type: 'number',
                description: 'Mean longitude of the endpoints, in degrees.',
              }),
              count: Type.Integer({ description: 'Number of endpoints in the cluster.' }),
              endpointId: Type.Optional(
                Name({ description: 'Id of the endpoint, if the cluster is a single endpoint.' }),
              ),
              name: Type.Optional(
                Type.String({
                  description: 'Metadata key `name` of that endpoint, if it is a text; the first 200 characters.',
                }),
              ),
            },
            { title: 'PlaceCluster', description: 'Endpoints that are near each other.' },
          ),
          { description: 'The clusters, the largest first.' },
        ),
      },
      { title: 'EndpointPlaces', description: 'Endpoints on a map.' },
    ),
  },
}

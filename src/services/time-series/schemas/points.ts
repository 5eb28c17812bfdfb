import {
  BodyTime,
  DateTime,
  describedAs,
  Empty,
  Events,
  JsonObject,
  Name,
  RequestTime,
  Text,
  TextList,
  Type,
} from '../../../kernel/schema.ts'
import { application, noApplication } from './common.ts'

const SeriesConfig = Type.Object(
  {
    name: Type.String({
      description:
        'Name of the series. `auto~<field>` is a series that was extracted automatically from a field of samples.',
    }),
    values: Type.Array(Type.String({ description: 'Name of a value.' }), { description: 'Names of its values.' }),
  },
  { title: 'SeriesConfig', description: 'A time series with the names of its values.' },
)

export const readConfig = {
  name: 'timeSeries.list',
  summary: 'List the time series of applications',
  description: 'Series that are configured for an application or one of its versions, and series that have points.',
  query: Type.Object({
    applicationNames: Type.Optional(
      TextList({ description: 'Only these applications. Default: all whose configuration the caller may read.' }),
    ),
  }),
  response: {
    200: Type.Record(Type.String(), Type.Array(SeriesConfig), {
      title: 'SeriesByApplication',
      description:
        'Series by name of the application. Applications that do not exist or that the caller may not read are left out.',
    }),
  },
}

// ── reading

const format = Type.Optional(
  Type.Enum(['json', 'csv'], {
    description: 'Format of the response. Default: as the header `Accept` asks for, else json.',
  }),
)

const endpointsText =
  'Only points of these endpoints (ids). Default: all endpoints that the caller may read. Endpoints that do not exist or that the caller may ' +
  'not read have no points.'
const endpointId = Type.Optional(TextList({ description: endpointsText }))
const endpointIDs = Type.Optional(
  Type.Array(Text({ maxLength: 255, description: 'Id of an endpoint.' }), {
    maxItems: 10_000,
    description: endpointsText,
  }),
)
const seriesText = 'Names of the series to return, such as `auto~temperature`.'
const anySeriesText = 'Only these series (names). Default: all.'
const seriesNames = (description: string, minItems: number) =>
  Type.Array(Text({ maxLength: 300, description: 'Name of a series.' }), { minItems, maxItems: 10_000, description })

const Point = Type.Object(
  {
    timestamp: DateTime({ description: 'Time of the point, in UTC.' }),
    values: JsonObject({ description: 'Values by name: numbers, texts, true, false or null.' }),
  },
  { title: 'Point', description: 'The values of a series at one time.' },
)
const SeriesOfEndpoint = Type.Record(Type.String(), Type.Array(Point), {
  title: 'PointsBySeries',
  description: 'Points by name of the series.',
})

const after = { description: 'Only points after this time.' }
const before = { description: 'Only points before this time.' }
const dates = { fromDate: RequestTime(after), toDate: RequestTime(before) }
const bodyDates = { fromDate: BodyTime(after), toDate: BodyTime(before) }
const span = {
  includeTime: Type.Optional(
    Type.Enum(['from', 'to', 'both', 'none'], {
      default: 'none',
      description:
        'Bounds that are inclusive, so that a point at exactly that time is returned: `from`, `to`, `both` or `none`. Default: none.',
    }),
  ),
  sort: Type.Optional(
    Type.Enum(['ASC', 'DESC'], {
      default: 'ASC',
      description: 'Order of the points of each series. ASC: oldest first. DESC: newest first. Default: ASC.',
    }),
  ),
}
const reduction = {
  aggregate: Type.Optional(
    Type.Enum(['avg', 'min', 'max', 'sum', 'count', 'first', 'last'], {
      description:
        'Returns one point for each `interval` that has points, with the time at which the interval begins. `avg`, `min`, `max` and ' +
        '`sum` use numbers only and are null if there is no number; `count` counts all values but null; `first` and `last` take any value. ' +
        'Default: none, all points are returned.',
    }),
  ),
  interval: Type.Optional(
    Type.String({
      maxLength: 6,
      pattern: '^[1-9][0-9]{0,4}[smhdwMy]$',
      description:
        'Length of the intervals of `aggregate`: a number and a unit (s, m, h, d, w, M, y), such as `15m` or `1d`. Intervals are in ' +
        'UTC; weeks begin on Monday, months (`M`) and years follow the calendar. Required with `aggregate`.',
    }),
  ),
  timeZone: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 64,
      description:
        'Time zone of the intervals (IANA name such as `Europe/Berlin`, or an offset such as `+05:30`): days, weeks, months and years begin at ' +
        'midnight of its wall clock, and a day on which the clock changes has 23 or 25 hours. The times of the returned points are in UTC nevertheless. Only with `interval`. Default: UTC.',
    }),
  ),
  points: Type.Optional(
    Type.Integer({
      minimum: 3,
      maximum: 20_000,
      description:
        'Maximum number of points of each value. They are chosen so that a chart keeps its shape (largest triangle three ' +
        'buckets); only numbers. Not together with `aggregate`. Default: all points.',
    }),
  ),
}
const dataText =
  'The response is streamed: an array with one object for each endpoint, which has each series once. Values that a point does ' +
  'not have are left out, as are endpoints and series without points.\n\n' +
  'With `Accept: text/csv` or `format=csv` the response is CSV (RFC 4180) with the columns timestamp, endpointId, series, and one for each name ' +
  'of a value. A text that a spreadsheet would read as a formula gets an apostrophe in front; a missing value and null are ' +
  'empty, an empty text is `""`.'
const pointsText = 'Points by id of the endpoint, then by name of the series.'
const dataAnswer = {
  200: Type.Array(
    Type.Record(Type.String(), SeriesOfEndpoint, {
      title: 'PointsByEndpoint',
      description: pointsText,
    }),
    { description: 'The points, one object for each endpoint.' },
  ),
}

export const readData = {
  name: 'timeSeries.data.get',
  summary: 'Get historical points',
  description: dataText,
  params: application,
  query: Type.Object({
    timeSeriesName: TextList({ description: seriesText }),
    endpointId,
    ...dates,
    ...span,
    ...reduction,
    format,
  }),
  response: dataAnswer,
  alsoAs: ['text/csv'],
  fails: noApplication,
}

export const searchData = {
  name: 'timeSeries.data.search',
  summary: 'Get historical points with the query in the body',
  description: dataText,
  params: application,
  body: Type.Object(
    {
      timeSeriesNames: seriesNames(seriesText, 1),
      endpointIDs,
      ...bodyDates,
      ...span,
      ...reduction,
      format,
    },
    {
      title: 'DataSearch',
      description: 'Conditions for the historical points to return.',
      examples: [
        { timeSeriesNames: ['auto~temperature'], fromDate: 'now-1d', toDate: 'now', endpointIDs: ['thermo-1'] },
        { timeSeriesNames: ['auto~temperature'], fromDate: 'now-1y', toDate: 'now', aggregate: 'avg', interval: '1d' },
      ],
    },
  ),
  response: dataAnswer,
  alsoAs: ['text/csv'],
  fails: noApplication,
}

const lastText =
  'Returns the newest points of each series of each endpoint. Endpoints and series without points are left out. A series with ' +
  'several values has a point for each time at which any of these values is stored.'
const window = {
  offset: Type.Integer({
    minimum: 0,
    maximum: 2_147_483_647,
    default: 0,
    description: 'Number of the newest points of each series to skip. Default: 0.',
  }),
  limit: Type.Integer({
    minimum: 1,
    maximum: 10_000,
    default: 1,
    description: 'Maximum number of points of each series to return. Default: 1.',
  }),
}
const lastAnswer = {
  200: describedAs(
    Type.Record(Type.String(), SeriesOfEndpoint, { title: 'PointsByEndpoint', description: pointsText }),
    'Points by id of the endpoint, then by name of the series; the newest point of each series first.',
  ),
}

export const readLast = {
  name: 'timeSeries.last.get',
  summary: 'Get the last points',
  description: lastText,
  params: application,
  query: Type.Object({
    timeSeriesName: Type.Optional(TextList({ description: anySeriesText })),
    endpointId,
    beforeDate: Type.Optional(RequestTime(before)),
    ...window,
  }),
  response: lastAnswer,
  fails: noApplication,
}

export const searchLast = {
  name: 'timeSeries.last.search',
  summary: 'Get the last points with the query in the body',
  description: `${lastText} An empty body is accepted.`,
  params: application,
  body: Type.Object(
    {
      timeSeriesNames: Type.Optional(seriesNames(anySeriesText, 0)),
      endpointIDs,
      beforeDate: Type.Optional(BodyTime(before)),
      ...Type.Partial(Type.Object(window)).properties,
    },
    {
      title: 'LastSearch',
      description: 'Conditions for the last points to return.',
      examples: [{ timeSeriesNames: ['auto~temperature'], endpointIDs: ['thermo-1'], limit: 10 }],
    },
  ),
  response: lastAnswer,
  fails: noApplication,
}

// ── writing

const version = Type.Object({ appVersionName: Name({ description: 'Name of the application version.' }) })

export const putPoints = {
  name: 'timeSeries.data.update',
  summary: 'Store points of endpoints',
  description:
    'Stores all points, or no point. A point with the time of an existing point replaces the values that it names. Every endpoint must ' +
    'belong to the version. `timestamp` is ISO 8601 (UTC if it has no time zone), or milliseconds since 1970.',
  params: version,
  body: JsonObject({
    title: 'NewPoints',
    description:
      'Points by id of the endpoint, then by name of the series: `{<endpoint id>: {<series>: [{timestamp, values}]}}`.',
    examples: [
      { 'thermo-1': { temperature: [{ timestamp: '2026-01-02T03:04:05.678Z', values: { value: 21.5, ok: true } }] } },
    ],
  }),
  response: { 204: Empty('All points were stored.') },
  fails: {
    400: 'A point or a name is malformed, an endpoint belongs to another version, or the application has too many series. Nothing was stored.',
    404: 'The application version or an endpoint does not exist, or the caller may not read it. Nothing was stored.',
  },
}

// ── live streams

export const watch = {
  name: 'timeSeries.live.watch',
  summary: 'Watch points as they are stored',
  description:
    'Sends server-sent events until the token or key expires. `open`: the stream begins. `points`: stored points, by endpoint and ' +
    'series as in `data`; a point may come more than once and replaces the point with the same time. `gap`: points may be missing; ' +
    'read these points with `data`. The `reason` of the event is `missed` (the nodes of the platform lost contact with each other), `too_old` or ' +
    '`too_many` (see Last-Event-ID). `end`: the last event; its `reason` is `unauthenticated` (the token has expired or was ' +
    'revoked), `forbidden`, `too_slow` (more than 4 MiB waited for the client, or the client read nothing for a minute) or `stopping` (the ' +
    'platform shuts down). A comment is sent every 15 s.',
  params: application,
  query: Type.Object({
    endpointId: Type.Optional(
      TextList({
        description:
          'Only points of these endpoints (ids), at most 1000. Default: all endpoints that the caller may read, including endpoints that are registered later.',
      }),
    ),
    timeSeriesName: Type.Optional(TextList({ description: anySeriesText })),
    initial: Type.Optional(
      Type.Boolean({
        default: false,
        description:
          'True when the stream begins with the newest point of each series. Only with `endpointId`, or in an application of at most 1000 endpoints. ' +
          'Default: false.',
      }),
    ),
  }),
  headers: Type.Object({
    'last-event-id': Type.Optional(
      Type.String({
        maxLength: 64,
        description:
          'Id of the last event that the client received; browsers send it automatically. The stream then begins with the points that ' +
          'were stored since, up to 15 minutes, 10,000 samples and 1000 endpoints; if there is more, the first event is a `gap`. Default: new ' +
          'points only.',
      }),
    ),
  }),
  response: {
    200: Events({
      description: 'Server-sent events until the client or the platform ends the stream.',
      examples: [
        'event: points\nid: 1784112000123456\ndata: {"thermo-1":{"auto~temperature":[{"timestamp":"2026-01-02T03:04:05.678Z","values":{"value":21.5}}]}}\n\n',
      ],
    }),
  },
}

// ── retention

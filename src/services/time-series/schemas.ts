import { DateTime, Empty, Events, JsonObject, Name, Text, TextList, Type } from '../../kernel/schema.ts'

const SeriesConfig = Type.Object(
  {
    name: Type.String({ description: 'Name of the series; `auto~<field>` where it was made of a field by itself' }),
    values: Type.Array(Type.String(), { description: 'Names of its values' }),
  },
  { title: 'SeriesConfig' },
)

export const readConfig = {
  name: 'timeSeries.list',
  summary: 'List the series of applications',
  description:
    'The series that are configured, for the application or one of its versions, and those that points were stored of.',
  query: Type.Object({
    applicationNames: Type.Optional(
      TextList({ description: 'Of these applications; default: all whose configuration the caller may read' }),
    ),
  }),
  response: {
    200: Type.Record(Type.String(), Type.Array(SeriesConfig), {
      title: 'SeriesByApplication',
      description:
        'By the name of the application. One that does not exist or that the caller may not read is not there',
    }),
  },
}

// ── reading

const application = Type.Object({ applicationName: Name({ description: 'Name of the application' }) })

const dateText =
  'ISO 8601, in UTC where it names no zone; or `now`, or `now-<n>` with a unit: s, m, h, d, w, M (months), y'
const dateOptions = {
  maxLength: 40,
  pattern: '^(now(-[0-9]{1,9}[smhdwMy])?|[0-9]{4}-[0-9]{2}-[0-9]{2}.*)$',
}
const date = (what: string) => Type.String({ ...dateOptions, description: `${what}: ${dateText}` })

const endpointsText =
  'Of these endpoints; default: all that the caller may read. One that does not exist or that the caller may not read is as one ' +
  'without points'
const endpointId = Type.Optional(TextList({ description: endpointsText }))
const endpointIDs = Type.Optional(
  Type.Array(Text({ maxLength: 255 }), { maxItems: 10_000, description: endpointsText }),
)
const seriesNames = (description: string, minItems: number) =>
  Type.Array(Text({ maxLength: 300 }), { minItems, maxItems: 10_000, description })

const Point = Type.Object(
  {
    timestamp: DateTime(),
    values: JsonObject({ description: 'By their names: numbers, texts, true, false or null' }),
  },
  { title: 'Point' },
)
const SeriesOfEndpoint = Type.Record(Type.String(), Type.Array(Point), {
  title: 'PointsBySeries',
  description: 'Points by the name of their series',
})

const span = {
  fromDate: date('Points after it'),
  toDate: date('Points before it'),
  includeTime: Type.Optional(
    Type.Enum(['from', 'to', 'both', 'none'], {
      default: 'none',
      description: 'Which of the two dates is within: a point at that very time is part of the answer',
    }),
  ),
  sort: Type.Optional(
    Type.Enum(['ASC', 'DESC'], { default: 'ASC', description: 'ASC: of each series the oldest point first' }),
  ),
}
const reduction = {
  aggregate: Type.Optional(
    Type.Enum(['avg', 'min', 'max', 'sum', 'count', 'first', 'last'], {
      description:
        'One point for each `interval` that has any, at the time when it begins. `avg`, `min`, `max` and `sum` are of the numbers, ' +
        'and null where there are none; `count` is of all values but null; `first` and `last` are of whatever there is',
    }),
  ),
  interval: Type.Optional(
    Type.String({
      maxLength: 6,
      pattern: '^[1-9][0-9]{0,4}[smhdwMy]$',
      description:
        'With `aggregate`: a number and a unit, such as `15m` or `1d`. Intervals are of UTC; weeks begin on Monday, months (`M`) and ' +
        'years with the calendar',
    }),
  ),
  points: Type.Optional(
    Type.Integer({
      minimum: 3,
      maximum: 20_000,
      description:
        'At most so many points of each value, chosen so that a chart of them looks the same (largest triangle three buckets); ' +
        'only numbers. Not with `aggregate`',
    }),
  ),
}
const dataText =
  'An array of objects that is sent while it is read, each of them whole in one chunk of the answer. An endpoint or a series may ' +
  'come again in a later object; its points go on there, in the order of `sort`. Values that a point lacks are left out. What has ' +
  'no points is not there.\n\n' +
  'With `Accept: text/csv` the answer is CSV (RFC 4180): the columns timestamp, endpointId, series, and one for each name of a ' +
  'value. Texts that a spreadsheet would take for a formula have an apostrophe before them; a missing value and null are empty, ' +
  'a text without characters is `""`.'
const dataAnswer = {
  200: Type.Array(
    Type.Record(Type.String(), SeriesOfEndpoint, {
      title: 'PointsByEndpoint',
      description: 'By the id of the endpoint',
    }),
  ),
}

export const readData = {
  name: 'timeSeries.data.get',
  summary: 'Get historical points',
  description: dataText,
  params: application,
  query: Type.Object({
    timeSeriesName: TextList({ description: 'Names of the series, such as `auto~temperature`' }),
    endpointId,
    ...span,
    ...reduction,
  }),
  response: dataAnswer,
  alsoAs: ['text/csv'],
}

export const searchData = {
  name: 'timeSeries.data.search',
  summary: 'Get historical points, asked for with a body',
  description: dataText,
  params: application,
  body: Type.Object(
    {
      timeSeriesNames: seriesNames('Names of the series, such as `auto~temperature`', 1),
      endpointIDs,
      ...span,
      ...reduction,
    },
    {
      title: 'DataSearch',
      examples: [
        { timeSeriesNames: ['auto~temperature'], fromDate: 'now-1d', toDate: 'now', endpointIDs: ['thermo-1'] },
        { timeSeriesNames: ['auto~temperature'], fromDate: 'now-1y', toDate: 'now', aggregate: 'avg', interval: '1d' },
      ],
    },
  ),
  response: dataAnswer,
  alsoAs: ['text/csv'],
}

const lastText =
  'Of each series of each endpoint the points with the greatest times. What has no points is not there. A series with several ' +
  'values has a point for each time at which there is any of them.'
const window = {
  offset: Type.Integer({
    minimum: 0,
    maximum: 2_147_483_647,
    default: 0,
    description: 'How many of the newest points of each series to pass over',
  }),
  limit: Type.Integer({
    minimum: 1,
    maximum: 10_000,
    default: 1,
    description: 'How many points of each series to answer with',
  }),
}
const beforeDate = Type.Optional(date('Only points before it'))
const lastAnswer = {
  200: Type.Record(Type.String(), SeriesOfEndpoint, {
    title: 'PointsByEndpoint',
    description: 'By the id of the endpoint; of each series the newest point first',
  }),
}

export const readLast = {
  name: 'timeSeries.last.get',
  summary: 'Get the last points',
  description: lastText,
  params: application,
  query: Type.Object({
    timeSeriesName: Type.Optional(TextList({ description: 'Names of the series; default: all' })),
    endpointId,
    beforeDate,
    ...window,
  }),
  response: lastAnswer,
}

export const searchLast = {
  name: 'timeSeries.last.search',
  summary: 'Get the last points, asked for with a body',
  description: `${lastText} No body is one without fields.`,
  params: application,
  body: Type.Object(
    {
      timeSeriesNames: Type.Optional(seriesNames('Names of the series; default: all', 0)),
      endpointIDs,
      beforeDate,
      ...Type.Partial(Type.Object(window)).properties,
    },
    {
      title: 'LastSearch',
      examples: [{ timeSeriesNames: ['auto~temperature'], endpointIDs: ['thermo-1'], limit: 10 }],
    },
  ),
  response: lastAnswer,
}

// ── writing

const version = Type.Object({ appVersionName: Name({ description: 'Name of the application version' }) })

export const putPoints = {
  name: 'timeSeries.data.update',
  summary: 'Store points of endpoints',
  description:
    'All of them, or none. A point with the time of one that is there replaces the values that it names. Every endpoint has to be of ' +
    'the version. `timestamp` is ISO 8601, in UTC where it names no zone, or milliseconds since 1970.',
  params: version,
  body: JsonObject({
    title: 'NewPoints',
    description: 'Endpoint id → name of the series → points',
    examples: [
      { 'thermo-1': { temperature: [{ timestamp: '2026-01-02T03:04:05.678Z', values: { value: 21.5, ok: true } }] } },
    ],
  }),
  response: { 204: Empty('Stored') },
}

// ── watching

export const watch = {
  name: 'timeSeries.live.watch',
  summary: 'Watch points as they are stored',
  description:
    'Server-sent events, for as long as the token or key is valid. `open`: from here on. `points`: what was stored, by endpoint and ' +
    'series as in the answers of `data`; a point may come more than once, and has to be taken as a replacement. `gap`: points may be ' +
    'missing; read them with `data`. Its `reason` is `missed` (the processes of the platform lost sight of each other), `too_old` or ' +
    '`too_many` (see Last-Event-ID). `end`: the last event; its `reason` is `unauthenticated` (the token has expired or was ' +
    'revoked), `forbidden`, `too_slow` (more than 4 MiB waited for the reader, or it read nothing for a minute) or `stopping`. A ' +
    'comment comes every 15 s.',
  params: application,
  query: Type.Object({
    endpointId: Type.Optional(
      TextList({
        description: 'Of these endpoints, at most 1000; default: all that the caller may read, also later ones',
      }),
    ),
    timeSeriesName: Type.Optional(TextList({ description: 'Of these series; default: all' })),
    initial: Type.Optional(
      Type.Boolean({
        default: false,
        description:
          'Begin with the newest point of each series. Only with named endpoints, or in an application of at most 1000',
      }),
    ),
  }),
  headers: Type.Object({
    'last-event-id': Type.Optional(
      Type.String({
        maxLength: 64,
        description:
          'The id of the last event that came, as browsers send it by themselves: begin with what was stored since. Only up to 15 ' +
          'minutes, 10,000 samples and 1000 endpoints; beyond, the first event is a `gap`',
      }),
    ),
  }),
  response: {
    200: Events({
      description: 'Events until one of both ends',
      examples: [
        'event: points\nid: 1784112000123456\ndata: {"thermo-1":{"auto~temperature":[{"timestamp":"2026-01-02T03:04:05.678Z","values":{"value":21.5}}]}}\n\n',
      ],
    }),
  },
}

// ── keeping

const days = (description: string) => Type.Integer({ minimum: 1, maximum: 36_500, description })

const Retention = Type.Object(
  {
    days: Type.Optional(days('How many days points are kept of series that are not named; without it, for ever')),
    series: Type.Optional(
      Type.Record(Type.String({ maxLength: 300 }), days('How many days points of this series are kept'), {
        description: 'By the name of the series, such as `auto~temperature`',
      }),
    ),
  },
  { title: 'Retention', additionalProperties: false, examples: [{ days: 365, series: { 'auto~vibration': 30 } }] },
)

const RetentionPreview = Type.Object(
  {
    points: Type.Integer({ description: 'How many would go' }),
    bytes: Type.Integer({ description: 'What they take where they are packed' }),
    series: Type.Array(
      Type.Object(
        {
          name: Type.String({ description: 'Name of the series' }),
          valueName: Type.String({ description: 'Name of its value' }),
          days: Type.Integer({ description: 'How long it is kept' }),
          before: DateTime({ description: 'What is older would go; days of UTC go as a whole' }),
          points: Type.Integer({ description: 'One that was written again before it was packed counts each time' }),
          unpacked: Type.Integer({ description: 'Of them, those that came late and are not packed yet' }),
          bytes: Type.Integer(),
        },
        { title: 'SeriesRetentionPreview' },
      ),
      { description: 'Every value of a series that is not kept for ever' },
    ),
    problems: Type.Array(
      Type.Object({ place: Type.String(), problem: Type.String() }, { title: 'ConfigurationProblem' }),
      {
        description: 'What of the configured retention cannot be understood; such parts delete nothing',
      },
    ),
  },
  { title: 'RetentionPreview' },
)

const previewText =
  'Nothing is deleted by asking. Retention is `retention` in the configuration of instance `epts` of an application.'

export const previewRetention = {
  name: 'timeSeries.retention.preview',
  summary: 'Preview what the configured retention would delete now',
  description: previewText,
  params: application,
  response: { 200: RetentionPreview },
}

export const previewProposedRetention = {
  name: 'timeSeries.proposedRetention.preview',
  summary: 'Preview what another retention would delete now',
  description: previewText,
  params: application,
  body: Retention,
  response: { 200: RetentionPreview },
}

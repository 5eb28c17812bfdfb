/** Schemas of the contents of a dashboard: variables, and widgets of seven kinds on a grid. */
import { AnyJson, type Static, type TSchema, Type } from '../../kernel/schema.ts'

export const columnsMax = 24
const rowsMax = 2000

/** Rejects fields that are not declared, so that misspelt fields are found. */
const strict = { additionalProperties: false }

const text = (maxLength: number, description: string) => Type.String({ maxLength, description })
const optional = <T extends TSchema>(shape: T) => Type.Optional(shape)

const reference = 'An id or name, or `$name` for the value of a variable.'
const application = optional(text(255, `Application. ${reference} Default: the first variable of that kind.`))
const endpoint = optional(text(255, `Endpoint. ${reference} Default: the first variable of that kind.`))
const filter = optional(text(255, `Endpoint filter. ${reference} Default: all endpoints of the application.`))
const time = optional(text(64, 'Name of the time variable, with `$`. Default: the first variable of that kind.'))

const Variable = Type.Object(
  {
    name: Type.String({
      maxLength: 64,
      pattern: '^[a-zA-Z][a-zA-Z0-9]*$',
      description: 'Name by which widgets use the variable, as `$name`: letters and digits.',
    }),
    kind: Type.Enum(['application', 'filter', 'endpoint', 'time'], {
      description: 'Kind of thing that the value of the variable names. time: a range such as `P1D`, the last day.',
    }),
    label: optional(text(100, 'Text before the field in which people choose the value. Default: the name.')),
    value: optional(
      text(
        255,
        'Initial value, which users can change: a name or an id; for time, an ISO 8601 duration such as `PT6H` until now, or ' +
          '`<from>/<to>`. Default: none.',
      ),
    ),
  },
  { ...strict, title: 'DashboardVariable', description: 'A value that people choose above the dashboard.' },
)

const Series = Type.Object(
  {
    application,
    endpoint,
    timeSeries: Type.String({
      minLength: 1,
      maxLength: 255,
      description: 'Name of the time series, such as `auto~temperature`.',
    }),
    value: optional(text(255, 'Name of the value within the series. Default: `value`.')),
    label: optional(text(100, 'Name in the legend. Default: the time series.')),
    colour: optional(
      Type.String({
        maxLength: 32,
        pattern: '^[a-z0-9#-]+$',
        description: 'Name of a colour. Default: the next free colour.',
      }),
    ),
  },
  { ...strict, title: 'DashboardSeries', description: 'A time series of an endpoint.' },
)

const aggregate = optional(
  Type.Enum(['none', 'last', 'avg', 'min', 'max', 'sum', 'count'], {
    description: 'Function over intervals, or for one value over the whole time. Default: chosen by the widget.',
  }),
)
const unit = optional(text(30, 'Unit that is shown after values. Default: none.'))
const limit = optional(
  Type.Integer({ minimum: 1, maximum: 1000, description: 'Maximum number of rows. Default: 100.' }),
)
const thresholds = optional(
  Type.Array(
    Type.Object(
      {
        from: Type.Unsafe<number>({ type: 'number', description: 'The colour applies from this value on.' }),
        colour: Type.String({ maxLength: 32, pattern: '^[a-z0-9#-]+$', description: 'Name of a colour.' }),
      },
      { ...strict, title: 'DashboardThreshold', description: 'A colour for values from a threshold on.' },
    ),
    { maxItems: 20, description: 'Colours by value. Default: none.' },
  ),
)

const position = (description: string, minimum: number, maximum: number) =>
  Type.Integer({ minimum, maximum, description })
const common = {
  id: Type.String({
    maxLength: 64,
    pattern: '^[A-Za-z0-9_-]+$',
    description: 'Id of the widget, unique in the dashboard.',
  }),
  title: optional(text(200, 'Heading. Default: made from the contents.')),
  x: position('Column of the left edge, from 0 to 23.', 0, columnsMax - 1),
  y: position('Row of the upper edge, from 0.', 0, rowsMax),
  width: position('Width in columns of the grid, which has 24 columns.', 1, columnsMax),
  height: position('Number of rows.', 1, 200),
}

/** The fields of each kind of widget, besides the fields of all widgets. */
const kinds = {
  chart: {
    series: Type.Array(Series, { minItems: 1, maxItems: 50, description: 'Series to draw.' }),
    style: optional(
      Type.Enum(['line', 'area', 'bars', 'steps', 'points'], {
        description: 'Style of the chart. Default: line.',
      }),
    ),
    aggregate,
    unit,
    time,
    thresholds,
  },
  value: {
    series: Series,
    aggregate,
    unit,
    decimals: optional(
      Type.Integer({ minimum: 0, maximum: 10, description: 'Number of decimal places. Default: as many as needed.' }),
    ),
    time,
    thresholds,
  },
  table: {
    application,
    filter,
    columns: Type.Array(
      text(255, 'Field of an endpoint such as `metadata.city`, or `series:<name>` for the newest value of a series.'),
      {
        minItems: 1,
        maxItems: 30,
        description: 'Columns of the table of endpoints.',
      },
    ),
    sort: optional(text(255, 'Column to sort by, with `-` before it for the reverse order. Default: the id.')),
    limit,
  },
  map: {
    application,
    filter,
    label: optional(text(255, 'Field of an endpoint that is shown at its place. Default: the id.')),
    colourBy: optional(text(255, 'Field or series that decides the colour. Default: the connection state.')),
  },
  alerts: {
    application,
    filter,
    endpoint,
    states: optional(
      Type.Array(text(32, 'State of an alert.'), {
        maxItems: 10,
        description: 'Only alerts in these states. Default: active alerts.',
      }),
    ),
    severities: optional(
      Type.Array(text(32, 'Severity of an alert.'), {
        maxItems: 10,
        description: 'Only these severities. Default: all.',
      }),
    ),
    limit,
  },
  command: {
    endpoint,
    commandType: Type.String({
      minLength: 1,
      maxLength: 255,
      description: 'Type of the command that the button sends.',
    }),
    payload: optional(AnyJson({ description: 'Payload of the command: any JSON. Default: none.' })),
    label: optional(text(100, 'Text of the button. Default: the type of the command.')),
    confirm: optional(
      text(
        300,
        'Question that the user must confirm before the command is sent. Default: none; the command is sent immediately.',
      ),
    ),
  },
  text: {
    text: text(20_000, 'Text in Markdown. Markup of HTML is shown as text.'),
  },
}

const titles: Record<keyof typeof kinds, [title: string, description: string]> = {
  chart: ['ChartWidget', 'Time series over time.'],
  value: ['ValueWidget', 'One value of a time series.'],
  table: ['TableWidget', 'A table of endpoints.'],
  map: ['MapWidget', 'Endpoints on a map.'],
  alerts: ['AlertsWidget', 'A list of alerts.'],
  command: ['CommandWidget', 'A button that sends a command.'],
  text: ['TextWidget', 'Text of the author.'],
}

const widgetOf = <K extends keyof typeof kinds>(kind: K) => {
  const [title, description] = titles[kind]
  return Type.Object(
    { kind: Type.Literal(kind, { description: 'Kind of the widget.' }), ...common, ...kinds[kind] },
    { ...strict, title, description },
  )
}

const Widget = Type.Union(
  [
    widgetOf('chart'),
    widgetOf('value'),
    widgetOf('table'),
    widgetOf('map'),
    widgetOf('alerts'),
    widgetOf('command'),
    widgetOf('text'),
  ],
  { title: 'Widget', description: 'A part of a dashboard.' },
)

export interface Widget {
  id: string
  kind: keyof typeof kinds
  x: number
  y: number
  width: number
  height: number
}
export interface Definition {
  variables?: Static<typeof Variable>[]
  widgets: Widget[]
}

export const Definition = Type.Unsafe<Definition>(
  Type.Object(
    {
      variables: optional(
        Type.Array(Variable, { maxItems: 20, description: 'Values that people choose. Default: none.' }),
      ),
      widgets: Type.Array(Widget, { maxItems: 200, description: 'Parts of the dashboard on a grid of 24 columns.' }),
    },
    { ...strict, title: 'DashboardDefinition', description: 'The contents of a dashboard.' },
  ),
)

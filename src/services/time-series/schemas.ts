import { Empty, JsonObject, Name, TextList, Type } from '../../kernel/schema.ts'

const SeriesConfig = Type.Object(
  {
    name: Type.String({ description: 'Name of the series; `auto~<field>` where it was made of a field by itself' }),
    values: Type.Array(Type.String(), { description: 'Names of its values' }),
  },
  { title: 'SeriesConfig' },
)

export const readConfig = {
  summary: 'Which series applications have',
  description:
    'The series that are configured, for the application or one of its versions, and those that points were stored of.',
  query: Type.Object({
    applicationNames: Type.Optional(
      TextList({ description: 'Of these applications; default: all whose configuration the caller may read' }),
    ),
  }),
  response: {
    200: Type.Record(Type.String(), Type.Array(SeriesConfig), {
      description:
        'By the name of the application. One that does not exist or that the caller may not read is not there',
    }),
  },
}

// ── writing

const version = Type.Object({ appVersionName: Name({ description: 'Name of the application version' }) })

export const putPoints = {
  summary: 'Store points of endpoints',
  description:
    'All of them, or none. A point with the time of one that is there replaces the values that it names. Every endpoint has to be of ' +
    'the version. `timestamp` is ISO 8601, in UTC where it names no zone, or milliseconds since 1970.',
  params: version,
  body: JsonObject({
    description: 'Endpoint id → name of the series → points',
    examples: [
      { 'thermo-1': { temperature: [{ timestamp: '2026-01-02T03:04:05.678Z', values: { value: 21.5, ok: true } }] } },
    ],
  }),
  response: { 204: Empty('Stored') },
}

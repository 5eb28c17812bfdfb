import { AnyJson, BodyTime, JsonObject, Name, Text, TextList, Type } from '../../kernel/schema.ts'

const criteria = (description: string) =>
  Type.Optional(
    Type.Array(
      AnyJson({
        description:
          'A condition `{key, operator, values}`, as in a search of endpoints; in `and` also `{or: [conditions]}`.',
      }),
      { maxItems: 100, description },
    ),
  )
export const Selection = Type.Object(
  {
    endpointIds: Type.Optional(
      Type.Array(Name({ description: 'Id of an endpoint.' }), {
        minItems: 1,
        maxItems: 10_000,
        description: 'Only these endpoints. Ids that do not exist become items that fail. Default: all.',
      }),
    ),
    applicationName: Type.Optional(TextList({ description: 'Only endpoints of these applications. Default: all.' })),
    applicationVersionName: Type.Optional(
      TextList({ description: 'Only endpoints of these application versions. Default: all.' }),
    ),
    filterIds: Type.Optional(
      Type.Array(Name({ description: 'Id of a filter.' }), {
        maxItems: 100,
        description: 'Only endpoints that match all these filters (ids); each must be active. Default: all.',
      }),
    ),
    and: criteria('Conditions that must all hold. Default: none.'),
    or: criteria('Conditions of which at least one must hold. Default: none.'),
    regex: Type.Optional(
      Type.String({
        maxLength: 500,
        description:
          'Regular expression (RE2 syntax) that matches a part of the id, of a metadata key or value, or of the name of the version.',
      }),
    ),
    search: Type.Optional(
      Text({
        maxLength: 100,
        description:
          'Words that the endpoint has in its id or in the values of the metadata keys that its application indexes, as in `endpoints.directory.list`.',
      }),
    ),
    connection: Type.Optional(
      TextList({
        description: 'Only endpoints in these states: `connected`, `disconnected`, `never`. Default: all.',
      }),
    ),
    activeAfter: Type.Optional(BodyTime({ description: 'Only endpoints that were active at this time or later.' })),
    activeBefore: Type.Optional(
      BodyTime({
        description:
          'Only endpoints that were last active before this time, or that were registered before it and never active.',
      }),
    ),
    metadataFilter: Type.Optional(
      JsonObject({
        description:
          'Metadata keys, or paths such as `battery.level`, with the value that each must have. Default: none.',
      }),
    ),
    all: Type.Optional(
      Type.Literal(true, { description: 'Every endpoint that the caller may read, instead of conditions.' }),
    ),
  },
  {
    title: 'EndpointSelection',
    description:
      'Selects the endpoints of a job, at most 1,000,000: the endpoints that meet all conditions when the job is created. Later changes do not change the list.',
    examples: [
      { applicationName: 'greenhouse', and: [{ key: 'city', operator: 'IN', values: ['Kyiv'] }] },
      { applicationName: 'greenhouse', search: 'pump', connection: 'disconnected', activeBefore: 'now-7d' },
    ],
  },
)

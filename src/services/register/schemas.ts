import { DateTime, describedAs, Empty, JsonObject, Name, Type } from '../../kernel/schema.ts'
import { tokenLengthMax, tokenPattern } from '../tokens/contract.ts'

export const endpointId = Name({ description: 'Id of the endpoint.' })
export const applicationName = Name({ description: 'Name of the application.' })
export const ofEndpoint = Type.Object({ endpointId })
export const Metadata = JsonObject({
  title: 'Metadata',
  description:
    'Metadata of an endpoint: any JSON value for each key. Keys have 1 to 128 letters, digits and `_`; at most 500 keys and 65536 bytes of JSON.',
  examples: [{ city: 'Kyiv', floor: 1 }],
})
export const none = { 204: Empty() }

/** An endpoint id fits into one segment of a URL. */
export const EndpointId = () =>
  Name({
    pattern: '^[a-zA-Z0-9._~-]+$',
    description:
      'Id of the endpoint: letters, digits and `.` `_` `~` `-`; unique on the platform. Default: a random UUID.',
  })
export const EndpointToken = () =>
  Name({
    pattern: tokenPattern,
    maxLength: tokenLengthMax,
    description:
      'Token that the device authenticates with: any characters but `+`, `#`, `/` and `.`; unique within the application. ' +
      'Default: 10 random letters and digits.',
  })

export const EndpointVersion = Type.Object(
  {
    name: Name({ description: 'Name of the application version.' }),
    registeredDate: DateTime({ description: 'Time at which the endpoint was registered in this version, in UTC.' }),
  },
  { title: 'EndpointVersion', description: 'The application version of an endpoint.' },
)
export const Endpoint = Type.Object(
  {
    endpointId: Name({ description: 'Id of the endpoint, unique on the platform.' }),
    createdDate: DateTime({ description: 'Time at which the endpoint was registered, in UTC.' }),
    appName: Name({ description: 'Name of the application.' }),
    appVersion: describedAs(EndpointVersion, 'Version of the application.'),
    metadata: Type.Optional(
      JsonObject({ description: 'Metadata by key. Present only if `include` or `metadataKeys` asks for it.' }),
    ),
    metadataUpdatedDate: Type.Optional(
      DateTime({
        description:
          'Time of the last change of the metadata, in UTC. Omitted without `metadata`, and if the metadata never changed.',
      }),
    ),
    filters: Type.Array(Name({ description: 'Id of a filter.' }), {
      description: 'Ids of the active filters that the endpoint matches. Empty unless `include` requests these ids.',
    }),
    poolIds: Type.Optional(
      Type.Array(Name({ description: 'Id of a pool.' }), {
        description: 'Ids of the pools that the endpoint is attached to: the `resourceGroupIds` of its registration.',
      }),
    ),
  },
  { title: 'Endpoint', description: 'A device as it is stored in the register.' },
)

export const relationType = () =>
  Type.Literal('contains', { description: 'Kind of the relation; the only kind is `contains`.' })

const ends = {
  type: relationType(),
  from: Name({ description: 'Id of the endpoint that contains the other.' }),
  to: Name({ description: 'Id of the endpoint that is contained.' }),
}
export const Relation = Type.Object(ends, {
  title: 'Relation',
  description: 'A directed relation between two endpoints.',
})
export const FailedRelation = Type.Object(
  { ...ends, reason: Type.String({ description: 'Reason why the relation was not made.' }) },
  { title: 'FailedRelation', description: 'A relation that was not made.' },
)
const relations = {
  successful: Type.Array(Relation, { description: 'Relations that were made.' }),
  failed: Type.Array(FailedRelation, { description: 'Relations that were not made, each with its reason.' }),
}
export const LinkOutcome = Type.Object(relations, {
  title: 'LinkOutcome',
  description: 'The result for each relation of a request.',
})
/** The cause of 404 for paths that name an endpoint. */
export const noEndpoint = 'The endpoint does not exist, or the caller may not read it.'

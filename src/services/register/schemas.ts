import { DateTime, Empty, JsonObject, Name, Type } from '../../kernel/schema.ts'
import { tokenLengthMax, tokenPattern } from '../tokens/contract.ts'

export const endpointId = Name({ description: 'The id of an endpoint' })
export const applicationName = Name({ description: 'The name of an application' })
export const ofEndpoint = Type.Object({ endpointId })
export const Metadata = JsonObject({
  title: 'Metadata',
  description: 'Keys of letters, digits and _ with any JSON; up to 500 keys and 64 KiB',
  examples: [{ city: 'Kyiv', floor: 1 }],
})
export const none = { 204: Empty() }

/** Fits into one step of a URL. */
export const EndpointId = () =>
  Name({
    pattern: '^[a-zA-Z0-9._~-]+$',
    description: 'Letters, digits and . _ ~ -, unique on the platform; generated when absent',
  })
export const EndpointToken = () =>
  Name({
    pattern: tokenPattern,
    maxLength: tokenLengthMax,
    description: 'Without + # / . and unique within the application; generated when absent',
  })

export const EndpointVersion = Type.Object({ name: Name(), registeredDate: DateTime() }, { title: 'EndpointVersion' })
export const Endpoint = Type.Object(
  {
    endpointId: Name(),
    createdDate: DateTime(),
    appName: Name(),
    appVersion: EndpointVersion,
    metadata: Type.Optional(JsonObject({ description: 'When it was asked for' })),
    metadataUpdatedDate: Type.Optional(DateTime()),
    filters: Type.Array(Name(), { description: 'Ids of the filters that it matches; empty unless asked for' }),
    poolIds: Type.Optional(Type.Array(Name())),
  },
  { title: 'Endpoint' },
)

const ends = {
  type: Type.Literal('contains'),
  from: Name({ description: 'The endpoint that contains' }),
  to: Name({ description: 'The endpoint that is contained' }),
}
export const Relation = Type.Object(ends, { title: 'Relation' })
export const FailedRelation = Type.Object({ ...ends, reason: Type.String() }, { title: 'FailedRelation' })
export const LinkOutcome = Type.Object(
  {
    successful: Type.Array(Relation),
    failed: Type.Array(FailedRelation),
  },
  { title: 'LinkOutcome' },
)

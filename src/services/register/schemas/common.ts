import { DateTime, Empty, JsonObject, Name, Type } from '../../../kernel/schema.ts'
import { tokenLengthMax, tokenPattern } from '../../tokens/contract.ts'

export const ofEndpoint = Type.Object({ endpointId: Name() })
export const none = { 204: Empty() }

/** Fits into one step of a URL. */
export const EndpointId = () =>
  Name({ pattern: '^[a-zA-Z0-9._~-]+$', description: 'Unique on the platform; generated when absent' })
export const EndpointToken = () =>
  Name({
    pattern: tokenPattern,
    maxLength: tokenLengthMax,
    description: 'Unique within the application; generated when absent',
  })

const EndpointVersion = Type.Object({ name: Name(), registeredDate: DateTime() })
export const Endpoint = Type.Object(
  {
    endpointId: Name(),
    createdDate: DateTime(),
    appName: Name(),
    appVersion: EndpointVersion,
    metadata: Type.Optional(JsonObject()),
    metadataUpdatedDate: Type.Optional(DateTime()),
    filters: Type.Array(Name()),
    poolIds: Type.Optional(Type.Array(Name())),
  },
  { title: 'Endpoint' },
)

const ends = { type: Type.Literal('contains'), from: Name(), to: Name() }
export const Relation = Type.Object(ends, { title: 'Relation' })
export const FailedRelation = Type.Object({ ...ends, reason: Type.String() }, { title: 'FailedRelation' })
export const LinkOutcome = Type.Object({
  successful: Type.Array(Relation),
  failed: Type.Array(FailedRelation),
})

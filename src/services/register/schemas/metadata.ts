import { AnyJson, Empty, JsonObject, Name, TextList, Type } from '../../../kernel/schema.ts'
import { none, ofEndpoint } from './common.ts'

const ofKey = Type.Object({ endpointId: Name(), key: Name() })
const outdated = Type.Object({ message: Type.String() }, { description: 'If-Match does not hold the current ETag' })
const conflict = Type.Object({ message: Type.String() }, { description: 'A test of the patch failed' })

export const readMetadata = {
  params: ofEndpoint,
  query: Type.Object({ include: Type.Optional(TextList({ description: 'Only these keys' })) }),
  response: { 200: JsonObject(), 304: Empty() },
}
export const replaceMetadata = {
  params: ofEndpoint,
  query: Type.Object({
    inheritedMetadata: Type.Optional(Type.String({ maxLength: 255, description: 'Has no effect' })),
  }),
  body: JsonObject(),
  response: { ...none, 412: outdated },
}
export const patchMetadata = {
  params: ofEndpoint,
  body: Type.Array(AnyJson({ description: 'An operation of RFC 6902' }), {
    maxItems: 1000,
    description: 'Sent as application/json-patch+json',
  }),
  response: { ...none, 409: conflict, 412: outdated },
}
export const readKey = { params: ofKey, response: { 200: AnyJson() } }
export const setKey = { params: ofKey, body: AnyJson({ description: 'Any JSON value' }), response: none }
export const deleteKey = { params: ofKey, response: none }
export const listKeys = { params: ofEndpoint, response: { 200: Type.Array(Type.String()) } }
export const listApplicationKeys = {
  params: Type.Object({ applicationName: Name() }),
  response: {
    200: Type.Unsafe<Record<string, string[]>>({
      type: 'object',
      additionalProperties: { type: 'array', items: { type: 'string' } },
      description: 'Application version name → metadata keys that its endpoints have',
    }),
  },
}

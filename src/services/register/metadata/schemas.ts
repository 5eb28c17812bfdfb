import { failure } from '../../../kernel/faces.ts'
import { AnyJson, Empty, Name, TextList, Type } from '../../../kernel/schema.ts'
import { applicationName, endpointId, Metadata, none, ofEndpoint } from '../schemas.ts'

const ofKey = Type.Object({ endpointId, key: Name({ description: 'A metadata key: letters, digits and _' }) })
const conflict = failure('A test of the patch failed')

export const readMetadata = {
  name: 'endpoints.metadata.get',
  summary: 'Get the metadata of an endpoint',
  params: ofEndpoint,
  query: Type.Object({ include: Type.Optional(TextList({ description: 'Only these keys' })) }),
  response: { 200: Metadata, 304: Empty() },
}
export const replaceMetadata = {
  name: 'endpoints.metadata.update',
  summary: 'Replace the metadata of an endpoint',
  description: 'connected and connectivity_ts, or what the instance epl calls them, belong to the platform and stay.',
  params: ofEndpoint,
  query: Type.Object({
    inheritedMetadata: Type.Optional(Type.String({ maxLength: 255, description: 'Has no effect' })),
  }),
  body: Metadata,
  response: none,
  fails: [412],
}
export const patchType = 'application/json-patch+json'
export const patchMetadata = {
  name: 'endpoints.metadata.patch',
  summary: 'Change the metadata of an endpoint by a JSON Patch',
  description: 'All operations are applied, or none.',
  params: ofEndpoint,
  // Without a type: to another content type the answer is 415, whatever its body.
  body: Type.Unsafe<unknown>({
    items: { description: 'An operation of RFC 6902: add, remove, replace, move, copy or test' },
    maxItems: 1000,
    examples: [[{ op: 'replace', path: '/city', value: 'Lviv' }]],
  }),
  bodyType: patchType,
  response: { ...none, 409: conflict },
  fails: [412],
}
export const readKey = {
  name: 'endpoints.metadata.values.get',
  summary: 'Get the value of a metadata key',
  params: ofKey,
  response: { 200: AnyJson({ description: 'The value' }) },
}
export const setKey = {
  name: 'endpoints.metadata.values.update',
  summary: 'Set the value of a metadata key',
  params: ofKey,
  body: AnyJson({ description: 'Any JSON value; a text is in quotes', examples: ['Kyiv'] }),
  response: none,
  fails: [412],
}
export const deleteKey = {
  name: 'endpoints.metadata.values.delete',
  summary: 'Delete a metadata key',
  params: ofKey,
  response: none,
  fails: [412],
}
export const listKeys = {
  name: 'endpoints.metadata.keys.list',
  summary: 'List the metadata keys of an endpoint',
  params: ofEndpoint,
  response: { 200: Type.Array(Type.String()) },
}
export const listApplicationKeys = {
  name: 'applications.metadataKeys.list',
  summary: 'List the metadata keys in use in each version of an application',
  params: Type.Object({ applicationName }),
  response: {
    200: Type.Unsafe<Record<string, string[]>>({
      title: 'MetadataKeysByVersion',
      type: 'object',
      additionalProperties: { type: 'array', items: { type: 'string' } },
      description: 'Application version name → metadata keys that its endpoints have',
    }),
  },
}

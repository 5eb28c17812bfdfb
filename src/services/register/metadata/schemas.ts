import { failure } from '../../../kernel/error-formats.ts'
import { AnyJson, Empty, ifMatchFails, Name, TextList, Type } from '../../../kernel/schema.ts'
import { applicationName, endpointId, Metadata, noEndpoint, none, ofEndpoint } from '../schemas.ts'

const ofKey = Type.Object({ endpointId, key: Name({ description: 'Metadata key: letters, digits and `_`.' }) })
const conflict = failure('A `test` operation of the patch failed. Nothing was changed.')
const noKey = 'The endpoint does not exist or has no such metadata key, or the caller may not read it.'
const changeFails = { 404: noEndpoint, ...ifMatchFails }

export const readMetadata = {
  name: 'endpoints.metadata.get',
  summary: 'Get the metadata of an endpoint',
  params: ofEndpoint,
  query: Type.Object({
    include: Type.Optional(TextList({ description: 'Return only these metadata keys. Default: all.' })),
  }),
  response: { 200: Metadata, 304: Empty() },
  fails: { 404: noEndpoint },
}
export const replaceMetadata = {
  name: 'endpoints.metadata.update',
  summary: 'Replace the metadata of an endpoint',
  description:
    'Keys that are not in the body are deleted. `connected` and `connectivity_ts`, or the keys that the instance `epl` ' +
    'configures for them, belong to the platform and stay.',
  params: ofEndpoint,
  query: Type.Object({
    inheritedMetadata: Type.Optional(
      Type.String({ maxLength: 255, description: 'Accepted for existing clients; has no effect.' }),
    ),
  }),
  body: Metadata,
  response: none,
  fails: changeFails,
}
export const patchType = 'application/json-patch+json'
export const patchMetadata = {
  name: 'endpoints.metadata.patch',
  summary: 'Change the metadata of an endpoint by a JSON Patch',
  description: 'Applies all operations of the patch (RFC 6902), or no operation.',
  params: ofEndpoint,
  // The schema has no type, so that another Content-Type gets 415 for any body.
  body: Type.Unsafe<unknown>({
    items: { description: 'An operation of RFC 6902: add, remove, replace, move, copy or test.' },
    maxItems: 1000,
    examples: [[{ op: 'replace', path: '/city', value: 'Lviv' }]],
  }),
  bodyType: patchType,
  response: { ...none, 409: conflict },
  fails: changeFails,
}
export const readKey = {
  name: 'endpoints.metadata.values.get',
  summary: 'Get the value of a metadata key',
  params: ofKey,
  response: { 200: AnyJson({ description: 'The value of the key: any JSON.' }) },
  fails: { 404: noKey },
}
export const setKey = {
  name: 'endpoints.metadata.values.update',
  summary: 'Set the value of a metadata key',
  params: ofKey,
  body: AnyJson({ description: 'The new value: any JSON. A text must be in double quotes.', examples: ['Kyiv'] }),
  response: none,
  fails: changeFails,
}
export const deleteKey = {
  name: 'endpoints.metadata.values.delete',
  summary: 'Delete a metadata key',
  params: ofKey,
  response: none,
  fails: { 404: noKey, ...ifMatchFails },
}
export const listKeys = {
  name: 'endpoints.metadata.keys.list',
  summary: 'List the metadata keys of an endpoint',
  params: ofEndpoint,
  response: { 200: Type.Array(Type.String(), { description: 'The metadata keys of the endpoint.' }) },
  fails: { 404: noEndpoint },
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
      description: 'Maps the name of each application version to the metadata keys that its endpoints have.',
    }),
  },
  fails: { 404: 'The application does not exist, or the caller may not read it.' },
}

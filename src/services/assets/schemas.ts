/** Schemas of asset types and assets. */
import { failure } from '../../kernel/error-formats.ts'
import { schemaLengthMax } from '../../kernel/json-schema.ts'
import { contentPage, pageQuery } from '../../kernel/paging.ts'
import { AnyJson, DateTime, Empty, ifMatchFails, Name, Text, TextList, Type } from '../../kernel/schema.ts'
import { definitionLengthMax } from './limits.ts'

export const typePattern = '^[A-Z0-9_]{2,50}$'
const exampleSchema = '{"type":"object","required":["name"],"properties":{"name":{"type":"string"}}}'
const exampleDefinition = '{"name":"Boiler room","floor":-1}'

const noType = 'The asset type does not exist, or the caller may not read it.'
const noAsset = 'The asset does not exist, or the caller may not read it.'
const taken = 'The tenant has another asset type with this `type`.'
const violated = failure(
  'The body is malformed, or the definition violates the schema of its type: `errors` lists where.',
)
const unusable = failure('The body is malformed, or the schema cannot be used: `errors` lists why.')

const uiJsonSchema = (noun: string) =>
  Type.Optional(
    Text({
      maxLength: 65_536,
      description: `Hints for user interfaces that show ${noun}. The platform only stores and returns them. Default: none.`,
    }),
  )
const poolIds = Type.Optional(
  Type.Array(Name({ description: 'Id of a pool.' }), {
    maxItems: 1000,
    description: 'Ids of pools. The platform only stores and returns them. Default: none.',
  }),
)
const shownPoolIds = Type.Optional(
  Type.Array(Type.String({ description: 'Id of a pool.' }), { description: 'Ids of pools, if there are any.' }),
)
const tenantId = Type.String({ description: 'Id of the tenant to which the asset or asset type belongs.' })
const createdAt = DateTime({ description: 'Time at which the asset or asset type was created, in UTC.' })
const updatedAt = DateTime({ description: 'Time of the last change of the asset or asset type, in UTC.' })

const AssetType = Type.Object(
  {
    id: Type.String({ description: 'Id of the asset type (UUID).' }),
    type: Type.String({ description: 'Type, unique in the tenant.' }),
    displayName: Type.String({ description: 'Name for people.' }),
    description: Type.Optional(Type.String({ description: 'Description of the asset type.' })),
    definitionJsonSchema: Type.String({ description: 'The JSON schema of definitions, as text.' }),
    uiJsonSchema: Type.Optional(
      Type.String({ description: 'Hints for user interfaces that show assets of this type.' }),
    ),
    tenantId,
    poolIds: shownPoolIds,
    createdAt,
    updatedAt,
  },
  {
    title: 'AssetType',
    description: 'A kind of asset, with the schema that the definitions of its assets conform to.',
  },
)

const Asset = Type.Object(
  {
    id: Type.String({ description: 'Id of the asset (UUID).' }),
    assetTypeId: Type.String({ description: 'Id of the asset type.' }),
    definition: Type.String({ description: 'The definition: JSON as text.' }),
    uiJsonSchema: Type.Optional(Type.String({ description: 'Hints for user interfaces that show this asset.' })),
    tenantId,
    poolIds: shownPoolIds,
    createdAt,
    updatedAt,
  },
  { title: 'Asset', description: 'A thing of the real world, such as a building, a room or a machine.' },
)

const typeBody = Type.Object(
  {
    type: Type.Optional(
      Type.String({
        pattern: typePattern,
        maxLength: 50,
        description:
          'Type, unique in the tenant. Default: made from `displayName`; for an existing asset type, its type.',
        examples: ['ROOM'],
      }),
    ),
    displayName: Type.String({ minLength: 1, maxLength: 255, description: 'Name for people.', examples: ['Room'] }),
    description: Type.Optional(Text({ maxLength: 4000, description: 'Description of the asset type.' })),
    definitionJsonSchema: Type.String({
      maxLength: schemaLengthMax,
      description:
        'JSON schema of definitions, as text: draft-07, or 2019-09 or 2020-12 if `$schema` names that version.',
      examples: [exampleSchema],
    }),
    uiJsonSchema: uiJsonSchema('assets of this type'),
    poolIds,
  },
  { title: 'AssetTypeInput', description: 'An asset type to store.' },
)

const definition = Type.String({
  maxLength: definitionLengthMax,
  description: 'JSON as text that conforms to the schema of the asset type.',
  examples: [exampleDefinition],
})
const assetFields = { definition, uiJsonSchema: uiJsonSchema('this asset'), poolIds }

const ofType = Type.Object({ assetTypeId: Name({ description: 'Id of the asset type.' }) })
const ofAsset = Type.Object({ assetId: Name({ description: 'Id of the asset.' }) })

const order = {
  sort: Type.Enum(['createdAt', 'updatedAt'], {
    default: 'createdAt',
    description: 'Date to sort by; items with the same date are sorted by id. Default: createdAt.',
  }),
  sortOrder: Type.Enum(['asc', 'desc'], {
    default: 'desc',
    description: '`desc`: newest first; `asc`: oldest first. Default: desc.',
  }),
}
const search = Type.Optional(
  Text({ description: 'Only assets whose definition has a text or number that contains this; case is ignored.' }),
)

export const createType = {
  name: 'assetTypes.create',
  summary: 'Create an asset type',
  body: typeBody,
  response: { 201: AssetType, 400: unusable },
  fails: { 409: taken },
}
export const listTypes = {
  name: 'assetTypes.list',
  summary: 'List asset types',
  query: Type.Object({
    type: Type.Optional(Text({ description: 'Only types that contain this text; case is ignored. Default: all.' })),
    description: Type.Optional(
      Text({ description: 'Only objects whose description contains this text; case is ignored. Default: all.' }),
    ),
    ...pageQuery(),
    ...order,
  }),
  response: { 200: contentPage(AssetType) },
}
export const getType = {
  name: 'assetTypes.get',
  summary: 'Get an asset type',
  params: ofType,
  response: { 200: AssetType, 304: Empty() },
  fails: { 404: noType },
}
export const updateType = {
  name: 'assetTypes.update',
  summary: 'Replace an asset type',
  description:
    'Optional fields that the body does not have are removed, except `type` and `poolIds`. Assets stay as they are; their next change must ' +
    'conform to the new schema.',
  params: ofType,
  body: typeBody,
  response: { 204: Empty('The asset type was replaced; `ETag` holds its new version.'), 400: unusable },
  fails: { 404: noType, 409: taken, ...ifMatchFails },
}
export const deleteType = {
  name: 'assetTypes.delete',
  summary: 'Delete an asset type',
  params: ofType,
  response: { 204: Empty() },
  fails: { 404: noType, 409: 'There are assets of this type. Nothing was deleted.', ...ifMatchFails },
}

export const createAsset = {
  name: 'assets.create',
  summary: 'Create an asset',
  query: Type.Object({
    tenantId: Type.Optional(
      Text({
        description:
          'Id of the tenant of the asset type. A tenant other than the tenant of the caller needs the scope on the platform. Default: any.',
      }),
    ),
  }),
  body: Type.Object(
    { assetTypeId: Name({ description: 'Id of the asset type.' }), ...assetFields },
    { title: 'AssetInput', description: 'An asset to create.' },
  ),
  response: { 201: Asset, 400: violated },
  fails: { 403: 'The caller lacks the scope, or names another tenant.', 404: noType },
}
export const listAssets = {
  name: 'assets.list',
  summary: 'List assets',
  query: Type.Object({
    ...pageQuery(),
    ...order,
    assetTypeIds: Type.Optional(TextList({ description: 'Only assets of these types. Default: all.' })),
    assetIds: Type.Optional(TextList({ description: 'Only these assets. Default: all.' })),
    search,
  }),
  response: { 200: contentPage(Asset) },
}

const idList = (description: string) =>
  Type.Optional(Type.Array(Type.String({ maxLength: 255, description: 'An id.' }), { maxItems: 10_000, description }))

export const searchAssets = {
  name: 'assets.search',
  summary: 'Search assets',
  description: 'The same as the list, with the parameters in the body. An empty object returns all.',
  body: Type.Object(
    {
      page: Type.Optional(pageQuery().page),
      size: Type.Optional(pageQuery().size),
      sort: Type.Optional(order.sort),
      sortOrder: Type.Optional(order.sortOrder),
      assetTypeIds: idList('Only assets of these types. Default: all.'),
      assetIds: idList('Only these assets. Default: all.'),
      search,
    },
    {
      title: 'AssetSearch',
      description: 'Conditions for the assets to return.',
      examples: [{ search: 'boiler', size: 10 }],
    },
  ),
  response: { 200: contentPage(Asset) },
}
export const getAsset = {
  name: 'assets.get',
  summary: 'Get an asset',
  params: ofAsset,
  response: { 200: Asset, 304: Empty() },
  fails: { 404: noAsset },
}
export const updateAsset = {
  name: 'assets.update',
  summary: 'Replace the definition of an asset',
  description:
    'If the body has no `uiJsonSchema`, the stored `uiJsonSchema` is removed. If it has no `poolIds`, the stored pool ids stay.',
  params: ofAsset,
  body: Type.Object(assetFields, { title: 'AssetChange', description: 'The new definition of an asset.' }),
  response: { 204: Empty('The asset was replaced; `ETag` holds its new version.'), 400: violated },
  fails: { 404: noAsset, ...ifMatchFails },
}

const operationsMax = 1000
const Operations = Type.Array(
  AnyJson({ description: 'An operation of RFC 6902: add, remove, replace, move, copy or test.' }),
  {
    maxItems: operationsMax,
    description: 'The operations, at most 1000.',
  },
)

export const patchAsset = {
  name: 'assets.patch',
  summary: 'Change the definition of an asset by a JSON Patch',
  description:
    'Applies all operations of the patch (RFC 6902) to the definition, or no operation. The body is `{operations}`, or the array of operations itself.',
  params: ofAsset,
  body: Type.Union(
    [Type.Object({ operations: Operations }, { title: 'AssetPatch', description: 'A JSON Patch.' }), Operations],
    {
      description: 'A JSON Patch, as an object with `operations` or as an array.',
      examples: [{ operations: [{ op: 'replace', path: '/floor', value: 2 }] }],
    },
  ),
  response: {
    204: Empty('The asset was changed; `ETag` holds its new version.'),
    400: violated,
    409: failure('A `test` operation of the patch failed. Nothing was changed.'),
  },
  fails: { 404: noAsset, ...ifMatchFails },
}
export const deleteAsset = {
  name: 'assets.delete',
  summary: 'Delete an asset',
  description: 'The relations of the asset end.',
  params: ofAsset,
  response: { 204: Empty() },
  fails: { 404: noAsset, ...ifMatchFails },
}

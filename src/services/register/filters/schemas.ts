import { contentPage, offsetQuery } from '../../../kernel/paging.ts'
import { DateTime, Empty, JsonObject, Name, Text, Type } from '../../../kernel/schema.ts'
import { applicationName, none } from '../schemas.ts'

const inApplication = Type.Object({ applicationName })
const ofFilter = Type.Object({ applicationName, filterId: Name({ description: 'The id of a filter' }) })

const Filter = Type.Object(
  {
    id: Name(),
    name: Name(),
    description: Type.String(),
    documentQuery: JsonObject({ description: 'A MongoDB find filter over application_version and metadata' }),
    createdDate: DateTime(),
    updatedDate: DateTime(),
    matchedEndpointsCount: Type.Integer({ description: 'While pending: those that were found so far' }),
    status: Type.Enum(['pending', 'active'], { description: 'pending: the endpoints are being found' }),
  },
  { title: 'EndpointFilter' },
)

const Query = (description: string) =>
  Type.Optional(Type.Union([JsonObject(), Type.String({ maxLength: 100_000 })], { description }))
/** Existing clients have three words for it (document 3, 1.1). */
const queries = {
  documentQuery: Query(
    'A MongoDB find filter over application_version and metadata, as an object or a text that holds one; ' +
      'metadata.city is short for the value of the key city. Exactly one of the three words is needed to create a filter',
  ),
  mongoQuery: Query('Another word for documentQuery'),
  query: Query('Another word for documentQuery'),
}
const description = Type.Optional(Text({ maxLength: 4096 }))

const example = { name: 'upstairs', documentQuery: { 'metadata.city': 'Kyiv', 'metadata.floor': { $gte: 1 } } }
export const createFilter = {
  name: 'endpointFilters.create',
  summary: 'Create an endpoint filter',
  params: inApplication,
  description:
    'It is pending until its endpoints are found, then active; from then on every change of an endpoint keeps it.',
  body: Type.Object({ name: Name(), description, ...queries }, { title: 'NewEndpointFilter', examples: [example] }),
  response: { 201: Filter },
  fails: [409],
}
export const listFilters = {
  name: 'endpointFilters.list',
  summary: 'List the endpoint filters of an application',
  params: inApplication,
  query: Type.Object({
    name: Type.Optional(Text({ description: 'A part of the name' })),
    ...offsetQuery(100),
  }),
  response: { 200: contentPage(Filter), 304: Empty() },
}
export const readFilter = {
  name: 'endpointFilters.get',
  summary: 'Get an endpoint filter',
  params: ofFilter,
  response: { 200: Filter, 304: Empty() },
}
export const updateFilter = {
  name: 'endpointFilters.patch',
  summary: 'Change an endpoint filter',
  description: 'With another query it is pending again.',
  params: ofFilter,
  body: Type.Object(
    { name: Type.Optional(Name()), description, ...queries },
    { title: 'EndpointFilterChange', examples: [{ name: 'ground floor' }] },
  ),
  response: { 200: Filter },
  fails: [409, 412],
}
export const deleteFilter = {
  name: 'endpointFilters.delete',
  summary: 'Delete an endpoint filter',
  params: ofFilter,
  response: none,
  fails: [412],
}

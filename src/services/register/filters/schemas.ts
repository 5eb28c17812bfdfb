import { contentPage, offsetQuery } from '../../../kernel/paging.ts'
import { DateTime, Empty, ifMatchFails, JsonObject, Name, Text, Type } from '../../../kernel/schema.ts'
import { applicationName, none } from '../schemas.ts'

const inApplication = Type.Object({ applicationName })
const ofFilter = Type.Object({ applicationName, filterId: Name({ description: 'Id of the filter.' }) })

const Filter = Type.Object(
  {
    id: Name({ description: 'Id of the filter.' }),
    name: Name({ description: 'Name of the filter, unique in the application.' }),
    description: Type.String({ description: 'Free text; empty if none was given.' }),
    documentQuery: JsonObject({
      description: 'MongoDB find filter over `application_version` and `metadata` of an endpoint.',
    }),
    createdDate: DateTime({ description: 'Time at which the filter was created, in UTC.' }),
    updatedDate: DateTime({ description: 'Time of the last change of the filter, in UTC.' }),
    matchedEndpointsCount: Type.Integer({
      description: 'Number of endpoints that match. While the status is pending: the number found so far.',
    }),
    status: Type.Enum(['pending', 'active'], {
      description:
        'pending: matching endpoints are being searched. active: the search is complete and the filter can be used.',
    }),
  },
  { title: 'EndpointFilter', description: 'A named query that selects endpoints of an application.' },
)

const Query = (description: string) =>
  Type.Optional(Type.Union([JsonObject(), Type.String({ maxLength: 100_000 })], { description }))
/** The query can be given under three names, because existing clients use all of them (document 3, 1.1). */
const queries = {
  documentQuery: Query(
    'MongoDB find filter over `application_version` and `metadata` of an endpoint, as a JSON object or as text that contains a JSON object. ' +
      '`metadata.city` means the value of the metadata key `city`. To create a filter, exactly one of `documentQuery`, ' +
      '`mongoQuery` and `query` is required.',
  ),
  mongoQuery: Query('The same as `documentQuery`, for existing clients.'),
  query: Query('The same as `documentQuery`, for existing clients.'),
}
const description = Type.Optional(Text({ maxLength: 4096, description: 'Free text. Default: none.' }))
const name = Name({ description: 'Name of the filter, unique in the application.' })
const noApplication = 'The application does not exist, or the caller may not read it.'
const noFilter = 'The application or the filter does not exist, or the caller may not read it.'

const example = { name: 'upstairs', documentQuery: { 'metadata.city': 'Kyiv', 'metadata.floor': { $gte: 1 } } }
export const createFilter = {
  name: 'endpointFilters.create',
  summary: 'Create an endpoint filter',
  params: inApplication,
  description:
    'The filter is pending until the platform has searched all endpoints of the application, then active. From then on every ' +
    'change of an endpoint updates its match.',
  body: Type.Object(
    { name, description, ...queries },
    { title: 'NewEndpointFilter', description: 'A filter to create.', examples: [example] },
  ),
  response: { 201: Filter },
  fails: { 404: noApplication, 409: 'Another filter of the application has this name.' },
}
export const listFilters = {
  name: 'endpointFilters.list',
  summary: 'List the endpoint filters of an application',
  params: inApplication,
  query: Type.Object({
    name: Type.Optional(Text({ description: 'Only filters whose name contains this text. Default: all.' })),
    ...offsetQuery(100),
  }),
  response: { 200: contentPage(Filter), 304: Empty() },
  fails: { 404: noApplication },
}
export const readFilter = {
  name: 'endpointFilters.get',
  summary: 'Get an endpoint filter',
  params: ofFilter,
  response: { 200: Filter, 304: Empty() },
  fails: { 404: noFilter },
}
export const updateFilter = {
  name: 'endpointFilters.patch',
  summary: 'Change an endpoint filter',
  description:
    'Absent fields keep their values. A new query makes the filter pending again until all endpoints are searched.',
  params: ofFilter,
  body: Type.Object(
    { name: Type.Optional(name), description, ...queries },
    {
      title: 'EndpointFilterChange',
      description: 'The fields of a filter to change.',
      examples: [{ name: 'ground floor' }],
    },
  ),
  response: { 200: Filter },
  fails: { 404: noFilter, 409: 'Another filter of the application has this name.', ...ifMatchFails },
}
export const deleteFilter = {
  name: 'endpointFilters.delete',
  summary: 'Delete an endpoint filter',
  params: ofFilter,
  response: none,
  fails: { 404: noFilter, ...ifMatchFails },
}

import { invalidField } from '../../../kernel/errors.ts'
import type { Http } from '../../../kernel/http/routes.ts'
import { offsetQuery, resultsPage, windowOf } from '../../../kernel/paging.ts'
import { Empty, SerialId, Type } from '../../../kernel/schema.ts'
import type { CatalogueService } from '../catalogue-service.ts'
import { type Catalogue, catalogues } from '../catalogues.ts'

/** Five operations for each catalogue. */
export function catalogueRoutes(http: Http, service: CatalogueService) {
  for (const catalogue of catalogues as readonly Catalogue[])
    for (const path of [catalogue.path, catalogue.alias]) if (path) mount(http, service, catalogue, path)
}

function mount(http: Http, service: CatalogueService, catalogue: Catalogue, path: string) {
  const { title, entity } = catalogue
  // A template is the user's own JSON.
  const anyJson = 'template' in catalogue.fields
  const access = (word: string) => ({ scope: `platform:tenant:${entity}:${word}`, on: 'platform' as const, anyJson })
  const body = Type.Object(catalogue.fields)
  const item = Type.Object({ id: Type.Integer(), ...catalogue.fields })
  const params = Type.Object({ id: SerialId() })

  http.get(
    path,
    {
      schema: { summary: `${title}: list`, query: Type.Object(offsetQuery(50)), response: { 200: resultsPage(item) } },
      config: access('read'),
    },
    ({ query }) => service.list(catalogue, windowOf(query)),
  )
  http.post(
    path,
    { schema: { summary: `${title}: create`, body, response: { 201: item } }, config: access('create') },
    async (request, reply) => {
      const created = await service.create(catalogue, checked(request.body))
      return reply
        .code(201)
        .header('location', http.link(request, `${path}/${created.id}`))
        .send(created)
    },
  )
  http.get(
    `${path}/:id`,
    { schema: { summary: `${title}: read`, params, response: { 200: item } }, config: access('read') },
    (request) => service.find(catalogue, request.params.id),
  )
  http.put(
    `${path}/:id`,
    { schema: { summary: `${title}: update`, params, body, response: { 200: item } }, config: access('update') },
    (request) => service.update(catalogue, request.params.id, checked(request.body)),
  )
  http.delete(
    `${path}/:id`,
    { schema: { summary: `${title}: delete`, params, response: { 204: Empty() } }, config: access('delete') },
    async (request, reply) => {
      await service.remove(catalogue, request.params.id)
      return reply.code(204).send()
    },
  )
}

/** The door lets every name in where a template is; beside it, the names are ours. */
function checked(body: Record<string, unknown>) {
  if (Object.hasOwn(body, '__proto__')) throw invalidField('__proto__', 'this name is not allowed')
  return body
}

import { invalidField } from '../../../kernel/errors.ts'
import type { Http } from '../../../kernel/http/routes.ts'
import { offsetQuery, resultsPage, windowOf } from '../../../kernel/paging.ts'
import { Empty, SerialId, Type } from '../../../kernel/schema.ts'
import type { CatalogueService } from '../catalogue-service.ts'
import { bodyShape, type Catalogue, catalogues, itemShape, nounOf } from '../catalogues.ts'

/** Mounts the five operations of each catalogue. */
export function catalogueRoutes(http: Http, service: CatalogueService) {
  for (const catalogue of catalogues as readonly Catalogue[])
    for (const path of [catalogue.path, catalogue.alias]) if (path) mount(http, service, catalogue, path)
}

function mount(http: Http, service: CatalogueService, catalogue: Catalogue, path: string) {
  const { entity } = catalogue
  // A template may contain any JSON.
  const anyJson = 'template' in catalogue.fields
  const access = (verb: string) => ({
    scope: `platform:tenant:${entity}:${verb}`,
    on: 'platform' as const,
    anyJson,
    bodyBytesMax: 512 * 1024,
  })
  const body = bodyShape(catalogue)
  const item = itemShape(catalogue)
  const params = Type.Object({ id: SerialId({ description: 'Id of the entry.' }) })
  const missing = { 404: `There is no ${lower(catalogue.title)} with this id.` }
  const invalid = {
    400: 'A field is missing or malformed, is taken by another entry, or names an entry that does not exist.',
  }
  const operation = namesOf(catalogue, path)

  http.get(
    path,
    {
      schema: { ...operation('list'), query: Type.Object(offsetQuery(50)), response: { 200: resultsPage(item) } },
      config: access('read'),
    },
    ({ query }) => service.list(catalogue, windowOf(query)),
  )
  http.post(
    path,
    { schema: { ...operation('create'), body, response: { 201: item }, fails: invalid }, config: access('create') },
    async (request, reply) => {
      const created = await service.create(catalogue, rejectProtoKey(request.body))
      return reply
        .code(201)
        .header('location', http.link(request, `${path}/${created.id}`))
        .send(created)
    },
  )
  http.get(
    `${path}/:id`,
    { schema: { ...operation('get'), params, response: { 200: item }, fails: missing }, config: access('read') },
    (request) => service.find(catalogue, request.params.id),
  )
  http.put(
    `${path}/:id`,
    {
      schema: { ...operation('update'), params, body, response: { 200: item }, fails: { ...invalid, ...missing } },
      config: access('update'),
    },
    (request) => service.update(catalogue, request.params.id, rejectProtoKey(request.body)),
  )
  http.delete(
    `${path}/:id`,
    {
      schema: {
        ...operation('delete'),
        params,
        response: { 204: Empty() },
        fails: { 400: 'The id is not a positive integer, or a tenant was built with this entry.', ...missing },
      },
      config: access('delete'),
    },
    async (request, reply) => {
      await service.remove(catalogue, request.params.id)
      return reply.code(204).send()
    },
  )
}

const verbWords = { list: 'List', create: 'Create', get: 'Get', update: 'Replace', delete: 'Delete' }

/** Returns names such as `tenantsV1.roleVersions.list`. For the older path, the noun is derived from that path. */
function namesOf({ table, title, alias }: Catalogue, path: string) {
  const noun = `tenantsV1.${nounOf(table)}`
  const isAlias = path === alias
  return (verb: keyof typeof verbWords) => ({
    name: isAlias ? `tenantsV1.${nounOf(path.slice(1).replaceAll('-', '_'))}.${verb}` : `${noun}.${verb}`,
    ...(isAlias && { aliasOf: `${noun}.${verb}` }),
    summary: `${verbWords[verb]} ${withArticle(title, verb === 'list')}${isAlias ? ' under the older name' : ''}`,
  })
}

const lower = (title: string) => title[0]!.toLowerCase() + title.slice(1)

function withArticle(title: string, several: boolean): string {
  const name = lower(title)
  if (several) return name.endsWith('policy') ? name.replace(/policy$/, 'policies') : `${name}s`
  return `${/^[aeiou]/.test(name) && !name.startsWith('user') ? 'an' : 'a'} ${name}`
}

/** Rejects the key `__proto__` next to a template, because `anyJson` turns off the check of names in the whole body. */
function rejectProtoKey(body: Record<string, unknown>) {
  if (Object.hasOwn(body, '__proto__')) throw invalidField('__proto__', 'this name is not allowed')
  return body
}

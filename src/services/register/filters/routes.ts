import { invalidField } from '../../../kernel/errors.ts'
import type { Http } from '../../../kernel/http/routes.ts'
import { sendDocument, sendText } from '../../../kernel/http/send.ts'
import * as schemas from './schemas.ts'
import type { FilterOperations } from './service.ts'

/** Queries contain arbitrary JSON of users. */
const scope = (action: string) => ({
  scope: `application:endpoint-filter:${action}`,
  anyJson: 'inside' as const,
  bodyBytesMax: 256 * 1024,
})

export function filterRoutes(http: Http, { filters }: { filters: FilterOperations }) {
  const filtersPath = '/applications/:applicationName/filters'
  const filterPath = `${filtersPath}/:filterId`

  http.post(filtersPath, { schema: schemas.createFilter, config: scope('create') }, async (request, reply) => {
    const { applicationName } = request.params
    const { name, description } = request.body
    const fields = { name, description, documentQuery: queryOf(request.body) }
    const { id, etag, body } = await filters.create(request.ctx, applicationName, fields)
    const address = http.link(request, `/applications/${encodeURIComponent(applicationName)}/filters/${id}`)
    return sendText(reply.code(201).header('location', address).header('etag', etag), body)
  })

  http.get(filtersPath, { schema: schemas.listFilters, config: scope('read') }, async (request, reply) =>
    sendDocument(request, reply, await filters.list(request.ctx, { ...request.query, ...request.params })),
  )

  http.get(filterPath, { schema: schemas.readFilter, config: scope('read') }, async (request, reply) =>
    sendDocument(request, reply, await filters.read(request.ctx, request.params)),
  )

  http.patch(
    filterPath,
    { schema: schemas.updateFilter, config: scope('update') },
    async ({ ctx, params, body, headers }, reply) => {
      const { name, description } = body
      const fields = { name, description, documentQuery: queryOf(body) }
      const updated = await filters.update(ctx, params, fields, headers['if-match'])
      return sendText(reply.header('etag', updated.etag), updated.body)
    },
  )

  http.delete(filterPath, { schema: schemas.deleteFilter, config: scope('delete') }, async (request, reply) => {
    await filters.delete(request.ctx, request.params, request.headers['if-match'])
    return reply.code(204).send()
  })
}

function queryOf({
  documentQuery,
  mongoQuery,
  query,
}: {
  documentQuery?: unknown
  mongoQuery?: unknown
  query?: unknown
}) {
  const queries = [documentQuery, mongoQuery, query].filter((one) => one !== undefined)
  if (queries.length > 1) throw invalidField('documentQuery', 'is given twice, under two names')
  return queries[0]
}

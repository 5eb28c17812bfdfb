import type { Http } from '../../../kernel/http/routes.ts'
import * as schemas from './schemas.ts'
import type { Issuers } from './service.ts'

export function issuerRoutes(http: Http, issuers: Issuers) {
  http.get(
    '/issuers',
    { schema: schemas.listIssuers, config: { scope: 'identity:issuer:read', on: 'tenant' } },
    ({ ctx, query }) => issuers.list(ctx, query),
  )
  http.post(
    '/issuers',
    { schema: schemas.createIssuer, config: { scope: 'identity:issuer:create', on: 'tenant' } },
    async (request, reply) => {
      const issuer = await issuers.create(request.ctx, request.body)
      return reply
        .code(201)
        .header('location', http.link(request, `/issuers/${issuer.id}`))
        .send(issuer)
    },
  )
  http.delete(
    '/issuers/:id',
    { schema: schemas.deleteIssuer, config: { scope: 'identity:issuer:delete', on: 'resource' } },
    async ({ ctx, params }, reply) => {
      await issuers.delete(ctx, params.id)
      return reply.code(204).send()
    },
  )
}

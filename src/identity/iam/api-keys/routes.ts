import type { Http } from '../../../kernel/http/routes.ts'
import * as schemas from './schemas.ts'
import type { ApiKeys } from './service.ts'

export function apiKeyRoutes(http: Http, keys: ApiKeys) {
  http.get(
    '/api-keys',
    { schema: schemas.listApiKeys, config: { scope: 'identity:api-key:read', on: 'tenant' } },
    ({ ctx, query }) => keys.list(ctx, query),
  )
  http.post(
    '/api-keys',
    { schema: schemas.createApiKey, config: { scope: 'identity:api-key:create', on: 'tenant' } },
    async (request, reply) => {
      const key = await keys.create(request.ctx, request.body)
      const link = http.link(request, `/api-keys/${key.id}`)
      return reply.code(201).header('location', link).header('cache-control', 'no-store').send(key)
    },
  )
  http.delete(
    '/api-keys/:id',
    { schema: schemas.deleteApiKey, config: { scope: 'identity:api-key:delete', on: 'resource' } },
    async ({ ctx, params }, reply) => {
      await keys.delete(ctx, params.id)
      return reply.code(204).send()
    },
  )
}

import type { Http } from '../../../kernel/http/routes.ts'
import * as schemas from './schemas.ts'
import type { Clients } from './service.ts'

export function clientRoutes(http: Http, clients: Clients) {
  http.get(
    '/clients',
    { schema: schemas.listClients, config: { scope: 'identity:client:read', on: 'tenant' } },
    ({ ctx, query }) => clients.list(ctx, query),
  )
  http.patch(
    '/clients/:id',
    { schema: schemas.changeClient, config: { scope: 'identity:client:update', on: 'resource' } },
    ({ ctx, params, body }) => clients.change(ctx, params.id, body),
  )
  http.post(
    '/clients/:id/secret',
    { schema: schemas.changeSecret, config: { scope: 'identity:client:update', on: 'resource' } },
    async ({ ctx, params }, reply) => {
      const changed = await clients.changeSecret(ctx, params.id)
      return reply.header('cache-control', 'no-store').send(changed)
    },
  )
}

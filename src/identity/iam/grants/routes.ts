import type { Http } from '../../../kernel/http/routes.ts'
import { sendList } from '../../../kernel/http/send.ts'
import * as schemas from './schemas.ts'
import type { Grants } from './service.ts'

export function grantRoutes(http: Http, grants: Grants) {
  http.get(
    '/grants',
    { schema: schemas.listGrants, config: { scope: 'identity:grant:read', on: 'tenant' } },
    async ({ ctx, query }, reply) => sendList(reply, await grants.list(ctx, query)),
  )
  http.post(
    '/grants',
    { schema: schemas.createGrant, config: { scope: 'identity:grant:create', on: 'tenant' } },
    async (request, reply) => {
      const grant = await grants.create(request.ctx, request.body)
      return reply
        .code(201)
        .header('location', http.link(request, `/grants/${grant.id}`))
        .send(grant)
    },
  )
  http.delete(
    '/grants/:id',
    { schema: schemas.deleteGrant, config: { scope: 'identity:grant:delete', on: 'resource' } },
    async ({ ctx, params }, reply) => {
      await grants.delete(ctx, params.id)
      return reply.code(204).send()
    },
  )
}

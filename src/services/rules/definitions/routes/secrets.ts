import type { Http } from '../../../../kernel/http/routes.ts'
import { sendList } from '../../../../kernel/http/send.ts'
import * as schemas from '../schemas/secrets.ts'
import type { SecretOperations } from '../service/secrets.ts'

const path = '/secrets/:secretId'

export function secretRoutes(http: Http, secrets: SecretOperations) {
  http.post(
    '/secrets',
    { schema: schemas.createSecret, config: { scope: 'tenant:secret:create', on: 'tenant' } },
    async (request, reply) => {
      const id = await secrets.create(request.ctx, request.body)
      return reply
        .code(201)
        .header('location', http.link(request, `/secrets/${id}`))
        .send()
    },
  )
  http.get(
    '/secrets',
    { schema: schemas.listSecrets, config: { scope: 'secret:read' } },
    async ({ ctx, query }, reply) => sendList(reply, await secrets.list(ctx, query)),
  )
  http.get(path, { schema: schemas.getSecret, config: { scope: 'secret:read' } }, ({ ctx, params }) =>
    secrets.read(ctx, params.secretId),
  )
  http.put(path, { schema: schemas.updateSecret, config: { scope: 'secret:update' } }, async (request, reply) => {
    await secrets.update(request.ctx, request.params.secretId, request.body)
    return reply.code(204).send()
  })
  http.delete(path, { schema: schemas.deleteSecret, config: { scope: 'secret:delete' } }, async (request, reply) => {
    await secrets.delete(request.ctx, request.params.secretId)
    return reply.code(204).send()
  })
}
